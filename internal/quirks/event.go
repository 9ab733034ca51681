package quirks

import (
	"encoding/json"

	"droid-acp/internal/droid/stream"
)

// Event is an event of the normalized stream. The concrete types are in this file.
type Event interface{ isEvent() }

// TurnStarted reports that droid works on a prompt: it has echoed the user's message. It comes at most once per prompt.
type TurnStarted struct {
	RequestID string // of the add_user_message request, "" if droid started the turn by itself
	MessageID string // of the user message in droid's history
}

// PromptMerged reports that droid added a prompt to the running turn, as steering (quirk 2). It gets no separate turn. If Normalizer.Begin
// announced it, a TurnEnded for it follows the turn's.
type PromptMerged struct {
	RequestID string
	MessageID string // of the user message in droid's history
}

// Text is a piece of assistant text, or of thinking if Thought, in order and exactly once. MessageID is droid's message ID; a message that
// was retracted and streamed again continues under a new one.
type Text struct {
	MessageID string
	Thought   bool
	Text      string
}

// AnswerContinues reports that the next message continues a cut one.
type AnswerContinues struct{}

// TextRetracted declares the text sent under MessageID void, since the model repeats its answer. The replacement follows under another ID.
type TextRetracted struct {
	MessageID string
}

// TextRestarted declares the first Void bytes of text and the first VoidThought bytes of thinking sent under MessageID void, since the
// model's answer broke off and started again. Text is the whole valid text, which has been sent.
type TextRestarted struct {
	MessageID   string
	Text        string
	Void        int
	VoidThought int
}

// UserText is text by the user, without droid's additions, and the attached files. It comes once per message, before its images, and only
// from History: during a turn the client knows what it sent. Text is empty if only files were sent.
type UserText struct {
	MessageID string
	Text      string
	Files     []UserFile
}

// UserImage is an image attached by the user as droid stored it, which may differ from what was sent (0.99 converts every image to JPEG).
type UserImage struct {
	MessageID string
	Data      string // base64
	MediaType string
}

// UserFile is a file attached by the user, without its content. Name is the client's and may be empty.
type UserFile struct {
	Name      string
	MediaType string
}

// Notice is a message of droid outside the conversation, such as a system message. It is not assistant text.
type Notice struct {
	Text string
}

// ToolStarted announces a tool call, once. ID is unique in the session even if the model reuses an ID. Input may be incomplete ("{}").
type ToolStarted struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolInput supplies the complete input of a started call, at most once per call, before its permission, progress or end.
type ToolInput struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolRunning reports that a started call is executing, at most once per call.
type ToolRunning struct{ ID string }

// ToolProgress is a progress report of a running call.
type ToolProgress struct {
	ID     string
	Update stream.ProgressUpdate
}

// ToolEnded ends a started call, once. Unfinished means that the turn ended without a result; then Content is empty, and IsError true
// unless the outcome is unknown. Elsewhere, in a history, means that the call may continue in another program that has the session open.
// Background, of a Task, means that its subagent continues: SubagentEnded follows.
type ToolEnded struct {
	ID         string
	Name       string
	Content    json.RawMessage // a JSON string or an array of content blocks
	IsError    bool
	Unfinished bool
	Elsewhere  bool
	Background bool

	MayNeedLogin bool // it failed, perhaps for lack of a Factory login, which Content does not mention
}

// PermissionRequested asks the user to decide on all Tools at once. No other PermissionRequested or QuestionRequested follows until it is
// answered (Normalizer.RequestAnswered) or withdrawn. Tools have the IDs of ToolStarted. Subagent is the model's name of the requesting
// subagent, "" for droid itself.
type PermissionRequested struct {
	RequestID string
	Tools     []stream.PermissionToolUse
	Options   []stream.PermissionOption
	Subagent  string
	SessionID string // of that subagent
}

// QuestionRequested asks the user one or more questions, under the rules of PermissionRequested.
type QuestionRequested struct {
	RequestID string
	ToolID    string
	Questions []stream.Question
}

// RequestWithdrawn reports that droid no longer waits for the answer to RequestID.
type RequestWithdrawn struct{ RequestID string }

// SubagentStarted reports that a subagent is working; ID identifies its session and file. From now on the caller must read the file and
// pass its lines to Normalizer.HandleSubagentLines.
type SubagentStarted struct {
	ID          string
	Parent      string // the subagent that it works for, "" for droid itself
	ToolID      string // of its Task call, "" if that is not known
	Type        string // such as "worker"
	Description string // the model's name for what it does
	Prompt      string // of that call
}

// SubagentSteps reports new steps of a subagent under the Task call ToolID, which may have ended.
type SubagentSteps struct {
	ID, ToolID string
	Steps      []Step
}

// Step is a text, a tool call with its input, or the failure of one.
type Step struct {
	Text   string
	Tool   string
	Input  json.RawMessage
	Failed json.RawMessage // the result of a failed call
}

// SubagentStopped reports that a subagent has ended. The caller must pass the rest of its file to Normalizer.HandleSubagentLines before
// handling later events.
type SubagentStopped struct{ ID string }

// SubagentEnded ends a subagent, once. ToolID is the Task call of a background subagent, else "". In a History, Reason is empty if the
// outcome is unknown.
type SubagentEnded struct {
	ID, ToolID string
	Name       string
	Gone       bool   // with droid's process
	Reason     string // droid's: completed, cancelled, permission_rejected, process_exit, …; may be ""
	Answer     string // its last message
}

// SubagentReported reports that droid starts a turn by itself, or continues one, because a background subagent has ended.
type SubagentReported struct{ ID, Name, Reason string }

// SettingsChanged reports changed settings. Settings includes everything reported so far.
type SettingsChanged struct{ Settings stream.Settings }

// TitleChanged reports a changed title.
type TitleChanged struct{ Title string }

// UsageChanged reports changed token usage.
type UsageChanged struct {
	Total    stream.TokenUsage
	LastCall stream.TokenUsage
}

// Retrying reports that a model call failed and droid retries it.
type Retrying struct {
	Attempt int
	Reason  string
}

// PromptDropped reports a user message that droid dropped unanswered. RequestID is "" if the prompt is unknown.
type PromptDropped struct {
	RequestID string
	Text      string
}

// ConcurrentTurn reports that droid ran another turn concurrently with that of this prompt. An interrupt may not reach the latter.
type ConcurrentTurn struct{ RequestID string }

// Outcome is the outcome of a turn.
type Outcome int

// Outcomes of a turn.
const (
	Completed Outcome = iota // droid finished, possibly after a refusal by the user
	Cancelled                // interrupted
	Failed                   // see Failure
	Dropped                  // droid dropped the prompt before starting it
)

// String returns the name of the outcome.
func (o Outcome) String() string {
	return [...]string{"completed", "cancelled", "failed", "dropped"}[o]
}

// Failure describes why a turn failed. Reason is droid's (see stream.TurnCompleted), or "error" from versions that give none. Message is
// the raw error of the provider or droid, Advice droid's text for the user; either may be empty. Name is droid's error name
// ("AuthenticationError", …).
type Failure struct {
	Reason  string
	Typed   bool // Reason is droid's own
	Name    string
	Message string
	Advice  string
}

// WantsLogin distinguishes a missing Factory login from a model key that the provider rejected; both have the reason
// model_authentication_failed.
func (f *Failure) WantsLogin() bool {
	return f.Name == "AuthenticationError" || f.Message == "No access token available"
}

// TurnEnded ends a turn, exactly once after its TurnStarted or, if droid never echoed the message, after Normalizer.Begin. All its tool
// calls have ended and all its requests are answered or withdrawn, except those of subagents.
type TurnEnded struct {
	RequestID string // as in TurnStarted and Normalizer.Begin
	Outcome   Outcome
	Reason    string   // droid's own, "" from versions that give none
	Failure   *Failure // set when Outcome is Failed
	// Used is the token usage of the turn as reported by droid at its end (since 0.215); zero if it reported none, and for a message that
	// was added to the turn. InputTokens excludes cached tokens.
	Used stream.TokenUsage
}

// Other is an event that passes unchanged: MCP status, hooks, compaction, unknown events.
type Other struct{ Event stream.Event }

// Unwrap returns the event in an Other, or else ev itself, for use in a single type switch.
func Unwrap(ev Event) any {
	if other, ok := ev.(Other); ok {
		return other.Event
	}
	return ev
}

func (TurnStarted) isEvent()         {}
func (PromptMerged) isEvent()        {}
func (Text) isEvent()                {}
func (AnswerContinues) isEvent()     {}
func (TextRetracted) isEvent()       {}
func (TextRestarted) isEvent()       {}
func (UserText) isEvent()            {}
func (UserImage) isEvent()           {}
func (Notice) isEvent()              {}
func (ToolStarted) isEvent()         {}
func (ToolInput) isEvent()           {}
func (ToolRunning) isEvent()         {}
func (ToolProgress) isEvent()        {}
func (ToolEnded) isEvent()           {}
func (PermissionRequested) isEvent() {}
func (QuestionRequested) isEvent()   {}
func (RequestWithdrawn) isEvent()    {}
func (SubagentStarted) isEvent()     {}
func (SubagentSteps) isEvent()       {}
func (SubagentStopped) isEvent()     {}
func (SubagentEnded) isEvent()       {}
func (SubagentReported) isEvent()    {}
func (SettingsChanged) isEvent()     {}
func (TitleChanged) isEvent()        {}
func (UsageChanged) isEvent()        {}
func (Retrying) isEvent()            {}
func (PromptDropped) isEvent()       {}
func (ConcurrentTurn) isEvent()      {}
func (TurnEnded) isEvent()           {}
func (Other) isEvent()               {}
