package render

import (
	"encoding/json"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/visible"
)

// confirmSpec is the confirmation type of a plan to approve.
const confirmSpec = "exit_spec_mode"

// IsPlan reports whether a request is for the approval of a plan.
func IsPlan(ev quirks.PermissionRequested) bool { return all(ev.Tools, confirmSpec) }

// planView is the view of an ExitSpecMode call.
type planView struct {
	*shownCall
	text   string // as proposed or edited
	edited bool   // by the user, in this client
}

func newPlan(c *shownCall) toolView { return &planView{shownCall: c} }

// planTitle returns the title of a plan to approve.
func planTitle(in toolInput) string { return strings.TrimSuffix("Approve plan: "+in.Title, ": ") }

// describe removes the plan from the raw input, which clients show verbatim: it is in the content.
func (p *planView) describe(_ string, input json.RawMessage, shown *protocol.ToolCall) {
	if !p.edited {
		p.text = ParsePlan(input)
	}
	fields := protocol.Fields(input)
	delete(fields, "plan")
	shown.RawInput, _ = json.Marshal(fields) // decoded JSON always encodes
	shown.RawInput = boundedInput(shown.RawInput)
}

// asked records the plan of the permission request.
func (p *planView) asked(tool stream.PermissionToolUse, _ []fileChange) (keep bool) {
	if tool.Confirmation == confirmSpec {
		p.text = askedPlan(tool)
	}
	return false
}

// PlanEdited replaces the model's plan by the user's edited one.
func (v *View) PlanEdited(toolID, text string) []Output {
	view := v.call(toolID)
	if p, ok := view.(*planView); ok {
		p.text, p.edited = text, true
	}
	view.base().sendContent(protocol.TextContent(text))
	return v.take()
}

// ParsePlan returns the plan in the input of an ExitSpecMode, or "".
func ParsePlan(input json.RawMessage) string {
	var plan string
	_ = json.Unmarshal(protocol.Fields(input)["plan"], &plan) // the model may have sent anything
	return plan
}

// PlanResult is the outcome of a plan: droid returns an object once it is approved (0.99 to 0.225).
type PlanResult struct {
	Approved bool   `json:"approved"`
	Edited   bool   `json:"isEdited"` // by the user; the approved text is in File
	File     string `json:"filePath"` // where the plan was saved, or ""
	Message  string `json:"message"`
}

// ParsePlanResult parses the result of an ExitSpecMode.
func ParsePlanResult(content json.RawMessage) (end PlanResult) {
	if json.Unmarshal([]byte(ResultText(content)), &end) != nil {
		return PlanResult{} // a refusal in words
	}
	return end
}

// ended shows the plan and its outcome.
func (p *planView) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	if ev.Unfinished {
		update.Content = textContent(p.text)
		return
	}
	result := ParsePlanResult(ev.Content)
	if !result.Approved || result.Message == "" {
		update.Content = append(textContent(p.text), ResultContent(ev.Content)...)
		return
	}
	message := result.Message
	if result.File != "" && !strings.Contains(message, result.File) { // 0.99 includes it
		message += "\nThe plan is saved in " + result.File
	}
	past := result.Edited && !p.edited // droid stores the edited plan only in the file
	shown := !past && p.v.showApproved(p.text)
	switch {
	case p.text != "" && strings.Contains(message, strings.TrimSpace(p.text)): // 0.99
	case past:
		update.Content = append([]protocol.ToolContent{protocol.TextContent("You edited this plan before you approved it; what was approved is in the file named below. It was proposed as:")},
			textContent(p.text)...)
	case shown: // no need to repeat it in the call
	default:
		update.Content = textContent(p.text)
	}
	update.Content = append(update.Content, protocol.TextContent(message))
}

// IDs of the plans of a session for clients that declare "plan": the task list, and the last approved plan.
const (
	planTasks    = "tasks"
	planApproved = "approved"
)

// showTasks shows the task list.
func (v *View) showTasks(entries []protocol.PlanEntry) {
	if v.client.Plans {
		v.send(protocol.NamedPlanUpdate{SessionUpdate: "plan_update", Plan: protocol.PlanItems{Type: "items", PlanID: planTasks, Entries: entries}})
		return
	}
	v.send(protocol.PlanUpdate{SessionUpdate: "plan", Entries: entries})
}

// showApproved shows an approved plan outside the conversation. It returns false if the plan is empty or the client does not declare
// "plan".
func (v *View) showApproved(text string) bool {
	text = visible.Text(text)
	if !v.client.Plans || strings.TrimSpace(text) == "" {
		return false
	}
	v.send(protocol.NamedPlanUpdate{SessionUpdate: "plan_update", Plan: protocol.PlanMarkdown{Type: "markdown", PlanID: planApproved, Content: text}})
	return true
}
