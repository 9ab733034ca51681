package show

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

// plan is the view of an ExitSpecMode call.
type plan struct {
	*shownCall
	text   string // the plan, as proposed or as edited
	edited bool   // by the user, here
}

func newPlan(c *shownCall) toolView { return &plan{shownCall: c} }

// planTitle says that there is a plan to approve.
func planTitle(in toolInput) string { return strings.TrimSuffix("Approve plan: "+in.Title, ": ") }

// describe leaves the plan out of the input, which clients show as it is: the content has it.
func (p *plan) describe(_ string, input json.RawMessage, shown *protocol.ToolCall) {
	if !p.edited {
		p.text = Plan(input)
	}
	fields := protocol.Fields(input)
	delete(fields, "plan")
	shown.RawInput, _ = json.Marshal(fields) // fields of JSON always encode
	shown.RawInput = boundedInput(shown.RawInput)
}

// asked takes the plan that the user is asked about.
func (p *plan) asked(tool stream.PermissionToolUse, _ []change) (keep bool) {
	if tool.Confirmation == confirmSpec {
		p.text = askedPlan(tool)
	}
	return false
}

// PlanEdited shows the plan as the user has edited it, in place of the one that the
// model wrote.
func (v *View) PlanEdited(toolID, text string) []Output {
	view := v.call(toolID)
	if p, ok := view.(*plan); ok {
		p.text, p.edited = text, true
	}
	view.base().sendContent(protocol.TextContent(text))
	return v.take()
}

// Plan is the plan in the input of an ExitSpecMode, "" when it is not there.
func Plan(input json.RawMessage) string {
	var plan string
	_ = json.Unmarshal(protocol.Fields(input)["plan"], &plan) // the model's: may be anything
	return plan
}

// PlanEnd is what became of a plan that was to be approved: droid gives an object once it
// is (0.99 to 0.225).
type PlanEnd struct {
	Approved bool   `json:"approved"`
	Edited   bool   `json:"isEdited"` // by the user, and what was approved is in File
	File     string `json:"filePath"` // that the plan was saved in, "" for none
	Message  string `json:"message"`
}

// EndOfPlan reads the result of an ExitSpecMode.
func EndOfPlan(content json.RawMessage) (end PlanEnd) {
	if json.Unmarshal([]byte(ResultText(content)), &end) != nil {
		return PlanEnd{} // the words of a refusal
	}
	return end
}

// ended shows the plan and what became of it.
func (p *plan) ended(ev quirks.ToolEnded, update *protocol.ToolCall) {
	if ev.Unfinished {
		update.Content = textContent(p.text)
		return
	}
	result := EndOfPlan(ev.Content)
	if !result.Approved || result.Message == "" {
		update.Content = append(textContent(p.text), ResultContent(ev.Content)...)
		return
	}
	message := result.Message
	if result.File != "" && !strings.Contains(message, result.File) { // 0.99 says it already
		message += "\nThe plan is saved in " + result.File
	}
	past := result.Edited && !p.edited // droid keeps the edited plan in the file alone
	shown := !past && p.v.showApproved(p.text)
	switch {
	case p.text != "" && strings.Contains(message, strings.TrimSpace(p.text)): // 0.99
	case past:
		update.Content = append([]protocol.ToolContent{protocol.TextContent("You edited this plan before you approved it; what was approved is in the file named below. It was proposed as:")},
			textContent(p.text)...)
	case shown: // the entry of the call need not repeat it
	default:
		update.Content = textContent(p.text)
	}
	update.Content = append(update.Content, protocol.TextContent(message))
}

// The plans of a session, by which a client that declares "plan" tells them apart: the
// list of tasks, and the plan that was approved last.
const (
	planTasks    = "tasks"
	planApproved = "approved"
)

// showTasks shows the list of tasks.
func (v *View) showTasks(entries []protocol.PlanEntry) {
	if v.client.Plans {
		v.send(protocol.NamedPlanUpdate{SessionUpdate: "plan_update", Plan: protocol.PlanItems{Type: "items", PlanID: planTasks, Entries: entries}})
		return
	}
	v.send(protocol.PlanUpdate{SessionUpdate: "plan", Entries: entries})
}

// showApproved shows a plan that was approved beside the conversation. It reports false
// where there is none, or where the client does not show plans there.
func (v *View) showApproved(text string) bool {
	text = visible.Text(text)
	if !v.client.Plans || strings.TrimSpace(text) == "" {
		return false
	}
	v.send(protocol.NamedPlanUpdate{SessionUpdate: "plan_update", Plan: protocol.PlanMarkdown{Type: "markdown", PlanID: planApproved, Content: text}})
	return true
}
