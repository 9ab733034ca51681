package stream

// kinds are droid's notifications by name, each with the event that it becomes, and its fields: all that the recorded droids sent, or have in
// their schemas (0.99.0 to 0.225.2); tests in internal/testing/droids check that. Any other notification is Unknown. Each is handled by a
// case in three places: quirks.Normalizer.Handle turns it into normalized events, render.View shows those (View.show), and session.Session
// does the rest (Session.applyEvent). docs/dev/protocol.md describes their content. TestEventsHaveTheirPlaces in internal/testing/archtest
// names what a row lacks.
var kinds = map[string]notificationKind{
	// A turn, from droid's first step to its end.
	"droid_working_state_changed": over(WorkingStateChanged{}, "newState"),
	"agent_turn_completed":        over(TurnCompleted{}, "childTokenUsage", "cumulativeChildTokenUsage", "cumulativeTokenUsage", "durationMs", "reason", "tokenUsage", "turnId"),
	"structured_output":           over(StructuredOutput{}, "messageId", "structuredOutput"),
	"error":                       over(Failure{}, "error", "errorType", "exitCode", "message", "timestamp"),
	"llm_retry":                   over(LLMRetry{}, "attempt", "reason"),
	"queued_messages_discarded":   over(QueuedMessagesDiscarded{}, "requestId", "text"),

	// Text while it is generated, and the complete message.
	"assistant_text_delta":        over(TextDelta{}, "blockIndex", "messageId", "textDelta"),
	"thinking_text_delta":         over(TextDelta{Thinking: true}, "blockIndex", "messageId", "textDelta"),
	"assistant_text_complete":     over(TextComplete{}, "blockIndex", "messageId"),
	"thinking_text_complete":      over(TextComplete{Thinking: true}, "blockIndex", "durationMs", "messageId"),
	"create_message":              over(MessageCreated{}, "message", "parentId", "requestId"),
	"assistant_message_retracted": over(MessageRetracted{}, "messageId"),

	// Tool calls. Questions to the user about them are requests of droid (PermissionRequest, QuestionRequest).
	"tool_call":                    over(ToolCall{}, "toolUse"),
	"tool_execution_phase_changed": over(ToolPhaseChanged{}, "phase", "toolName", "toolUseId"),
	"tool_progress_update":         over(ToolProgress{}, "toolName", "toolUseId", "update"),
	"tool_result":                  over(ToolResult{}, "content", "isError", "messageId", "toolUseId"),
	"permission_resolved":          over(PermissionResolved{}, "requestId", "selectedOption", "toolUseIds"),
	"child_session_available":      over(ChildSessionAvailable{}, "childSessionId", "description", "subagentType", "timestamp", "toolUseId"),

	// The session.
	"settings_updated":            over(SettingsUpdated{}, "requestId", "settings"),
	"session_title_updated":       over(TitleUpdated{}, "requestId", "title", "updateType"),
	"session_token_usage_changed": over(TokenUsageChanged{}, "inclusiveTokenUsage", "lastCallTokenUsage", "sessionId", "tokenUsage"),
	"session_compacted":           over(SessionCompacted{}, "removedCount", "summaryId", "visibleBoundaryMessageId"),

	// Other things that droid runs: MCP servers and hooks.
	"mcp_status_changed":       over(MCPStatusChanged{}, "servers", "summary"),
	"mcp_auth_required":        over(MCPAuthRequired{}, "authUrl", "message", "serverName", "state"),
	"mcp_auth_completed":       over(MCPAuthCompleted{}, "message", "outcome", "serverName"),
	"hook_execution_started":   over(HookStarted{}, "hiddenFromUserViews", "hookCommands", "hookEventName", "hookId", "hookMatcher", "hookOrder", "hookParentId", "hookToolCallId", "isParallelExecution", "parallelGroupId"),
	"hook_execution_completed": over(HookCompleted{}, "hiddenFromUserViews", "hookEventName", "hookId", "hookMatcher", "hookOrder", "hookParentId", "hookPreventedAction", "hookResults", "hookStatus", "hookToolCallId"),
}

// notificationKind describes one kind of notification.
type notificationKind struct {
	decode func(kind string, body []byte) Event
	fields []string // that are known, beside its type; some are not read
}

// over returns a notification with these fields, which is decoded into a copy of e.
func over[E Event](e E, fields ...string) notificationKind {
	return notificationKind{fields: fields, decode: func(kind string, body []byte) Event {
		e := e
		return decodeInto(kind, body, &e)
	}}
}

// Kind implements Event, as do all methods below.
func (d TextDelta) Kind() string {
	if d.Thinking {
		return "thinking_text_delta"
	}
	return "assistant_text_delta"
}

func (c TextComplete) Kind() string {
	if c.Thinking {
		return "thinking_text_complete"
	}
	return "assistant_text_complete"
}

func (WorkingStateChanged) Kind() string     { return "droid_working_state_changed" }
func (MessageCreated) Kind() string          { return "create_message" }
func (ToolCall) Kind() string                { return "tool_call" }
func (ToolPhaseChanged) Kind() string        { return "tool_execution_phase_changed" }
func (ToolProgress) Kind() string            { return "tool_progress_update" }
func (ToolResult) Kind() string              { return "tool_result" }
func (PermissionResolved) Kind() string      { return "permission_resolved" }
func (ChildSessionAvailable) Kind() string   { return "child_session_available" }
func (SettingsUpdated) Kind() string         { return "settings_updated" }
func (TitleUpdated) Kind() string            { return "session_title_updated" }
func (TokenUsageChanged) Kind() string       { return "session_token_usage_changed" }
func (TurnCompleted) Kind() string           { return "agent_turn_completed" }
func (StructuredOutput) Kind() string        { return "structured_output" }
func (LLMRetry) Kind() string                { return "llm_retry" }
func (MessageRetracted) Kind() string        { return "assistant_message_retracted" }
func (QueuedMessagesDiscarded) Kind() string { return "queued_messages_discarded" }
func (SessionCompacted) Kind() string        { return "session_compacted" }
func (MCPStatusChanged) Kind() string        { return "mcp_status_changed" }
func (MCPAuthCompleted) Kind() string        { return "mcp_auth_completed" }
func (MCPAuthRequired) Kind() string         { return "mcp_auth_required" }
func (HookStarted) Kind() string             { return "hook_execution_started" }
func (HookCompleted) Kind() string           { return "hook_execution_completed" }
func (Failure) Kind() string                 { return "error" }

func (PermissionRequest) Kind() string { return "request_permission" }
func (QuestionRequest) Kind() string   { return "ask_user" }

func (u Unknown) Kind() string       { return u.Type }
func (Lost) Kind() string            { return "lost" }
func (LateError) Kind() string       { return "late_error" }
func (LateResult) Kind() string      { return "late_result" }
func (SessionSwitched) Kind() string { return "session_switched" }
