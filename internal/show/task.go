package show

import (
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// maxTaskSteps is how many of a subagent's last steps are shown.
const maxTaskSteps = 30

// task is the view of a Task: what its subagent does.
type task struct {
	*shownCall
	steps   []string
	skipped int
}

func newTask(c *shownCall) toolView { return &task{shownCall: c} }

// progress shows a step of the subagent under its call (0.99).
func (t *task) progress(_ Moment, u stream.ProgressUpdate) {
	if t.add(u) {
		t.sendContent(protocol.TextContent(t.text()))
	}
}

// add notes a step; false when it says nothing new.
func (t *task) add(u stream.ProgressUpdate) bool {
	step := taskStep(u)
	if step == "" || (len(t.steps) > 0 && t.steps[len(t.steps)-1] == step) {
		return false
	}
	t.steps = append(t.steps, step)
	if len(t.steps) > maxTaskSteps {
		t.steps = t.steps[1:]
		t.skipped++
	}
	return true
}

// taskStep is one line on what a subagent does. The end of a tool is told only
// when it failed.
func taskStep(u stream.ProgressUpdate) string {
	var details string
	_ = json.Unmarshal(u.Details, &details) // droid's details are text or nothing to show
	switch u.Type {
	case "error":
		return "❌ " + FirstLine(u.Error)
	case "message":
		return FirstLine(u.Text)
	case "tool_call":
		return strings.TrimSpace("`" + u.ToolName + "` " + shorten(FirstLine(details), 200))
	case "tool_result":
		if u.Status != "error" {
			return ""
		}
		return strings.TrimSpace("❌ `" + u.ToolName + "` " + shorten(FirstLine(details), 200))
	}
	return FirstLine(u.Text)
}

func (t *task) text() string {
	var b strings.Builder
	if t.skipped > 0 {
		fmt.Fprintf(&b, "- … %d steps before\n", t.skipped)
	}
	for _, step := range t.steps {
		b.WriteString("- " + step + "\n")
	}
	return b.String()
}

// needsLogin stands beside words of droid's that do not say it (quirk 36).
const needsLogin = "droid also says this when it is not logged in to Factory: its subagents need that login, also with a model of your own. "

// ended shows the steps, then the result.
func (t *task) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	if ev.Unfinished {
		return
	}
	if len(t.steps) > 0 {
		update.Content = []protocol.ToolContent{protocol.TextContent(t.text())}
	}
	update.Content = append(update.Content, ResultContent(ev.Content)...)
	if ev.MayNeedLogin {
		update.Content = append(update.Content, protocol.TextContent(needsLogin+t.v.waysToLogIn))
	}
}
