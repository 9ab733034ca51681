package quirks

// What droid does: the history of load_session is the one kept for the model. It contains hidden messages, calls without a result because
// of a crash, calls with a result that says "pending" because they run in another process (0.225), and repeated IDs of the model. Results
// are messages of the role "tool" whose blocks have toolUseId and isError, and system messages have the role "user"; visibility
// distinguishes them from the user's.
// Seen on: 0.99, 0.225.
// Quirks: 10, 11, 21.
// Histories: testdata/history.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"droid-acp/internal/droid/stream"
)

// History converts the messages of a loaded session, oldest first, to the events of the live stream except those about turns, permissions,
// progress and settings. Every ToolStarted has its complete input and exactly one ToolEnded.
//
// A history is incomplete. Text cut off by an interrupt exists only in the process that produced it and is lost with a crash; a message
// that droid made the model repeat occurs once, under droid's ID without "~2"; and an error that ended a turn is only a Notice. Results are
// what the model got; in the live stream droid trims them and prefixes some with "Error: ". Compacted sessions still have all their
// messages; those created by compact_session have none from before; the summary is in neither (0.225).
func History(messages []stream.Message) []Event {
	h := newHistory(messages)
	for i, m := range messages {
		h.message(i, m)
	}
	for _, w := range h.background {
		h.out = append(h.out, SubagentEnded{ID: w.id, ToolID: w.call.id, Name: w.call.subagentName})
	}
	h.endCalls()
	return h.out
}

// EndsWithOpenCalls reports whether messages seem to end with calls without a result.
func EndsWithOpenCalls(messages []stream.Message) bool {
	open := 0
	for _, m := range slices.Backward(messages) {
		for _, b := range m.Content {
			switch {
			case b.Type == "tool_result" && !pending(resultOf(b)):
				open--
			case isToolUse(b):
				open++
			}
		}
		if m.Role == stream.RoleAssistant {
			break
		}
	}
	return open > 0
}

// MarkElsewhere marks calls without a result at the end of a history as possibly continuing in another program. It reports whether there
// are any.
func MarkElsewhere(history []Event) (some bool) {
	for i := len(history) - 1; i >= 0; i-- {
		end, ok := history[i].(ToolEnded)
		if !ok || !end.Unfinished {
			break
		}
		end.Elsewhere, some = true, true
		history[i] = end
	}
	return some
}

// history is the state of converting a history.
type history struct {
	skip  []bool                    // by message: hidden or repeated
	calls map[blockPos]*historyCall // by the block with the call
	ends  map[blockPos]*historyCall // by the block with the result
	open  []*historyCall            // started but not ended, oldest first
	out   []Event

	background []backgroundSubagent // without a report so far
}

// backgroundSubagent is a background subagent with its call.
type backgroundSubagent struct {
	id   string
	call *historyCall
}

// blockPos is the position of a block in a history.
type blockPos struct{ message, block int }

// historyCall is a tool call in a history.
type historyCall struct {
	id, name     string
	answered     bool   // a result follows
	subagentName string // of a Task: the name of its subagent
}

// newHistory matches calls with results in advance, so that a call without one can end as soon as the conversation continues. A call gets
// the first result with its ID that precedes the next call with that ID; other results are ignored. As in the live stream, a message has
// one call for each ID.
func newHistory(messages []stream.Message) *history {
	h := &history{
		skip:  make([]bool, len(messages)),
		calls: map[blockPos]*historyCall{},
		ends:  map[blockPos]*historyCall{},
	}
	seen := map[string]bool{}
	names, newest := newTools(), map[string]*historyCall{}
	for i, m := range messages {
		h.skip[i] = injectedMessage(m) || m.Role != stream.RoleTool && seenBefore(seen, m.ID)
		mine := map[string]bool{}
		for j, b := range m.Content {
			switch {
			case isToolUse(b) && m.Role == stream.RoleAssistant && !h.skip[i]:
				if mine[b.ID] {
					continue
				}
				mine[b.ID] = true
				c := &historyCall{id: names.uniqueID(b.ID), name: b.Name}
				h.calls[blockPos{i, j}], newest[b.ID] = c, c
			case b.Type == "tool_result":
				if r := resultOf(b); pending(r) {
					continue
				} else if c := newest[r.ToolUseID]; c != nil && !c.answered {
					c.answered = true
					h.ends[blockPos{i, j}] = c
				}
			}
		}
	}
	return h
}

// pending reports whether a result is a placeholder.
func pending(r toolResult) bool {
	return bytes.Contains(r.Content, []byte(`"__TOOL_RESULT_PENDING__"`))
}

// seenBefore reports whether id was seen before, and records it. Messages without an ID never repeat.
func seenBefore(seen map[string]bool, id string) bool {
	if id == "" || !seen[id] {
		seen[id] = true
		return false
	}
	return true
}

// message converts one message. Results in it count whatever its role, so that no call stays open because of an odd message.
func (h *history) message(i int, m stream.Message) {
	for j, b := range m.Content {
		if c := h.ends[blockPos{i, j}]; c != nil {
			r := resultOf(b)
			h.end(c, trimErrorPrefix(ToolEnded{Content: r.Content, IsError: r.IsError}))
		}
	}
	if isContinuation(m) {
		h.out = append(h.out, AnswerContinues{})
	}
	if r, is := reportOf(m); is {
		h.reported(r)
	}
	if h.skip[i] {
		return
	}
	switch {
	case m.Role == stream.RoleSystem, m.Role == stream.RoleUser && isSystemMessage(m):
		if text := plainText(m); text != "" && !isInterruptText(text) {
			h.out = append(h.out, Notice{Text: text})
		}
	case m.Role == stream.RoleUser:
		if said := userEvents(m); len(said) > 0 {
			h.endCalls()
			h.out = append(h.out, said...)
		}
	case m.Role == stream.RoleAssistant:
		h.endCalls()
		h.assistant(i, m)
	}
}

// isSystemMessage reports whether a message of the role "user" was a system message. Those have a visibility; the user's own have none, or
// "both" if the session is loaded by the process that has it open (0.99); then only the texts of an interrupt distinguish them.
func isSystemMessage(m stream.Message) bool {
	return m.Visibility == stream.VisibilityUserOnly || m.Visibility != "" && isInterruptText(plainText(m))
}

func (h *history) assistant(i int, m stream.Message) {
	for j, b := range m.Content {
		switch c := h.calls[blockPos{i, j}]; {
		case c != nil:
			h.open = append(h.open, c)
			if c.name == "Task" {
				var in struct{ Description string }
				_ = json.Unmarshal(b.Input, &in) // "" if invalid
				c.subagentName = in.Description
			}
			h.out = append(h.out, ToolStarted{ID: c.id, Name: c.name, Input: input(b.Input)})
		case b.Type == "text" && b.Text != "":
			h.out = append(h.out, Text{MessageID: m.ID, Text: b.Text})
		case b.Type == "thinking" && b.Thinking != "":
			h.out = append(h.out, Text{MessageID: m.ID, Thought: true, Text: b.Thinking})
		}
	}
}

// end ends c. If c is not open yet, its result is in its own message, which no droid writes; it then counts as having none.
func (h *history) end(c *historyCall, end ToolEnded) {
	k := slices.Index(h.open, c)
	if k < 0 {
		c.answered = false
		return
	}
	h.open = slices.Delete(h.open, k, k+1)
	end.ID, end.Name = c.id, c.name
	end.MayNeedLogin = blamesDaemon(end)
	if id := launchedID(end); id != "" && c.name == "Task" {
		end.Background = true
		h.background = append(h.background, backgroundSubagent{id, c})
	}
	h.out = append(h.out, end)
}

// reported emits the end of a subagent, before droid's reaction to it.
func (h *history) reported(r report) {
	k := slices.IndexFunc(h.background, func(w backgroundSubagent) bool { return w.id == r.id })
	if k < 0 {
		return
	}
	call := h.background[k].call
	h.background = slices.Delete(h.background, k, k+1)
	h.out = append(h.out, SubagentEnded{ID: r.id, ToolID: call.id, Name: call.subagentName, Reason: cmp.Or(r.reason, "unknown"), Answer: r.output},
		SubagentReported{ID: r.id, Name: call.subagentName, Reason: r.reason})
}

// endCalls ends the open calls without a result, since the conversation continued without them or is over.
func (h *history) endCalls() {
	var wait []*historyCall
	for _, c := range h.open {
		if c.answered {
			wait = append(wait, c)
			continue
		}
		h.out = append(h.out, ToolEnded{ID: c.id, Name: c.name, IsError: true, Unfinished: true})
	}
	h.open = wait
}

// toolResult is a tool_result block of a history.
type toolResult struct {
	ToolUseID string
	Content   json.RawMessage
	IsError   bool
}

// ResultCallID returns the ID of the call of which a block is the result, "" for other blocks.
func ResultCallID(b stream.ContentBlock) string {
	if b.Type != "tool_result" {
		return ""
	}
	return resultOf(b).ToolUseID
}

// IsFailedResult reports whether a block is the result of a failed call.
func IsFailedResult(b stream.ContentBlock) bool {
	return b.Type == "tool_result" && resultOf(b).IsError
}

// resultOf parses a tool_result, whose fields are toolUseId and isError in the histories of 0.99 to 0.225, unlike in the provider's API
// that stream.ContentBlock follows.
func resultOf(b stream.ContentBlock) toolResult {
	r := toolResult{b.ToolUseID, b.Content, b.IsError}
	var camel struct {
		ToolUseID string          `json:"toolUseId"`
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"isError"`
	}
	if json.Unmarshal(b.Raw, &camel) == nil {
		r.ToolUseID = cmp.Or(camel.ToolUseID, r.ToolUseID)
		r.Content = camel.Content
		r.IsError = r.IsError || camel.IsError
	}
	return r
}
