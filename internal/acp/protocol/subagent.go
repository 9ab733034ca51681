package protocol

import "cmp"

// Subagents as sessions (ACP schema 1.34, stable since 20 November 2026), for clients that declare the capability subagents.

// SubagentForm is the form in which a client takes subagents as sessions.
type SubagentForm string

const (
	// SubagentSessions is subagent_update, with session_message.
	SubagentSessions SubagentForm = "subagents"
	// AirSubagents is an earlier draft, subagent_spawned and subagent_state_update, which Air takes whichever capability it declares
	// (claude-agent-acp 0.101.0).
	AirSubagents SubagentForm = "air"
)

// subagentForm returns the form for what a client declares, "" for none.
func subagentForm(declared, air, airDeclared bool) SubagentForm {
	switch {
	case air && (declared || airDeclared):
		return AirSubagents
	case declared:
		return SubagentSessions
	}
	return ""
}

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

// SessionMessage is session_message: a message from another session.
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

// AirSubagentUpdate is subagent_spawned or subagent_state_update.
type AirSubagentUpdate struct {
	SessionUpdate string    `json:"sessionUpdate"`
	SessionID     string    `json:"subagentSessionId"`
	Name          Line      `json:"name,omitzero"`
	Task          *Line     `json:"task,omitempty"`
	Prompt        Text      `json:"prompt,omitzero"`
	Capabilities  *struct{} `json:"capabilities,omitempty"` // none: the client may neither cancel nor close it
	State         string    `json:"state,omitempty"`        // completed, failed, cancelled or disconnected
}

func (u AirSubagentUpdate) UpdateKind() string { return u.SessionUpdate }

// AirSpawned returns the AirSubagentUpdate that announces a subagent, whose prompt is "" if it is not known.
func (u SubagentUpdate) AirSpawned(prompt string) AirSubagentUpdate {
	return AirSubagentUpdate{SessionUpdate: "subagent_spawned", SessionID: u.SessionID, Name: u.Title, Task: &u.Description, Prompt: Text(prompt), Capabilities: &struct{}{}}
}

// AirState returns the AirSubagentUpdate for the end of a subagent's work, nil for a state that Air does not know.
func (u SubagentUpdate) AirState() Update {
	if u.State == nil || u.State.State != SubagentIdle {
		return nil
	}
	state := map[string]string{"end_turn": "completed", "cancelled": "cancelled", "": "disconnected"}[u.State.StopReason]
	return AirSubagentUpdate{SessionUpdate: "subagent_state_update", SessionID: u.SessionID, State: cmp.Or(state, "failed")}
}
