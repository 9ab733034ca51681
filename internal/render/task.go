package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// maxTaskSteps is the number of a subagent's last steps that are shown.
const maxTaskSteps = 30

// taskView is the view of a Task: the steps of its subagent.
type taskView struct {
	*shownCall
	steps   []string
	skipped int
}

func newTask(c *shownCall) toolView { return &taskView{shownCall: c} }

// progress shows a step of the subagent, from droid (0.99) or from its file (subagent.go).
func (t *taskView) progress(_ Moment, u stream.ProgressUpdate) {
	if t.add(u) {
		t.sendContent(protocol.TextContent(t.text()))
	}
}

// add records a step; it returns false for a repeated one.
func (t *taskView) add(u stream.ProgressUpdate) bool {
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

// taskStep describes a step in one line. The end of a tool is shown only if it failed.
func taskStep(u stream.ProgressUpdate) string {
	var details string
	_ = json.Unmarshal(u.Details, &details) // "" unless a string
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

func (t *taskView) text() string {
	var b strings.Builder
	if t.skipped > 0 {
		fmt.Fprintf(&b, "- … %d steps before\n", t.skipped)
	}
	for _, step := range t.steps {
		b.WriteString("- " + step + "\n")
	}
	return b.String()
}

// needsLogin complements droid's message, which does not mention it (quirk 36).
const needsLogin = "droid also says this when it is not logged in to Factory: its subagents need that login, also with a model of your own. "

// ended shows the steps, then the answer. A background subagent continues.
func (t *taskView) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	switch {
	case ev.Unfinished && t.v.past && !ev.Elsewhere:
		update.Content = t.content(protocol.TextContent("What became of the subagent is not known."))
	case ev.Unfinished:
	case ev.Background:
		t.v.backgroundTasks[t.id] = t
		update.Content = t.content(subagentWorks)
	default:
		update.Content = t.content(answerOf(ev.Content)...)
		if ev.MayNeedLogin {
			update.Content = append(update.Content, protocol.TextContent(needsLogin+t.v.loginHint))
		}
	}
}

// content returns the steps followed by below.
func (t *taskView) content(below ...protocol.ToolContent) (content []protocol.ToolContent) {
	if len(t.steps) > 0 {
		content = append(content, protocol.TextContent(t.text()))
	}
	return append(content, below...)
}

// answerOf returns the result of a Task without the text for the model.
func answerOf(result json.RawMessage) []protocol.ToolContent {
	content := ResultContent(result)
	if len(content) == 0 || content[0].Content == nil || content[0].Content.Text == nil {
		return content
	}
	return append(textContent(TaskAnswer(*content[0].Content.Text)), content[1:]...)
}

// TaskAnswer returns the answer of a subagent: the result of a Task without the leading text for the model (0.215, 0.225).
func TaskAnswer(result string) string {
	first, rest, _ := strings.Cut(result, "\n")
	id, is := strings.CutPrefix(first, "session_id: ")
	if !is || !stream.ValidSessionID(id) {
		return result
	}
	if words, answer, _ := strings.Cut(rest, "\n"); strings.HasPrefix(words, "Use this report as the source of record.") {
		return answer
	}
	return rest
}
