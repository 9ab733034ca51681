package adapter

import (
	"encoding/json"
	"regexp"
	"strings"

	"droid-acp/internal/quirks"
)

// planUpdate is ACP's plan: always the whole list.
type planUpdate struct {
	SessionUpdate string      `json:"sessionUpdate"`
	Entries       []planEntry `json:"entries"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"` // high, medium or low
	Status   string `json:"status"`   // pending, in_progress or completed
}

// todo is the view of a TodoWrite call. The call itself is not shown, the plan
// is; droid asks no permission for it.
type todo struct {
	input json.RawMessage
}

// todoEnded shows the plan, or why there is none.
func (s *Session) todoEnded(ev quirks.ToolEnded, t *todo, update toolCall) {
	entries, ok := planEntries(t.input)
	switch {
	case ev.Unfinished:
	case update.Status == statusCompleted && ok:
		s.send(planUpdate{"plan", entries})
	default:
		call := s.describe(ev.ID, ev.Name, t.input)
		call.SessionUpdate = "tool_call"
		call.Status, call.Content = update.Status, resultContent(ev.Content)
		s.send(call)
	}
}

// planEntries reads the list of a TodoWrite. droid asks the model for lines of
// text ("1. [completed] a") and takes an array of objects too, also one that is
// written as text (0.99 to 0.225).
func planEntries(input json.RawMessage) ([]planEntry, bool) {
	raw := fields(input)["todos"]
	var text string
	if json.Unmarshal(raw, &text) != nil || len(raw) == 0 || string(raw) == "null" {
		return planList(raw)
	}
	if entries, ok := planList([]byte(text)); ok {
		return entries, true
	}
	entries := []planEntry{} // ACP wants a list, also an empty one
	for line := range strings.Lines(text) {
		if e, ok := planLine(line); ok {
			entries = append(entries, e)
		}
	}
	return entries, true
}

func planList(raw []byte) ([]planEntry, bool) {
	var list []struct{ Content, Status, Priority string }
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, false
	}
	entries := []planEntry{}
	for _, e := range list {
		entries = append(entries, planEntry{e.Content, planPriority(e.Priority), planStatus(e.Status)})
	}
	return entries, true
}

// planLinePattern is a line of the text form: number or bullet, status, text.
var planLinePattern = regexp.MustCompile(`^(?:\d+[.)]|[-*])?\s*(?:\[([^\]]*)\])?\s*(.*)$`)

func planLine(line string) (planEntry, bool) {
	m := planLinePattern.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || m[2] == "" {
		return planEntry{}, false
	}
	return planEntry{m[2], planPriority(""), planStatus(m[1])}, true
}

// planStatus is the ACP status for droid's words; what it does not know is yet
// to be done.
func planStatus(word string) string {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "completed", "complete", "done", "x":
		return statusCompleted
	case "in_progress", "in progress", "in-progress":
		return statusInProgress
	}
	return statusPending
}

func planPriority(word string) string {
	switch word {
	case "high", "low":
		return word
	}
	return "medium"
}
