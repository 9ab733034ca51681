package render

import (
	"cmp"
	"encoding/json"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// Subagents: their steps, their requests and their outcome (quirk 40).

// subagentWorks is shown below a Task whose call has ended while its subagent works.
var subagentWorks = protocol.TextContent("The subagent works in the background.")

// subagentSteps shows steps below the call of their Task.
func (v *View) subagentSteps(ev quirks.SubagentSteps) {
	t, below := v.backgroundTasks[ev.ToolID], []protocol.ToolContent{subagentWorks}
	if t == nil {
		t, _ = v.calls[ev.ToolID].(*taskView)
		below = nil
	}
	if t == nil {
		return
	}
	news := false
	for _, step := range ev.Steps {
		news = t.add(v.stepUpdate(step)) || news
	}
	if news {
		t.sendContent(t.content(below...)...)
	}
}

// stepUpdate converts a step to the form of droid 0.99.
func (v *View) stepUpdate(step quirks.Step) stream.ProgressUpdate {
	switch {
	case step.Failed != nil:
		return stream.ProgressUpdate{Type: "tool_result", ToolName: step.Tool, Status: "error", Details: asJSON(ResultText(step.Failed))}
	case step.Tool != "":
		return stream.ProgressUpdate{Type: "tool_call", ToolName: step.Tool, Details: asJSON(stepTitle(step, v.cwd))}
	}
	return stream.ProgressUpdate{Type: "message", Text: step.Text}
}

// stepTitle returns what a subagent's call works on.
func stepTitle(step quirks.Step, cwd string) string {
	in := parseToolInput(step.Input)
	return cmp.Or(in.Command, titleObject(in, cwd))
}

func asJSON(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // strings always encode
	return raw
}

// subagentEnded shows the outcome of a background subagent.
func (v *View) subagentEnded(ev quirks.SubagentEnded) {
	t := v.backgroundTasks[ev.ToolID]
	if t == nil {
		return
	}
	delete(v.backgroundTasks, ev.ToolID)
	if ev.Gone {
		v.notice(subagentName(ev.Name) + " ended with droid's process, before it was done.")
	}
	below := textContent(ev.Answer)
	if len(below) == 0 || ev.Reason != stream.ReasonCompleted {
		below = append(textContent(SubagentOutcome(ev)), below...)
	}
	t.sendContent(t.content(below...)...)
}

// SubagentOutcome describes the outcome of a background subagent.
func SubagentOutcome(ev quirks.SubagentEnded) string {
	switch {
	case ev.Gone:
		return "The subagent worked in the background and ended with droid's process, before it was done."
	case ev.Reason == "":
		return "The subagent worked in the background. What became of it is not known."
	}
	return "The subagent worked in the background and " + outcomeText(ev.Reason) + "."
}

// subagentReports explains why droid starts a turn by itself.
func (v *View) subagentReports(ev quirks.SubagentReported) {
	v.notice(subagentName(ev.Name) + " " + outcomeText(ev.Reason) + ". droid goes on with that:")
}

// endsOfSubagents are droid's reasons in words.
var endsOfSubagents = map[string]string{
	stream.ReasonCompleted:          "is done",
	stream.ReasonCancelled:          "was stopped",
	stream.ReasonPermissionRejected: "ended, since you refused what it asked for",
	stream.ReasonProcessExit:        "ended with its process, before it was done",
}

func outcomeText(reason string) string {
	return cmp.Or(endsOfSubagents[reason], "ended ("+markdown.Escaped(visible.Line(cmp.Or(reason, "droid does not say how")))+")")
}

// maxSubagentName bounds the model's name for a subagent, in bytes.
const maxSubagentName = 80

// subagentName returns a subagent's name for the beginning of a sentence.
func subagentName(name string) string {
	if name = strings.TrimSpace(visible.Line(name)); name == "" {
		return "A subagent"
	}
	return "Subagent *" + markdown.Escaped(shorten(name, maxSubagentName)) + "*"
}

// subagentAsks returns a sentence naming the subagent that asks, "" if droid asks itself.
func subagentAsks(ev quirks.PermissionRequested) string {
	if ev.Subagent == "" {
		return ""
	}
	return subagentName(ev.Subagent) + " asks."
}
