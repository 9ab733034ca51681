package quirks

// What droid tells the model of subagents in the background, see subagent.go.

import (
	"encoding/json"
	"strings"

	"droid-acp/internal/droid/stream"
)

// launched begins the result of a Task whose subagent is not waited for. The id stands behind it.
const launched = "Task launched in background.\ntask_id: "

// launchedID is the id of the subagent that goes on when its call has ended so, "" for none.
func launchedID(end ToolEnded) string {
	var text string
	if end.IsError || json.Unmarshal(end.Content, &text) != nil {
		return ""
	}
	rest, ok := strings.CutPrefix(text, launched)
	id, _, _ := strings.Cut(rest, "\n")
	if !ok || !stream.ValidSessionID(id) {
		return ""
	}
	return id
}

// reportsTask begins the ids of messages, and of turns, in which a subagent of the background reports that it has ended.
const reportsTask = "task-completion:"

// report is what such a message says.
type report struct{ id, reason, output string }

// reportOf reads such a message. What is the models' comes last in it.
func reportOf(msg stream.Message) (r report, ok bool) {
	if !strings.HasPrefix(msg.ID, reportsTask) {
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
