package stream

import "encoding/json"

// Event is an unsolicited message of droid: a session notification, or a request to its client. Events are delivered in the order in which
// droid wrote them. The concrete types are in event.go, ask.go, mcp.go and line_head.go.
type Event interface {
	// Kind is droid's own name of the event: the notification's type, or the request's method without the prefix "droid.". LateError,
	// LateResult and SessionSwitched have names of this program.
	Kind() string
}

// Working states that droid reports (0.57 to 0.225; "thinking" since 0.215).
const (
	StateIdle       = "idle"
	StateStreaming  = "streaming_assistant_message"
	StateThinking   = "thinking"
	StateExecuting  = "executing_tool"
	StateWaiting    = "waiting_for_tool_confirmation"
	StateCompacting = "compacting_conversation"
)

// Message roles and visibilities. An empty visibility means "both".
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleSystem    = "system"
	RoleTool      = "tool"

	VisibilityLLMOnly  = "llm_only"
	VisibilityUserOnly = "user_only"
	VisibilityBoth     = "both"
)

// WorkingStateChanged is droid_working_state_changed. Trace is the trace id of
// the line's W3C traceparent, "" when it has none: an idle has that of the first
// state of the turn that it ends (0.99.0, 0.225.2).
type WorkingStateChanged struct {
	State string `json:"newState"`
	Trace string `json:"-"`
}

// MessageCreated is create_message: the snapshot of one message. RequestID is
// the id of the add_user_message request that a user message echoes. Trace is
// the trace id of the message's turn, as in WorkingStateChanged.
type MessageCreated struct {
	Message   Message `json:"message"`
	RequestID string  `json:"requestId"`
	Trace     string  `json:"-"`
}

// Message is one entry of a conversation, in create_message and in the result of load_session.
type Message struct {
	ID         string         `json:"id"`
	Role       string         `json:"role"`
	Content    []ContentBlock `json:"content"`
	Visibility string         `json:"visibility"`
	ParentID   string         `json:"parentId"`
	// HookEvent is the event of a hook that ran, in a message that represents it. Such messages occur only in load_session (0.99 to 0.225;
	// before 0.215 only from the process that ran the hook).
	HookEvent string `json:"hookEventName"`
	// CreatedAt is the time of the message, in a loaded history (0.99 to 0.225).
	CreatedAt Millis `json:"createdAt"`
	// ModelID is the model that generated an answer, in a history that droid has read from its file (0.215, 0.225).
	ModelID LenientString `json:"modelId"`
}

// TextDelta is assistant_text_delta, or thinking_text_delta when Thinking.
type TextDelta struct {
	MessageID  string `json:"messageId"`
	BlockIndex int    `json:"blockIndex"`
	Text       string `json:"textDelta"`
	Thinking   bool   `json:"-"`
}

// TextComplete is assistant_text_complete, or thinking_text_complete when
// Thinking (since 0.215).
type TextComplete struct {
	MessageID  string `json:"messageId"`
	BlockIndex int    `json:"blockIndex"`
	Thinking   bool   `json:"-"`
}

// ToolUse is a tool call of the model. ID comes from the model and may repeat within a session; Input may be empty or partial in a
// ToolCall.
type ToolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ToolCall is tool_call. droid sends it 2 to 17 times for one call.
type ToolCall struct {
	ToolUse ToolUse `json:"toolUse"`
}

// ToolPhaseChanged is tool_execution_phase_changed: "queued" or "executing"
// (since 0.215).
type ToolPhaseChanged struct {
	ToolUseID string `json:"toolUseId"`
	ToolName  string `json:"toolName"`
	Phase     string `json:"phase"`
}

// ToolProgress is tool_progress_update.
type ToolProgress struct {
	ToolUseID string         `json:"toolUseId"`
	ToolName  string         `json:"toolName"`
	Update    ProgressUpdate `json:"update"`
}

// ProgressUpdate is a report of a running tool. For Execute, Text is the last two lines of output, and FullOutput (since 0.215) all of it
// up to 8 kB. Type is "status", "message", "tool_call" or "error".
type ProgressUpdate struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	FullOutput string          `json:"fullOutput"`
	TerminalID string          `json:"terminalId"`
	ToolName   string          `json:"toolName"` // of a subagent's tool
	Status     string          `json:"status"`   // of that tool: running, completed, error
	Details    json.RawMessage `json:"details"`
	Error      string          `json:"error"`
}

// ToolResult is tool_result. Content is a JSON string, or an array of content blocks (MCP images).
type ToolResult struct {
	ToolUseID string          `json:"toolUseId"`
	MessageID string          `json:"messageId"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"isError"`
}

// SettingsUpdated is settings_updated. Settings may be partial. RequestID is
// set since 0.215 when a request of ours caused it.
type SettingsUpdated struct {
	Settings  Settings `json:"settings"`
	RequestID string   `json:"requestId"`
}

// TitleUpdated is session_title_updated. UpdateType is "first_user_message" or
// "llm_generated" since 0.215.
type TitleUpdated struct {
	Title      string `json:"title"`
	UpdateType string `json:"updateType"`
	RequestID  string `json:"requestId"`
}

// TokenUsage counts tokens.
type TokenUsage struct {
	InputTokens         int64 `json:"inputTokens"`
	OutputTokens        int64 `json:"outputTokens"`
	CacheCreationTokens int64 `json:"cacheCreationTokens"`
	CacheReadTokens     int64 `json:"cacheReadTokens"`
	ThinkingTokens      int64 `json:"thinkingTokens"`
}

// TokenUsageChanged is session_token_usage_changed: the session's total and
// the last model call.
type TokenUsageChanged struct {
	TokenUsage         TokenUsage `json:"tokenUsage"`
	LastCallTokenUsage TokenUsage `json:"lastCallTokenUsage"`
}

// Reasons of TurnCompleted that are not failures (0.225). All others are: model_authentication_failed, model_rate_limited, error, ….
const (
	ReasonCompleted          = "completed"
	ReasonCancelled          = "cancelled"
	ReasonPermissionRejected = "permission_rejected"
	ReasonSpecHandoff        = "spec_handoff"
	ReasonProcessExit        = "process_exit"
)

// TurnCompleted is agent_turn_completed (since 0.215). TurnID is the id of the
// user message that began the turn.
type TurnCompleted struct {
	Reason     string     `json:"reason"`
	TurnID     string     `json:"turnId"`
	TokenUsage TokenUsage `json:"tokenUsage"`
}

// LLMRetry is llm_retry (since 0.215): the model call failed and is repeated.
type LLMRetry struct {
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
}

// MessageRetracted is assistant_message_retracted (0.225): the deltas of the message so far belong to a failed attempt.
type MessageRetracted struct {
	MessageID string `json:"messageId"`
}

// QueuedMessagesDiscarded is queued_messages_discarded: an interrupt dropped a queued user message. It has no RequestID before 0.215.
type QueuedMessagesDiscarded struct {
	Text      string `json:"text"`
	RequestID string `json:"requestId"`
}

// SessionCompacted is session_compacted (since 0.215).
type SessionCompacted struct {
	RemovedCount int `json:"removedCount"`
}

// HookStarted is hook_execution_started: droid runs commands of the user or of this program (IsOwnHook) at certain events. Before 0.215
// only that of PreToolUse has a ToolCallID.
type HookStarted struct {
	HookID     string        `json:"hookId"`
	EventName  string        `json:"hookEventName"` // PreToolUse, PostToolUse, Stop, …
	ToolCallID string        `json:"hookToolCallId"`
	Tool       string        `json:"hookMatcher"` // name of the tool, in events of tools
	Commands   []HookCommand `json:"hookCommands"`
}

// HookCommand is one command of a hook.
type HookCommand struct {
	Command string `json:"command"`
}

// HookCompleted is hook_execution_completed. Its results have the order of the commands in HookStarted. Before 0.215 only HookStarted has
// the names of the event and of the commands.
type HookCompleted struct {
	HookID    string       `json:"hookId"`
	EventName string       `json:"hookEventName"`
	Status    string       `json:"hookStatus"`
	Results   []HookResult `json:"hookResults"`
}

// HookResult is the outcome of one command of a hook.
type HookResult struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exitCode"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// Failure is the notification "error": a model call or droid itself failed. droid usually repeats it as a system message.
type Failure struct {
	Message   string `json:"message"`
	ErrorType string `json:"errorType"`
	Detail    struct {
		Name    string `json:"name"`
		Message string `json:"message"`
	} `json:"error"`
}

// Unknown is a notification or request that this package has no type for, or a known one that could not be decoded (Err says why). Raw is
// the notification object, or the params. droid.Client has already refused a request.
type Unknown struct {
	Type string
	Raw  json.RawMessage
	Err  error
}

// ChildSessionAvailable is child_session_available (0.215, 0.225): droid has started a subagent for a call of its tool Task. It is repeated
// when a later call continues with a subagent that had ended.
type ChildSessionAvailable struct {
	ChildID     string `json:"childSessionId"` // the subagent's session, whose file is in the same directory as droid's own
	ToolUseID   string `json:"toolUseId"`      // the model's ID of the call
	Type        string `json:"subagentType"`
	Description string `json:"description"` // the model's name for the task
	Timestamp   Millis `json:"timestamp"`
}

// StructuredOutput is structured_output (0.215, 0.225): the model's answer to a message with a schema, in the requested form. It follows
// the text with the same content, once in a turn that does not fail.
type StructuredOutput struct {
	MessageID string          `json:"messageId"` // of the text
	Output    json.RawMessage `json:"structuredOutput"`
}

// LateError is an error that no call waits for: droid sent it after a result for the same request (add_user_message without a session, 0.99
// to 0.225), after the caller gave up, or with a null ID that belongs to no pending request. RequestID is "" in the last case.
type LateError struct {
	RequestID string
	Err       *RPCError
}

// LateResult is the result of a call that the caller gave up: droid has executed the call.
type LateResult struct {
	NewSessionID string // of the session that the call created; "" if none
}

// SessionSwitched means that the process now works on another session, without a call: droid implements an approved plan in a new one
// (proceed_new_session). Versions before 0.215 do not show it.
type SessionSwitched struct {
	From, To string // session ids
}
