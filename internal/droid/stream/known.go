package stream

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/text/rawjson"
)

// requestFields are the fields of droid's requests and of what a permission is about, as those of kinds.
var requestFields = map[string][]string{
	"request_permission": {"associatedSessionIds", "options", "toolUses"},
	"ask_user":           {"associatedSessionIds", "questions", "toolCallId"},
	"permission_tool":    {"confirmationType", "details", "toolUse"},
}

// confirmations are the kinds of permission that droid asks for: those that were recorded, and those whose fields its schema describes
// (0.225.2).
var confirmations = map[string]bool{
	"exec": true, "create": true, "edit": true, "apply_patch": true, "mcp_tool": true, "exit_spec_mode": true, "sandbox_violation": true,
	"droid_shield_violation": true, "propose_mission": true, "start_mission_run": true, "recommend_mission": true, "exit_mission_planning": true,
}

// KnowsConfirmation reports whether a permission of this kind is known (see PermissionToolUse).
func KnowsConfirmation(kind string) bool { return confirmations[kind] }

// addUnknown records something that is in no table.
func (l *Line) addUnknown(what string) { l.UnknownFields = append(l.UnknownFields, what) }

// addUnknownFields records an unknown kind, otherwise the fields of body that this kind does not have.
func (l *Line) addUnknownFields(kind string, body []byte) {
	n, known := kinds[kind]
	if !known {
		l.addUnknown("event " + kind)
		return
	}
	l.addUnknownBeside(n.fields, kind, body)
}

// addUnknownBeside records the fields of body that are not among the known ones.
func (l *Line) addUnknownBeside(known []string, kind string, body []byte) {
	for name := range rawjson.Fields(body) {
		if field := string(name); field != "type" && !slices.Contains(known, field) {
			l.addUnknown("field " + field + " of " + kind)
		}
	}
}

// addUnknownInRequest does the same for a request of droid.
func (l *Line) addUnknownInRequest(kind string, params []byte) {
	l.addUnknownBeside(requestFields[kind], kind, params)
	var p struct {
		ToolUses []json.RawMessage `json:"toolUses"`
	}
	if kind != "request_permission" || json.Unmarshal(params, &p) != nil {
		return
	}
	for _, use := range p.ToolUses {
		var of struct {
			Kind string `json:"confirmationType"`
		}
		_ = json.Unmarshal(use, &of) // an invalid value is refused elsewhere
		if !KnowsConfirmation(of.Kind) {
			l.addUnknown("permission " + of.Kind)
		}
		l.addUnknownBeside(requestFields["permission_tool"], "permission_tool", use)
	}
}
