package quirks

// What droid does: the history of load_session is what droid keeps for the
// model. Messages that are hidden lie between those to show, a call that a
// crash cut off has no result, one that runs in another process has a result that says that it is pending (0.225), and the
// model's ids repeat. Results are messages
// of the role "tool", whose blocks have toolUseId and isError, and what was a
// system message has the role "user" here; visibility tells it from the user's.
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

// History returns the honest events of the messages of a loaded session, oldest
// first: those that the live stream gave, except what concerns turns,
// permissions, progress and settings. Every ToolStarted has its complete input
// and exactly one ToolEnded.
//
// A history does not have everything. Text that an interrupt cut off is there only
// while the process that said it lives, and lost with a crash; a message that
// droid made the model repeat is there once and under droid's id, without "~2", and
// an error that ended a turn is a mere Notice.
// Results are what the model got; live, droid trims them and puts "Error: "
// before some. Sessions that were compacted have all their messages still, and
// those that compact_session made have none from before; the summary is in
// neither (0.225).
func History(messages []stream.Message) []Event {
	h := newHistory(messages)
	for i, m := range messages {
		h.message(i, m)
	}
	for _, w := range h.working {
		h.out = append(h.out, SubagentEnded{ID: w.id, ToolID: w.call.id, Name: w.call.about})
	}
	h.endCalls()
	return h.out
}

// CutOff reports whether messages seem to end with calls that have no result.
func CutOff(messages []stream.Message) bool {
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

// GoOnElsewhere notes of the calls without a result at the end of a history that they may go on in another program. It
// reports whether there are any.
func GoOnElsewhere(history []Event) (some bool) {
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

// history makes the events of a history.
type history struct {
	skip  []bool              // by message: hidden or a repetition
	calls map[place]*pastCall // by the block that makes the call
	ends  map[place]*pastCall // by the block that is its result
	open  []*pastCall         // started and not ended, oldest first
	out   []Event

	working []pastWorker // that have not reported yet
}

// pastWorker is a subagent that was started to work in the background, for a call.
type pastWorker struct {
	id   string
	call *pastCall
}

// place is a block of a history.
type place struct{ message, block int }

// pastCall is a tool call of a history.
type pastCall struct {
	id, name string
	answered bool   // a result follows
	about    string // of a Task, what its subagent is called
}

// newHistory pairs calls with results before any is told, so that a call
// without one can end as soon as the conversation goes on. A call takes the
// first result with its id that comes before the next call with that id; other
// results belong to no call. One message has one call of each id, as live.
func newHistory(messages []stream.Message) *history {
	h := &history{
		skip:  make([]bool, len(messages)),
		calls: map[place]*pastCall{},
		ends:  map[place]*pastCall{},
	}
	seen := map[string]bool{}
	names, newest := newTools(), map[string]*pastCall{}
	for i, m := range messages {
		h.skip[i] = injectedMessage(m) || m.Role != stream.RoleTool && again(seen, m.ID)
		mine := map[string]bool{}
		for j, b := range m.Content {
			switch {
			case isToolUse(b) && m.Role == stream.RoleAssistant && !h.skip[i]:
				if mine[b.ID] {
					continue
				}
				mine[b.ID] = true
				c := &pastCall{id: names.uniqueID(b.ID), name: b.Name}
				h.calls[place{i, j}], newest[b.ID] = c, c
			case b.Type == "tool_result":
				if r := resultOf(b); pending(r) {
					continue
				} else if c := newest[r.ToolUseID]; c != nil && !c.answered {
					c.answered = true
					h.ends[place{i, j}] = c
				}
			}
		}
	}
	return h
}

// pending reports whether a result holds the place of one that is still to come.
func pending(r toolResult) bool {
	return bytes.Contains(r.Content, []byte(`"__TOOL_RESULT_PENDING__"`))
}

// again reports whether id was seen, and notes it. Messages without an id never
// repeat.
func again(seen map[string]bool, id string) bool {
	if id == "" || !seen[id] {
		seen[id] = true
		return false
	}
	return true
}

// message tells one message. Results in it count whatever its role is, so that no
// call stays without its end because of an odd message.
func (h *history) message(i int, m stream.Message) {
	for j, b := range m.Content {
		if c := h.ends[place{i, j}]; c != nil {
			r := resultOf(b)
			h.end(c, oneErrorWord(ToolEnded{Content: r.Content, IsError: r.IsError}))
		}
	}
	if continues(m) {
		h.out = append(h.out, AnswerContinues{})
	}
	if r, is := reportOf(m); is {
		h.reported(r)
	}
	if h.skip[i] {
		return
	}
	switch {
	case m.Role == stream.RoleSystem, m.Role == stream.RoleUser && bySystem(m):
		if text := plainText(m); text != "" && !ofInterrupt(text) {
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

// bySystem reports whether a message of the role "user" was a system message.
// Those have a visibility; the user's own have none, or "both" when the session
// is loaded by the process that has it open (0.99), and then only the words of
// an interrupt tell them apart.
func bySystem(m stream.Message) bool {
	return m.Visibility == stream.VisibilityUserOnly || m.Visibility != "" && ofInterrupt(plainText(m))
}

func (h *history) assistant(i int, m stream.Message) {
	for j, b := range m.Content {
		switch c := h.calls[place{i, j}]; {
		case c != nil:
			h.open = append(h.open, c)
			if c.name == "Task" {
				var in struct{ Description string }
				_ = json.Unmarshal(b.Input, &in) // what cannot be read has no name
				c.about = in.Description
			}
			h.out = append(h.out, ToolStarted{ID: c.id, Name: c.name, Input: input(b.Input)})
		case b.Type == "text" && b.Text != "":
			h.out = append(h.out, Text{MessageID: m.ID, Text: b.Text})
		case b.Type == "thinking" && b.Thinking != "":
			h.out = append(h.out, Text{MessageID: m.ID, Thought: true, Text: b.Thinking})
		}
	}
}

// end ends c. When c is not open yet, its result stands in its own message,
// which no droid writes; it then counts as having none.
func (h *history) end(c *pastCall, end ToolEnded) {
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
		h.working = append(h.working, pastWorker{id, c})
	}
	h.out = append(h.out, end)
}

// reported tells that a subagent has ended, before what droid says to that.
func (h *history) reported(r report) {
	k := slices.IndexFunc(h.working, func(w pastWorker) bool { return w.id == r.id })
	if k < 0 {
		return
	}
	call := h.working[k].call
	h.working = slices.Delete(h.working, k, k+1)
	h.out = append(h.out, SubagentEnded{ID: r.id, ToolID: call.id, Name: call.about, Reason: cmp.Or(r.reason, "unknown"), Answer: r.output},
		SubagentReports{ID: r.id, Name: call.about, Reason: r.reason})
}

// endCalls ends the open calls that have no result: the conversation went on
// without them, or is over.
func (h *history) endCalls() {
	var wait []*pastCall
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

// CallOf is the id of the call whose result a block of a history is, "" for others.
func CallOf(b stream.ContentBlock) string {
	if b.Type != "tool_result" {
		return ""
	}
	return resultOf(b).ToolUseID
}

// CallFailed reports whether a block of a history is the result of a call that failed.
func CallFailed(b stream.ContentBlock) bool { return b.Type == "tool_result" && resultOf(b).IsError }

// resultOf reads a tool_result, whose fields are toolUseId and isError in the
// histories of 0.99 to 0.225, unlike in the provider's API that stream.ContentBlock
// follows.
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
