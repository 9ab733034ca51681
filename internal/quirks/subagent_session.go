package quirks

// Subagents shown as separate sessions: their files' whole content, as events of each, see subagent.go.

import (
	"cmp"
	"encoding/json"
	"time"

	"droid-acp/internal/droid/stream"
)

// InSubagent is an event of a subagent's session: Text, ToolStarted, ToolRunning or ToolEnded.
type InSubagent struct {
	ID    string // of its session
	Event Event
}

// SubagentAsks reports that a subagent that is shown as a session is about to ask for calls. The caller must first read its file and pass
// the new lines, if any, to Normalizer.HandleSubagentLines: they contain what the model said before these calls.
type SubagentAsks struct{ ID string }

func (InSubagent) isEvent()   {}
func (SubagentAsks) isEvent() {}

// ShowSubagents makes the subagents of this droid appear as sessions: the contents of their files become InSubagent events instead of
// SubagentSteps. It must precede the first event.
func (n *Normalizer) ShowSubagents() { n.showsSubagents = true }

// emitFor emits an event of a subagent.
func (n *Normalizer) emitFor(s *subagent, ev Event) {
	if n.showsSubagents {
		ev = InSubagent{ID: s.id, Event: ev}
	}
	n.emit(ev)
}

// said emits what the model of a subagent says in a message of its file.
func (n *Normalizer) said(s *subagent, m stream.Message, b stream.ContentBlock) {
	switch {
	case !n.showsSubagents || m.Role != stream.RoleAssistant:
	case b.Type == "text" && b.Text != "":
		n.emitFor(s, Text{MessageID: m.ID, Text: b.Text})
	case b.Type == "thinking" && b.Thinking != "":
		n.emitFor(s, Text{MessageID: m.ID, Thought: true, Text: b.Thinking})
	case isToolUse(b):
		n.announce(n.findSubagentCall(s, stream.ToolUse{ID: b.ID, Name: b.Name, Input: b.Input}))
	}
}

// started describes a subagent that begins.
func (s *subagent) started() SubagentStarted {
	ev := SubagentStarted{ID: s.id, Parent: s.parent, Type: s.kind, Description: s.name}
	if s.task != nil && !s.nested {
		ev.ToolID, ev.Prompt = s.task.id, TaskPrompt(s.task.latest)
	}
	return ev
}

// TaskPrompt returns what the model asks of a subagent in the input of a Task.
func TaskPrompt(input json.RawMessage) string {
	var in struct{ Prompt string }
	_ = json.Unmarshal(input, &in) // "" if invalid
	return in.Prompt
}

// TaskSession returns the session of the subagent that a Task started, by its result; "" if that does not say.
func TaskSession(end ToolEnded) string {
	if id := launchedID(end); id != "" {
		return id
	}
	var text string
	if json.Unmarshal(end.Content, &text) != nil {
		return ""
	}
	return reportedSession(text)
}

// RestartSubagent prepares for the file of a running subagent to be read and shown from its beginning again. Calls without an end stay.
func (n *Normalizer) RestartSubagent(id string) {
	s := n.subagents[id]
	if s == nil {
		return
	}
	s.since = time.Time{}
	for _, c := range s.requested {
		c.announced = false
	}
}

// SubagentHistory converts the whole file of a subagent that has ended, or of which no droid here knows.
func SubagentHistory(now time.Time, id string, lines []stream.ChildLine) []Event {
	n := New(stream.Version{})
	n.ShowSubagents()
	s := &subagent{id: id, name: unnamedSubagent, stopped: true, uses: map[string]toolUse{}}
	n.subagents[id] = s
	n.now = now
	n.subagentLines(s, lines)
	n.loseCalls(s)
	n.reportSubagentEnd(s, false)
	return n.take()
}

// lineMessage returns the message of a line with the line's ID.
func lineMessage(l stream.ChildLine) stream.Message {
	m := l.Message
	m.ID = cmp.Or(m.ID, l.ID)
	return m
}
