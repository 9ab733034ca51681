package show

import (
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/visible"
)

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
