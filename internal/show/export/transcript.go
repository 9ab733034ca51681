// Conversion of a stored session, droid's history, into the exported page.

package export

import (
	"cmp"
	"encoding/json"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// Options supply what the history does not contain.
type Options struct {
	CWD   string          // show the directory
	Named bool            // time zone for display
	Zone  *time.Location  // in which times are shown
	Turns map[string]Turn // known turns by the ID of the user's message
	// Summary is the summary of an earlier conversation that was compacted into this one, or "".
	Summary string
}

// Turn is what was observed of a turn and may be missing from its history.
type Turn struct {
	Model string            // the model ID at its beginning, "" if unknown
	Used  stream.TokenUsage // zero if droid did not report it
}

// Page returns a stored session as a page.
func Page(info *stream.SessionInfo, o Options) *Conversation {
	b := &builder{Options: o, page: &Conversation{Title: info.Title}, models: map[string]string{}, said: map[string]stream.Message{},
		calls: map[string]*call{}, same: map[string]string{}}
	for _, m := range info.AvailableModels {
		b.models[m.ID] = m.DisplayName
	}
	for _, m := range info.Messages {
		if m.ID != "" {
			b.said[m.ID] = m
		}
	}
	b.page.Facts = b.facts(info)
	if o.Summary != "" {
		b.page.Note("What was said before was compacted. In its place the model has this summary:")
		b.page.Agent(Said{Text: o.Summary})
		b.page.Break()
	}
	for _, ev := range quirks.History(info.Messages) {
		b.event(ev)
	}
	b.endTurn()
	return b.page
}

// builder builds a page.
type builder struct {
	Options
	page   *Conversation
	models map[string]string         // display names by model ID
	said   map[string]stream.Message // by ID
	calls  map[string]*call          // by ID
	turn   string                    // ID of the user message that the last turn answers
	last   string                    // message ID of the last text
	cut    bool                      // the next message continues it
	same   map[string]string         // messages that continue another one
}

// call is a tool call with its input.
type call struct {
	*Call
	input json.RawMessage
}

// facts returns the properties of the conversation.
func (b *builder) facts(info *stream.SessionInfo) []Fact {
	model := ""
	if id := info.Settings.ModelID; id != nil {
		model = b.model(*id)
	}
	directory := ""
	if b.Named {
		directory = b.CWD
	}
	facts := []Fact{
		{Name: "Model at the time of export", Value: model},
		{Name: "Tokens", Value: tokens(info.TokenUsage).String()},
		{Name: "Session", Value: info.SessionID},
		{Name: "Directory", Value: directory},
	}
	for _, m := range info.Messages {
		if m.CreatedAt != 0 {
			return append(facts, Fact{Name: "Time zone", Value: b.time(m).Format("MST (-07:00)")})
		}
	}
	return facts
}

// model returns the display name of a model.
func (b *builder) model(id string) string { return cmp.Or(b.models[id], id) }

// time returns when a message was created, or the zero time.
func (b *builder) time(m stream.Message) time.Time {
	if m.CreatedAt == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m.CreatedAt)).In(b.Zone)
}

// event adds the representation of an event.
func (b *builder) event(ev quirks.Event) {
	switch ev := ev.(type) {
	case quirks.UserText:
		b.endTurn()
		b.turn = ev.MessageID
		b.page.User(b.words(ev.MessageID, show.UserWords(ev, b.CWD)))
	case quirks.Text:
		if ev.Thought {
			b.page.Thought(b.words(ev.MessageID, ev.Text))
		} else {
			b.page.Agent(b.words(ev.MessageID, ev.Text))
		}
	case quirks.AnswerContinues:
		b.cut = true
	case quirks.UserImage:
		b.page.Image(ev.MediaType, ev.Data)
	case quirks.ToolStarted:
		b.started(ev)
	case quirks.ToolEnded:
		b.ended(ev)
	case quirks.SubagentEnded:
		b.endedInBackground(ev)
	case quirks.Notice:
		if words := show.ProviderWords(ev.Text); show.IsFailure(words) {
			b.page.Failure(words)
		} else {
			b.page.Note(words)
		}
	default:
		b.page.Break()
	}
}

// words returns a piece of text with the metadata of its message.
func (b *builder) words(message, text string) Said {
	m := b.said[message]
	if b.cut {
		b.same[message], b.cut = b.last, false
	}
	if first, ok := b.same[message]; ok {
		message = first
	}
	b.last = message
	model := string(m.ModelID)
	if model == "" && m.Role == stream.RoleAssistant {
		model = b.Turns[b.turn].Model
	}
	return Said{Message: message, Text: text, At: b.time(m), Model: b.model(model)}
}

// endTurn adds the token usage of the turn that ends here.
func (b *builder) endTurn() {
	b.page.Spent(tokens(b.Turns[b.turn].Used))
	b.turn = ""
}

func tokens(u stream.TokenUsage) Tokens {
	return Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheCreationTokens, Thinking: u.ThinkingTokens}
}
