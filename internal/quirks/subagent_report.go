package quirks

// Messages of droid to the model about background subagents, see subagent.go.

import (
	"encoding/json"
	"strings"

	"droid-acp/internal/droid/stream"
)

// launchedPrefix begins the result of a Task whose subagent is not waited for. Its ID follows.
const launchedPrefix = "Task launched in background.\ntask_id: "

// launchedID returns the ID of the subagent that continues after such a result, or "".
func launchedID(end ToolEnded) string {
	var text string
	if end.IsError || json.Unmarshal(end.Content, &text) != nil {
		return ""
	}
	rest, ok := strings.CutPrefix(text, launchedPrefix)
	id, _, _ := strings.Cut(rest, "\n")
	if !ok || !stream.ValidSessionID(id) {
		return ""
	}
	return id
}

// reportedSession returns the ID of the subagent whose answer the result of a Task is, or "".
func reportedSession(result string) string {
	first, _, _ := strings.Cut(result, "\n")
	id, is := strings.CutPrefix(first, "session_id: ")
	if !is || !stream.ValidSessionID(id) {
		return ""
	}
	return id
}

// reportIDPrefix is the ID prefix of messages and turns in which a background subagent reports its end.
const reportIDPrefix = "task-completion:"

// report is the content of such a message.
type report struct{ id, reason, output string }

// reportOf parses such a message. Text by the models comes last in it.
func reportOf(msg stream.Message) (r report, ok bool) {
	if !strings.HasPrefix(msg.ID, reportIDPrefix) {
		return report{}, false
	}
	head, output, _ := strings.Cut(plainText(msg), "\noutput: ")
	for line := range strings.Lines(head) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); {
		case name == "task_id" && r.id == "":
			r.id = value
		case name == "reason" && r.reason == "":
			r.reason = value
		}
	}
	if end := strings.LastIndex(output, "\n\nBackground task \""); end >= 0 {
		output = output[:end]
	}
	r.output = strings.TrimSpace(output)
	return r, true
}
