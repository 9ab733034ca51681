package quirks

import (
	"encoding/json"

	"droid-acp/internal/droid/stream"
)

// Event is one event of the honest stream that the Normalizer makes of what
// droid said. The concrete types are the ones in this file.
type Event interface{ honest() }

// TurnStarted says that droid works on the prompt with this request id: the
// echo of the user's message arrived. It comes at most once a prompt.
type TurnStarted struct {
	RequestID string // of the add_user_message request, "" when droid began the turn by itself
	MessageID string // of the user message in droid's history
}

// PromptFolded says that droid took the prompt with this request id into the
// turn that runs, as steering (quirk 2). It gets no turn of its own. If
// Normalizer.Begin announced it, a TurnEnded for it follows that of the turn.
type PromptFolded struct {
	RequestID string
	MessageID string // of the user message in droid's history
}

// Text is a piece of assistant text, or of thinking when Thought, in order and
// exactly once. MessageID is droid's id of the message; a message that droid
// retracted and streamed again continues under a new MessageID.
type Text struct {
	MessageID string
	Thought   bool
	Text      string
}

// AnswerContinues says that the next message goes on where the last one was cut.
type AnswerContinues struct{}

// TextRetracted says that the text sent under MessageID is void: droid made
// the model repeat its answer. What replaces it follows under another id.
type TextRetracted struct {
	MessageID string
}

// TextRestarted says that the first Void bytes of text and the first VoidThought
// bytes of thinking sent under MessageID are void: the model's answer broke off
// and came again. Text is the whole text that holds; it has been sent.
type TextRestarted struct {
	MessageID   string
	Text        string
	Void        int
	VoidThought int
}

// UserText is what the user wrote, without what droid added to it, and the files
// that they attached. It comes once a message, before its images, and from History
// only: live, the client knows what it sent. Text is empty where only files were sent.
type UserText struct {
	MessageID string
	Text      string
	Files     []UserFile
}

// UserImage is an image that the user attached, as droid kept it, which need
// not be the bytes that were sent (0.99 makes every image a JPEG).
type UserImage struct {
	MessageID string
	Data      string // base64
	MediaType string
}

// UserFile is a file that the user attached, without its content. Name is the
// one that the client gave it, and may be empty.
type UserFile struct {
	Name      string
	MediaType string
}

// Notice is something that droid tells the user outside the conversation, such
// as a system message. It is no assistant text.
type Notice struct {
	Text string
}

// ToolStarted announces a tool call, once. ID is unique in the session, also
// when the model repeats an id. Input may still be incomplete ("{}").
type ToolStarted struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolInput gives the complete input of a started call, at most once a call,
// before its permission, progress or end.
type ToolInput struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolRunning says that a started call now executes, at most once a call.
type ToolRunning struct{ ID string }

// ToolProgress reports on a running call.
type ToolProgress struct {
	ID     string
	Update stream.ProgressUpdate
}

// ToolEnded ends a started call, once. Unfinished means that the turn ended
// without a result for it; Content is then empty and IsError true, or false where it is not known how it ended. Elsewhere, of a history, says that it may go on in
// another program that has the session open. Background, of a Task, says that its subagent goes on: SubagentEnded follows.
type ToolEnded struct {
	ID         string
	Name       string
	Content    json.RawMessage // a JSON string or an array of content blocks
	IsError    bool
	Unfinished bool
	Elsewhere  bool
	Background bool

	MayNeedLogin bool // it failed, perhaps for want of a login to Factory, which Content does not say
}

// PermissionAsked asks the user to decide on all Tools at once. No other
// PermissionAsked or QuestionAsked follows until this one is answered
// (Normalizer.Answered) or withdrawn. Tools carry the ids of ToolStarted.
// Subagent is the name of the subagent that asks, "" for droid itself; the model has given it.
type PermissionAsked struct {
	RequestID string
	Tools     []stream.PermissionToolUse
	Options   []stream.PermissionOption
	Subagent  string
}

// QuestionAsked asks the user one or more questions; the rules of
// PermissionAsked hold.
type QuestionAsked struct {
	RequestID string
	ToolID    string
	Questions []stream.Question
}

// AskWithdrawn says that droid no longer waits for the answer to RequestID.
type AskWithdrawn struct{ RequestID string }

// SubagentBegan says that a subagent works, whose session and file have this id. From now on its file is to be read and
// given to Normalizer.Wrote.
type SubagentBegan struct{ ID string }

// SubagentSteps say what a subagent has done since the last ones, under the call ToolID of Task, which may have ended.
type SubagentSteps struct {
	ID, ToolID string
	Steps      []Step
}

// Step is a text, or a call of a tool with its input, or that such a call failed.
type Step struct {
	Text   string
	Tool   string
	Input  json.RawMessage
	Failed json.RawMessage // the result
}

// SubagentStops says that a subagent has ended. What its file says by now is to be given to Normalizer.Wrote before what
// follows is told.
type SubagentStops struct{ ID string }

// SubagentEnded ends what SubagentBegan began, once. ToolID is the call of Task of one that worked in the background, else
// "". From History it comes without a Reason where it is not known what became of it.
type SubagentEnded struct {
	ID, ToolID string
	Name       string
	Gone       bool   // with droid's process
	Reason     string // droid's: completed, cancelled, permission_rejected, process_exit, …; "" where it said none
	Answer     string // what it said last
}

// SubagentReports says that droid begins a turn of its own, or goes on with one, because a subagent in the background has
// ended.
type SubagentReports struct{ ID, Name, Reason string }

// SettingsChanged reports settings that differ from the ones last reported.
// Settings is always complete as far as droid ever told.
type SettingsChanged struct{ Settings stream.Settings }

// TitleChanged reports a title that differs from the last one.
type TitleChanged struct{ Title string }

// UsageChanged reports the token usage, when it differs from the last one.
type UsageChanged struct {
	Total    stream.TokenUsage
	LastCall stream.TokenUsage
}

// Retrying says that the model call failed and droid repeats it.
type Retrying struct {
	Attempt int
	Reason  string
}

// Discarded reports a user message that droid threw away unanswered. RequestID
// is "" when it is not known whose message that was.
type Discarded struct {
	RequestID string
	Text      string
}

// TurnBeside says that droid ran another turn beside the one of this prompt, which
// an interrupt may no longer reach.
type TurnBeside struct{ RequestID string }

// Outcome is how a turn ended.
type Outcome int

// Outcomes of a turn.
const (
	Completed Outcome = iota // droid finished, also after a refusal by the user
	Cancelled                // interrupted
	Failed                   // Failure says why
	Dropped                  // droid threw the prompt away before it began with it
)

// String names the outcome.
func (o Outcome) String() string {
	return [...]string{"completed", "cancelled", "failed", "dropped"}[o]
}

// Failure is why a turn failed. Reason is droid's machine-readable one (see
// stream.TurnCompleted), or "error" from versions that give none. Message is
// the provider's or droid's raw error, Advice droid's words for the user;
// either may be empty. Name is droid's error name ("AuthenticationError", …).
type Failure struct {
	Reason  string
	Typed   bool // Reason is droid's own; else it is "error", as droid gave none
	Name    string
	Message string
	Advice  string
}

// WantsLogin tells a missing Factory login from a model key that the provider refused; both
// carry the reason model_authentication_failed.
func (f *Failure) WantsLogin() bool {
	return f.Name == "AuthenticationError" || f.Message == "No access token available"
}

// TurnEnded ends the turn, exactly once after its TurnStarted or, when droid
// never echoed the message, after Normalizer.Begin. All its tool calls have
// ended and all its requests are answered or withdrawn, but for those of subagents.
type TurnEnded struct {
	RequestID string // as in TurnStarted and Normalizer.Begin
	Outcome   Outcome
	Reason    string   // droid's own reason, "" from versions that give none
	Failure   *Failure // set when Outcome is Failed
	// Used is what the calls of the model in this turn took, as droid says at its end
	// (since 0.215); zero where it says nothing or 0, and for a message that was folded
	// into the turn. InputTokens are without those of the cache.
	Used stream.TokenUsage
}

// Other is an event that has no honest form of its own and passes unchanged:
// MCP status, hooks, compaction, unknown events.
type Other struct{ Event stream.Event }

// Unwrap is ev, or what an Other has in it, so that one switch knows both.
func Unwrap(ev Event) any {
	if other, ok := ev.(Other); ok {
		return other.Event
	}
	return ev
}

func (TurnStarted) honest()     {}
func (PromptFolded) honest()    {}
func (Text) honest()            {}
func (AnswerContinues) honest() {}
func (TextRetracted) honest()   {}
func (TextRestarted) honest()   {}
func (UserText) honest()        {}
func (UserImage) honest()       {}
func (Notice) honest()          {}
func (ToolStarted) honest()     {}
func (ToolInput) honest()       {}
func (ToolRunning) honest()     {}
func (ToolProgress) honest()    {}
func (ToolEnded) honest()       {}
func (PermissionAsked) honest() {}
func (QuestionAsked) honest()   {}
func (AskWithdrawn) honest()    {}
func (SubagentBegan) honest()   {}
func (SubagentSteps) honest()   {}
func (SubagentStops) honest()   {}
func (SubagentEnded) honest()   {}
func (SubagentReports) honest() {}
func (SettingsChanged) honest() {}
func (TitleChanged) honest()    {}
func (UsageChanged) honest()    {}
func (Retrying) honest()        {}
func (Discarded) honest()       {}
func (TurnBeside) honest()      {}
func (TurnEnded) honest()       {}
func (Other) honest()           {}
