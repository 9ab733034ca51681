package protocol

import "encoding/json"

// ActivityMethod is the method of a notification by which an agent reports to the server that keeps it whether a session is working. Only a
// server declares support for it, see ServerCapabilities.
const ActivityMethod = "_droid-acp/activity"

// ActivityParams are the params of ActivityMethod. A session is working while a prompt or a steering message runs or waits, droid runs a
// turn that no prompt started, a subagent or a background command runs, or a question is open.
type ActivityParams struct {
	SessionID string `json:"sessionId"`
	Working   bool   `json:"working"`
}

// SteeringMethod adds a user message to the running turn, or starts one. ACP has no method for that; this is the one of claude-agent-acp
// 0.100 and codex-acp 2.6.
const SteeringMethod = "_session/steering"

// ServerCapabilities returns the clientCapabilities that a server declares to its agent on behalf of a client with the capabilities raw: the
// agent reports activity and, if hearsInPrompts, the session may have other clients, whose updates do not wait for this client's prompts.
// The server itself retains what a client with IgnoresUpdatesOutsidePrompt would drop.
func ServerCapabilities(raw json.RawMessage, hearsInPrompts bool) json.RawMessage {
	caps := Fields(raw)
	if caps == nil {
		caps = map[string]json.RawMessage{}
	}
	meta := Fields(caps["_meta"])
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	own := map[string]bool{"activity": true}
	if hearsInPrompts {
		own["shared"] = true
	}
	meta["droid-acp"], _ = json.Marshal(own) // booleans encode
	caps["_meta"], _ = json.Marshal(meta)    // decoded JSON encodes
	declared, _ := json.Marshal(caps)
	return declared
}
