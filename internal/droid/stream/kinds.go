package stream

// kinds are droid's notifications by name, each with its decoder; any other is Unknown. Each is handled by a case in three places:
// quirks.Normalizer.Handle turns it into normalized events, render.View shows those (View.show), and session.Session does the rest
// (Session.applyEvent). docs/dev/protocol.md describes their content.
// TestEventsHaveTheirPlaces in internal/testing/archtest names what a row lacks.
var kinds = map[string]func(kind string, body []byte) Event{
	// A turn, from droid's first step to its end.
	"droid_working_state_changed": over(WorkingStateChanged{}),
	"agent_turn_completed":        over(TurnCompleted{}),
	"structured_output":           over(StructuredOutput{}),
	"error":                       over(Failure{}),
	"llm_retry":                   over(LLMRetry{}),
	"queued_messages_discarded":   over(QueuedMessagesDiscarded{}),

	// Text while it is generated, and the complete message.
	"assistant_text_delta":        over(TextDelta{}),
	"thinking_text_delta":         over(TextDelta{Thinking: true}),
	"assistant_text_complete":     over(TextComplete{}),
	"thinking_text_complete":      over(TextComplete{Thinking: true}),
	"create_message":              over(MessageCreated{}),
	"assistant_message_retracted": over(MessageRetracted{}),

	// Tool calls. Questions to the user about them are requests of droid (PermissionRequest, QuestionRequest).
	"tool_call":                    over(ToolCall{}),
	"tool_execution_phase_changed": over(ToolPhaseChanged{}),
	"tool_progress_update":         over(ToolProgress{}),
	"tool_result":                  over(ToolResult{}),
	"permission_resolved":          over(PermissionResolved{}),
	"child_session_available":      over(ChildSessionAvailable{}),

	// The session.
	"settings_updated":            over(SettingsUpdated{}),
	"session_title_updated":       over(TitleUpdated{}),
	"session_token_usage_changed": over(TokenUsageChanged{}),
	"session_compacted":           over(SessionCompacted{}),

	// Other things that droid runs: MCP servers and hooks.
	"mcp_status_changed":       over(MCPStatusChanged{}),
	"mcp_auth_required":        over(MCPAuthRequired{}),
	"mcp_auth_completed":       over(MCPAuthCompleted{}),
	"hook_execution_started":   over(HookStarted{}),
	"hook_execution_completed": over(HookCompleted{}),
}

// over returns a decoder of a notification into a copy of e.
func over[E Event](e E) func(kind string, body []byte) Event {
	return func(kind string, body []byte) Event {
		e := e
		return decodeInto(kind, body, &e)
	}
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
