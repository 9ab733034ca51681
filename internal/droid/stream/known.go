package stream

import (
	"encoding/json"
	"strings"
	"sync"

	"droid-acp/internal/text/rawjson"
)

// knownFields are the fields of notifications, requests and permission details, by their kind: all that the recorded droids sent, or have
// in their schemas (0.99.0 to 0.225.2). Tests in internal/testing/droids check it against both.
var knownFields = sync.OnceValue(func() map[string]map[string]bool {
	fields := map[string]map[string]bool{}
	for line := range strings.Lines(`
agent_turn_completed childTokenUsage cumulativeChildTokenUsage cumulativeTokenUsage durationMs reason tokenUsage turnId
assistant_message_retracted messageId
assistant_text_complete blockIndex messageId
assistant_text_delta blockIndex messageId textDelta
child_session_available childSessionId description subagentType timestamp toolUseId
create_message message parentId requestId
droid_working_state_changed newState
error error errorType exitCode message timestamp
hook_execution_completed hiddenFromUserViews hookEventName hookId hookMatcher hookOrder hookParentId hookPreventedAction hookResults hookStatus hookToolCallId
hook_execution_started hiddenFromUserViews hookCommands hookEventName hookId hookMatcher hookOrder hookParentId hookToolCallId isParallelExecution parallelGroupId
llm_retry attempt reason
mcp_auth_completed message outcome serverName
mcp_auth_required authUrl message serverName state
mcp_status_changed servers summary
permission_resolved requestId selectedOption toolUseIds
queued_messages_discarded requestId text
session_compacted removedCount summaryId visibleBoundaryMessageId
session_title_updated requestId title updateType
session_token_usage_changed inclusiveTokenUsage lastCallTokenUsage sessionId tokenUsage
settings_updated requestId settings
structured_output messageId structuredOutput
thinking_text_complete blockIndex durationMs messageId
thinking_text_delta blockIndex messageId textDelta
tool_call toolUse
tool_execution_phase_changed phase toolName toolUseId
tool_progress_update toolName toolUseId update
tool_result content isError messageId toolUseId
request_permission associatedSessionIds options toolUses
ask_user associatedSessionIds questions toolCallId
permission_tool confirmationType details toolUse
`) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		of := map[string]bool{"type": true}
		for _, field := range words[1:] {
			of[field] = true
		}
		fields[words[0]] = of
	}
	return fields
})

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
	if kinds[kind] == nil {
		l.addUnknown("event " + kind)
		return
	}
	l.fieldsOf(kind, body)
}

func (l *Line) fieldsOf(kind string, body []byte) {
	fields := knownFields()[kind]
	for name := range rawjson.Fields(body) {
		if !fields[string(name)] {
			l.addUnknown("field " + string(name) + " of " + kind)
		}
	}
}

// addUnknownInRequest does the same for a request of droid.
func (l *Line) addUnknownInRequest(kind string, params []byte) {
	l.fieldsOf(kind, params)
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
		l.fieldsOf("permission_tool", use)
	}
}
