package protocol

// PlanUpdate is ACP's plan: always the whole list.
type PlanUpdate struct {
	SessionUpdate string      `json:"sessionUpdate"`
	Entries       []PlanEntry `json:"entries"`
}

// PlanEntry is one entry of a plan.
type PlanEntry struct {
	Content  Line   `json:"content"`
	Priority string `json:"priority"` // high, medium or low
	Status   string `json:"status"`   // pending, in_progress or completed
}

// NamedPlanUpdate is plan_update (unstable in ACP), for clients that declare the
// capability "plan": they are sent it in place of a plan. Plan is a PlanItems or a
// PlanMarkdown.
type NamedPlanUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Plan          any    `json:"plan"`
}

// PlanItems is a plan that is a list, always the whole of it.
type PlanItems struct {
	Type    string      `json:"type"` // items
	PlanID  string      `json:"planId"`
	Entries []PlanEntry `json:"entries"`
}

// PlanMarkdown is a plan in words.
type PlanMarkdown struct {
	Type    string `json:"type"` // markdown
	PlanID  string `json:"planId"`
	Content string `json:"content"`
}
