package quirks

// Lines in the file of a subagent's session, see subagent.go.

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// toolUse is a call in a file.
type toolUse struct {
	name            string
	input           digest
	backgroundInput json.RawMessage // the input, if the call may leave something running
}

// HandleSubagentLines processes new lines of a subagent's file. After SubagentStopped it must be called at least once, even without lines.
func (n *Normalizer) HandleSubagentLines(now time.Time, id string, lines []stream.ChildLine) []Event {
	n.now = now
	s := n.subagents[id]
	if s == nil {
		return nil
	}
	n.subagentLines(s, lines)
	for _, c := range s.requested {
		n.announce(c)
	}
	if len(s.steps) > 0 && !n.showsSubagents {
		n.emit(SubagentSteps{ID: s.id, ToolID: s.task.id, Steps: s.steps})
	}
	s.steps = nil
	switch {
	case s.stopped:
		n.reportSubagentEnd(s, false)
	case s.background && !s.nested && !s.turnEndedAt.IsZero() && now.Sub(s.turnEndedAt) >= reportTime:
		n.stopAll(s)
	}
	return n.take()
}

func (n *Normalizer) subagentLines(s *subagent, lines []stream.ChildLine) {
	for _, l := range lines {
		switch {
		case l.Type == stream.ChildMessage && !l.Before(s.since):
			s.hasNewLines, s.turnEndedAt = true, time.Time{}
			n.subagentMessage(s, lineMessage(l))
		case l.Type == stream.ChildOutcome && s.hasNewLines:
			s.reason, s.turnEndedAt = cmp.Or(string(l.Reason), s.reason), n.now
		}
	}
}

// subagentMessage processes a message in a subagent's file.
func (n *Normalizer) subagentMessage(s *subagent, m stream.Message) {
	if m.Visibility == stream.VisibilityLLMOnly {
		return
	}
	works := slices.ContainsFunc(m.Content, isToolUse)
	for _, b := range m.Content {
		n.said(s, m, b)
		switch {
		case m.Role == stream.RoleAssistant && isToolUse(b):
			use := toolUse{name: b.Name, input: digestOf(input(b.Input))}
			if leavesRunning(b.Input) {
				use.backgroundInput = input(b.Input)
			}
			s.uses[b.ID] = use
			s.step(Step{Tool: b.Name, Input: input(b.Input)})
		case m.Role == stream.RoleAssistant && b.Type == "text" && works:
			s.step(Step{Text: b.Text})
		case m.Role == stream.RoleAssistant && b.Type == "text":
			s.answer = b.Text
		case b.Type == "tool_result":
			n.subagentResult(s, resultOf(b))
		}
	}
}

// subagentResult ends the call of a result in the file. The model may reuse an ID, so the call in the file must equal the one that the user
// was asked about.
func (n *Normalizer) subagentResult(s *subagent, r toolResult) {
	use := s.uses[r.ToolUseID]
	delete(s.uses, r.ToolUseID)
	if r.IsError {
		s.step(Step{Tool: use.name, Failed: r.Content})
	}
	k := slices.IndexFunc(s.requested, func(c *subagentCall) bool {
		return c.raw == r.ToolUseID && c.name == use.name && digestOf(c.latest) == use.input
	})
	var c *subagentCall
	switch {
	case k >= 0:
		c = s.requested[k]
	case use.backgroundInput != nil && !r.IsError: // shown as a separate call, since what it started outlives it
		c = n.findSubagentCall(s, stream.ToolUse{ID: r.ToolUseID, Name: use.name, Input: use.backgroundInput})
	default:
		return
	}
	s.requested = slices.DeleteFunc(s.requested, func(a *subagentCall) bool { return a == c })
	n.endSubagentCall(c, trimErrorPrefix(ToolEnded{Content: r.Content, IsError: r.IsError}))
}

// leavesRunning reports whether a call requests something that outlives it.
func leavesRunning(input json.RawMessage) bool {
	var in struct{ FireAndForget bool }
	return json.Unmarshal(input, &in) == nil && in.FireAndForget
}

// step records a step, if there is a call to show it under.
func (s *subagent) step(step Step) {
	if s.task != nil && !s.nested {
		s.steps = append(s.steps, step)
	}
}
