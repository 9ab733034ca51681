// Package protocol defines the JSON types of ACP that are sent often or that the SDK's types cannot express: those encode through two maps,
// turn numbers of raw input into floats and drop empty lists. It also parses what a client declares
// (ClientCapabilities) and holds the table of known clients. adapter, show and serve use it.
package protocol

// SessionNotification is the params of session/update (ACP v1).
type SessionNotification struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
}

// Update is the content of a session/update.
type Update interface {
	UpdateKind() string // the value of sessionUpdate, such as "agent_message_chunk"
}

// Implementations of Update.

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

// CommandInput describes the argument of a command.
type CommandInput struct {
	Hint Line `json:"hint"`
}

// AvailableCommandsUpdate is available_commands_update (ACP v1).
type AvailableCommandsUpdate struct {
	SessionUpdate     string             `json:"sessionUpdate"`
	AvailableCommands []AvailableCommand `json:"availableCommands"`
}

// UsageUpdate is usage_update (ACP v1), in tokens.
type UsageUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Used          int64  `json:"used"`
	Size          int64  `json:"size"`
}

// CompactionUpdate is compaction_update (ACP v1, for clients that declare session.compaction). Fields omitted in a later one stay
// unchanged.
type CompactionUpdate struct {
	SessionUpdate string    `json:"sessionUpdate"`
	CompactionID  string    `json:"compactionId"`
	Status        string    `json:"status"`
	Summary       []Content `json:"summary,omitempty"` // the summary that replaces the conversation
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

// PlanUpdate is ACP's plan. It always contains the whole list.
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

// NamedPlanUpdate is plan_update (unstable in ACP), which replaces plan for clients that declare the capability "plan". Plan is a PlanItems
// or a PlanMarkdown.
type NamedPlanUpdate struct {
	SessionUpdate string `json:"sessionUpdate"`
	Plan          any    `json:"plan"`
}

// PlanItems is a plan as a list, always the whole of it.
type PlanItems struct {
	Type    string      `json:"type"` // items
	PlanID  string      `json:"planId"`
	Entries []PlanEntry `json:"entries"`
}

// PlanMarkdown is a plan as Markdown text.
type PlanMarkdown struct {
	Type    string `json:"type"` // markdown
	PlanID  string `json:"planId"`
	Content string `json:"content"`
}
