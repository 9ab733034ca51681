package protocol

import "encoding/json"

// AuthMethod is a way to log in (ACP v1, authentication methods; schema 2.4.0). One of
// type "terminal" is only for clients that declare auth.terminal.
type AuthMethod struct {
	Type        string         `json:"type,omitempty"` // "" is "agent"
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Args        []string       `json:"args,omitempty"` // of a terminal method: behind those of the agent
	Meta        map[string]any `json:"_meta,omitempty"`
}

// LoginElicitation is the params of elicitation/create with mode "url" that belongs to
// an authenticate request (ACP v1, request scope).
type LoginElicitation struct {
	RequestID     json.RawMessage `json:"requestId"`
	Mode          string          `json:"mode"`
	ElicitationID string          `json:"elicitationId"`
	URL           string          `json:"url"`
	Message       Text            `json:"message"`
}

// AuthStatusUpdate is the notification by which the adapters of other agents tell as
// whom they work (claude-agent-acp 0.100.0; no part of ACP). An agent that sends it has
// "authStatus" in the _meta of its capabilities.
const AuthStatusUpdate = "_auth/status_update"

// AuthStatusParams is the params of AuthStatusUpdate.
type AuthStatusParams struct {
	AuthStatus AuthStatus `json:"authStatus"`
}

// AuthStatus is as whom the agent works. Its kinds: "none", "account", "api_key",
// "gateway", and "external" for credentials that live outside of the agent.
type AuthStatus struct {
	Kind   string `json:"kind"`
	Label  Line   `json:"label"`
	Detail Line   `json:"detail,omitzero"`
}
