// Conversion of a stored session, droid's history, into the exported page.

package export

import (
	"cmp"
	"encoding/json"
	"time"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// Options supply what the history does not contain.
type Options struct {
	CWD           string          // show the directory
	ShowDirectory bool            // time zone for display
	Zone          *time.Location  // in which times are shown
	Turns         map[string]Turn // known turns by the ID of the user's message
	// Summary is the summary of an earlier conversation that was compacted into this one, or "".
	Summary string
}

// Turn has observations of a turn that may be missing from its history.
type Turn struct {
	Model string            // the model ID at its beginning, "" if unknown
	Used  stream.TokenUsage // zero if droid did not report it
}

// Page returns a stored session as a page.
func Page(info *stream.SessionInfo, o Options) *Conversation {
	b := &builder{Options: o, page: &Conversation{title: info.Title}, models: map[string]string{}, messages: map[string]stream.Message{},
		calls: map[string]*openCall{}, continuations: map[string]string{}}
	for _, m := range info.AvailableModels {
		b.models[m.ID] = m.DisplayName
	}
	for _, m := range info.Messages {
		if m.ID != "" {
			b.messages[m.ID] = m
		}
	}
	b.page.properties = b.facts(info)
	if o.Summary != "" {
		b.page.addNote("What was said before was compacted. In its place the model has this summary:")
		b.page.addAgent(messagePart{Text: o.Summary})
		b.page.endPart()
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
	page          *Conversation
	models        map[string]string         // display names by model ID
	messages      map[string]stream.Message // by ID
	calls         map[string]*openCall      // by ID
	turn          string                    // ID of the user message that the last turn answers
	last          string                    // message ID of the last text
	cut           bool                      // the next message continues it
	continuations map[string]string         // messages that continue another one
}

// openCall is a tool call with its input.
type openCall struct {
	*toolCall
	input json.RawMessage
}

// facts returns the properties of the conversation.
func (b *builder) facts(info *stream.SessionInfo) []property {
	model := ""
	if id := info.Settings.ModelID; id != nil {
		model = b.model(*id)
	}
	directory := ""
	if b.ShowDirectory {
		directory = b.CWD
	}
	facts := []property{
		{Name: "Model at the time of export", Value: model},
		{Name: "Tokens", Value: tokens(info.TokenUsage).String()},
		{Name: "Session", Value: info.SessionID},
		{Name: "Directory", Value: directory},
	}
	for _, m := range info.Messages {
		if m.CreatedAt != 0 {
			return append(facts, property{Name: "Time zone", Value: b.time(m).Format("MST (-07:00)")})
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
		b.page.addUser(b.messagePart(ev.MessageID, render.UserPromptText(ev, b.CWD)))
	case quirks.Text:
		if ev.Thought {
			b.page.addThought(b.messagePart(ev.MessageID, ev.Text))
		} else {
			b.page.addAgent(b.messagePart(ev.MessageID, ev.Text))
		}
	case quirks.AnswerContinues:
		b.cut = true
	case quirks.UserImage:
		b.page.addImage(ev.MediaType, ev.Data)
	case quirks.ToolStarted:
		b.started(ev)
	case quirks.ToolEnded:
		b.ended(ev)
	case quirks.SubagentEnded:
		b.endedInBackground(ev)
	case quirks.Notice:
		if words := render.ProviderMessage(ev.Text); render.IsFailure(words) {
			b.page.addFailure(words)
		} else {
			b.page.addNote(words)
		}
	default:
		b.page.endPart()
	}
}

// messagePart returns a piece of text with the metadata of its message.
func (b *builder) messagePart(message, text string) messagePart {
	m := b.messages[message]
	if b.cut {
		b.continuations[message], b.cut = b.last, false
	}
	if first, ok := b.continuations[message]; ok {
		message = first
	}
	b.last = message
	model := string(m.ModelID)
	if model == "" && m.Role == stream.RoleAssistant {
		model = b.Turns[b.turn].Model
	}
	return messagePart{ID: message, Text: text, At: b.time(m), Model: b.model(model)}
}

// endTurn adds the token usage of the turn that ends here.
func (b *builder) endTurn() {
	b.page.addTokens(tokens(b.Turns[b.turn].Used))
	b.turn = ""
}

func tokens(u stream.TokenUsage) tokenUsage {
	return tokenUsage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheCreationTokens, Thinking: u.ThinkingTokens}
}
