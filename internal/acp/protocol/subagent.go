package protocol

// Subagents as sessions (ACP schema 1.34, stable since 20 November 2026), for clients that declare the capability subagents.

// SubagentUpdate is subagent_update: it announces a session that works for the one that it is sent for, or changes what was said of it.
// Without capabilities the client may not cancel it.
type SubagentUpdate struct {
	SessionUpdate string         `json:"sessionUpdate"`
	SessionID     string         `json:"sessionId"` // of the subagent
	Title         Line           `json:"title,omitzero"`
	Description   Line           `json:"description,omitzero"`
	State         *SubagentState `json:"state,omitempty"`
}

func (u SubagentUpdate) UpdateKind() string { return u.SessionUpdate }

// States of a subagent.
const (
	SubagentRunning        = "running"
	SubagentRequiresAction = "requires_action"
	SubagentIdle           = "idle"
)

// SubagentState is the state of a subagent. StopReason says how its last turn ended, "" if that is not known.
type SubagentState struct {
	State      string `json:"state"`
	StopReason string `json:"stopReason,omitempty"`
}

// SubagentIn returns the update for a state.
func SubagentIn(session, state, stopReason string) SubagentUpdate {
	return SubagentUpdate{SessionUpdate: "subagent_update", SessionID: session, State: &SubagentState{state, stopReason}}
}

// SessionMessage is session_message: what another session has told this one.
type SessionMessage struct {
	SessionUpdate   string    `json:"sessionUpdate"`
	MessageID       string    `json:"messageId"`
	SenderSessionID string    `json:"senderSessionId"`
	Content         []Content `json:"content"`
}

func (u SessionMessage) UpdateKind() string { return u.SessionUpdate }

// MessageFrom returns a SessionMessage with a text.
func MessageFrom(sender, id, text string) SessionMessage {
	return SessionMessage{"session_message", id, sender, []Content{*TextContent(text).Content}}
}
