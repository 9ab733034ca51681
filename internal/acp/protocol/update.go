// Package protocol has the JSON shapes of ACP that the adapter sends often, or that
// the SDK's types cannot express: those encode through two maps, turn numbers of raw
// input into floats and drop empty lists (field notes acp.md, defects 7 to 10). It
// also reads what a client declares. It knows nothing of sessions, of droid or of the
// way to the editor.
package protocol

// SessionNotification is the params of session/update (ACP v1).
type SessionNotification struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
}

// Update is what one session/update tells.
type Update interface {
	UpdateKind() string // its sessionUpdate, "agent_message_chunk" for example
}

// Each of these is an Update.

func (c ToolCall) UpdateKind() string                { return c.SessionUpdate }
func (u PlanUpdate) UpdateKind() string              { return u.SessionUpdate }
func (u NamedPlanUpdate) UpdateKind() string         { return u.SessionUpdate }
func (u CompactionUpdate) UpdateKind() string        { return u.SessionUpdate }
func (u NoticeUpdate) UpdateKind() string            { return u.SessionUpdate }
func (u UserMessageChunk) UpdateKind() string        { return u.SessionUpdate }
func (u CurrentModeUpdate) UpdateKind() string       { return u.SessionUpdate }
func (u ConfigOptionUpdate) UpdateKind() string      { return u.SessionUpdate }
func (u AvailableCommandsUpdate) UpdateKind() string { return u.SessionUpdate }
func (u UsageUpdate) UpdateKind() string             { return u.SessionUpdate }
func (u SessionInfoUpdate) UpdateKind() string       { return u.SessionUpdate }

// CurrentModeUpdate is current_mode_update.
type CurrentModeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	CurrentModeID string `json:"currentModeId"`
}

// SessionInfoUpdate is session_info_update.
type SessionInfoUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Title         Line   `json:"title"`
}

// AvailableCommand is one entry of available_commands_update (ACP v1).
type AvailableCommand struct {
	Name        Line          `json:"name"`
	Description Line          `json:"description"`
	Input       *CommandInput `json:"input,omitempty"`
}

// CommandInput is what a command takes, as a hint.
type CommandInput struct {
	Hint Line `json:"hint"`
}

// AvailableCommandsUpdate is available_commands_update (ACP v1).
type AvailableCommandsUpdate struct {
	SessionUpdate     string             `json:"sessionUpdate"`
	AvailableCommands []AvailableCommand `json:"availableCommands"`
}

// UsageUpdate is usage_update (ACP v1). Tokens.
type UsageUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Used          int64  `json:"used"`
	Size          int64  `json:"size"`
}

// CompactionUpdate is compaction_update (ACP v1, for clients that declare
// session.compaction). What is left out of a later one stays as it is.
type CompactionUpdate struct {
	SessionUpdate string    `json:"sessionUpdate"`
	CompactionID  string    `json:"compactionId"`
	Status        string    `json:"status"`
	Summary       []Content `json:"summary,omitempty"` // what the conversation became, for the user to read
	Error         Text      `json:"error,omitzero"`
}

// NoticeUpdate is notice (ACP v1, for clients that declare session.notices).
type NoticeUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Severity      string `json:"severity"`
	Title         Line   `json:"title"`
	Description   Text   `json:"description,omitzero"`
}

// UserMessageChunk is a user_message_chunk.
type UserMessageChunk struct {
	SessionUpdate string  `json:"sessionUpdate"`
	MessageID     string  `json:"messageId,omitempty"`
	Content       Content `json:"content"`
}

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
