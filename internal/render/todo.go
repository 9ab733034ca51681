package render

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// todoView is the view of a TodoWrite call. The plan is shown instead of the call; droid asks no permission for it.
type todoView struct {
	*shownCall
	input json.RawMessage
}

func newTodo(c *shownCall) toolView { return &todoView{shownCall: c} }

func (t *todoView) hidden() bool { return true }

func (t *todoView) describe(_ string, input json.RawMessage, _ *protocol.ToolCall) { t.input = input }

func (t *todoView) progress(Moment, stream.ProgressUpdate) {}

// ended shows the plan, or the call if it has none.
func (t *todoView) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	entries, ok := ParseTasks(t.input)
	switch {
	case ev.Unfinished:
	case update.Status == protocol.StatusCompleted && ok:
		t.v.showTasks(entries)
	default:
		shown := t.v.describe(t, ev.Name, t.input)
		shown.SessionUpdate, shown.Name = "tool_call", protocol.Line(ev.Name)
		shown.Status, shown.Content = update.Status, ResultContent(ev.Content)
		t.v.send(shown)
	}
}

// ParseTasks parses the list of a TodoWrite. droid tells the model to write lines ("1. [completed] a"), and also accepts an array of objects,
// even as a string (0.99 to 0.225).
func ParseTasks(input json.RawMessage) ([]protocol.PlanEntry, bool) {
	raw := protocol.Fields(input)["todos"]
	var text string
	if json.Unmarshal(raw, &text) != nil || string(raw) == "null" {
		return planList(raw)
	}
	if entries, ok := planList([]byte(text)); ok {
		return entries, true
	}
	entries := []protocol.PlanEntry{} // ACP requires a list, even if empty
	for line := range strings.Lines(text) {
		if e, ok := planLine(line); ok {
			entries = append(entries, e)
		}
	}
	return entries, true
}

func planList(raw []byte) ([]protocol.PlanEntry, bool) {
	var list []struct{ Content, Status, Priority string }
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, false
	}
	entries := []protocol.PlanEntry{}
	for _, e := range list {
		entries = append(entries, protocol.PlanEntry{Content: protocol.Line(e.Content), Priority: planPriority(e.Priority), Status: planStatus(e.Status)})
	}
	return entries, true
}

// planLinePattern matches a line: number or bullet, status, text.
var planLinePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\d+[.)]|[-*])?\s*(?:\[([^\]]*)\])?\s*(.*)$`) })

func planLine(line string) (protocol.PlanEntry, bool) {
	m := planLinePattern().FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || m[2] == "" {
		return protocol.PlanEntry{}, false
	}
	return protocol.PlanEntry{Content: protocol.Line(m[2]), Priority: planPriority(""), Status: planStatus(m[1])}, true
}

// planStatus returns the ACP status for droid's; unknown ones are pending.
func planStatus(word string) string {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "completed", "complete", "done", "x":
		return protocol.StatusCompleted
	case "in_progress", "in progress", "in-progress":
		return protocol.StatusInProgress
	}
	return protocol.StatusPending
}

func planPriority(word string) string {
	switch word {
	case "high", "low":
		return word
	}
	return "medium"
}
