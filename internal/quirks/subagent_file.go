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
	name   string
	input  digest
	leaves json.RawMessage // the input, if the call may leave something running
}

// Wrote processes new lines of a subagent's file. After SubagentStops it must be called at least once, even without lines.
func (n *Normalizer) Wrote(now time.Time, id string, lines []stream.ChildLine) []Event {
	n.now = now
	s := n.subagents[id]
	if s == nil {
		return nil
	}
	for _, l := range lines {
		switch {
		case l.Type == stream.ChildMessage && !l.Before(s.since):
			s.fresh, s.rests = true, time.Time{}
			n.childMessage(s, l.Message)
		case l.Type == stream.ChildOutcome && s.fresh:
			s.reason, s.rests = cmp.Or(string(l.Reason), s.reason), now
		}
	}
	if len(s.steps) > 0 {
		n.emit(SubagentSteps{ID: s.id, ToolID: s.task.id, Steps: s.steps})
		s.steps = nil
	}
	switch {
	case s.stopped:
		n.tellEnd(s, false)
	case s.background && !s.nested && !s.rests.IsZero() && now.Sub(s.rests) >= reportTime:
		n.stopAll(s)
	}
	return n.take()
}

// childMessage processes a message in a subagent's file.
func (n *Normalizer) childMessage(s *subagent, m stream.Message) {
	if m.Visibility == stream.VisibilityLLMOnly {
		return
	}
	works := slices.ContainsFunc(m.Content, isToolUse)
	for _, b := range m.Content {
		switch {
		case m.Role == stream.RoleAssistant && isToolUse(b):
			use := toolUse{name: b.Name, input: digestOf(input(b.Input))}
			if leavesRunning(b.Input) {
				use.leaves = input(b.Input)
			}
			s.uses[b.ID] = use
			s.step(Step{Tool: b.Name, Input: input(b.Input)})
		case m.Role == stream.RoleAssistant && b.Type == "text" && works:
			s.step(Step{Text: b.Text})
		case m.Role == stream.RoleAssistant && b.Type == "text":
			s.answer = b.Text
		case b.Type == "tool_result":
			n.childResult(s, resultOf(b))
		}
	}
}

// childResult ends the call of a result in the file. The model may reuse an ID, so the call in the file must equal the one that the user
// was asked about.
func (n *Normalizer) childResult(s *subagent, r toolResult) {
	use := s.uses[r.ToolUseID]
	delete(s.uses, r.ToolUseID)
	if r.IsError {
		s.step(Step{Tool: use.name, Failed: r.Content})
	}
	k := slices.IndexFunc(s.asked, func(c *childCall) bool {
		return c.raw == r.ToolUseID && c.name == use.name && digestOf(c.latest) == use.input
	})
	var c *childCall
	switch {
	case k >= 0:
		c = s.asked[k]
		s.asked = slices.Delete(s.asked, k, k+1)
	case use.leaves != nil && !r.IsError: // shown as a separate call, since what it started outlives it
		c = n.subagentCall(s, stream.ToolUse{ID: r.ToolUseID, Name: use.name, Input: use.leaves})
		s.asked = slices.DeleteFunc(s.asked, func(a *childCall) bool { return a == c })
	default:
		return
	}
	n.endSubagentCall(c, oneErrorWord(ToolEnded{Content: r.Content, IsError: r.IsError}))
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
