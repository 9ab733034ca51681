package protocol

import "encoding/json"

// ActivityMethod is the method of a notification from an agent to the server that keeps it: a session begins to work, or rests.
// Only a server declares that it takes it, see DeclaredByServer; no client does.
const ActivityMethod = "_droid-acp/activity"

// ActivityParams are the params of ActivityMethod. A session works while a prompt or a steered message runs or waits, droid runs a turn of
// its own, a subagent or a background command, or a question is open.
type ActivityParams struct {
	SessionID string `json:"sessionId"`
	Working   bool   `json:"working"`
}

// SteeringMethod adds a message of the user's to the turn that runs, or begins one. ACP has no method for that; this is that of
// claude-agent-acp 0.100 and codex-acp 2.6.
const SteeringMethod = "_session/steering"

// DeclaredByServer are the clientCapabilities that a server declares to an agent that it keeps for a client with capabilities raw, which
// hears in prompts alone or not: the agent reports activity, and the session may have other clients, which do not wait for the prompts
// of this one. What a client with DropsOutside would drop the server itself keeps.
func DeclaredByServer(raw json.RawMessage, hearsInPrompts bool) json.RawMessage {
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
	caps["_meta"], _ = json.Marshal(meta)    // what was decoded encodes
	declared, _ := json.Marshal(caps)
	return declared
}
