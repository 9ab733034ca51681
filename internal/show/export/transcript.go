// A loaded conversation becomes the exported page: droid's history goes in, the parts of the page come out.

package export

import (
	"cmp"
	"encoding/json"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// Options are what the history does not tell.
type Options struct {
	CWD   string          // the session's directory
	Named bool            // the page names it
	Zone  *time.Location  // in which times are shown
	Turns map[string]Turn // as far as they are known, by the id of the user's message
	// Summary is what the conversation before became when it was compacted into this one, "" where it was not.
	Summary string
}

// Turn is what was seen of a turn and its history may lack.
type Turn struct {
	Model string            // the id of the one that it began with, "" where it is not known
	Used  stream.TokenUsage // zero where droid did not tell
}

// Page is a loaded session as a page shows it.
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

// builder makes a page.
type builder struct {
	Options
	page   *Conversation
	models map[string]string         // names of models by their ids
	said   map[string]stream.Message // by id
	calls  map[string]*call          // by id
	turn   string                    // the user's message that the last turn answers
	last   string                    // the message of the last text
	cut    bool                      // the next message continues it
	same   map[string]string         // messages that continue another one
}

// call is a tool call that has begun.
type call struct {
	*Call
	input json.RawMessage
}

// facts are what is known of the whole conversation.
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

// model is the name of a model for people.
func (b *builder) model(id string) string { return cmp.Or(b.models[id], id) }

// time is when a message was made, the zero time where droid does not tell.
func (b *builder) time(m stream.Message) time.Time {
	if m.CreatedAt == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m.CreatedAt)).In(b.Zone)
}

// event adds what an honest event shows.
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

// words are a piece of text with what is known of its message.
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

// endTurn tells what the turn took that ends here.
func (b *builder) endTurn() {
	b.page.Spent(tokens(b.Turns[b.turn].Used))
	b.turn = ""
}

func tokens(u stream.TokenUsage) Tokens {
	return Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheCreationTokens, Thinking: u.ThinkingTokens}
}
