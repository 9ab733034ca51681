// Package quirks normalizes droid's event stream: text exactly once, tools with one start and one end, one question at a time, and one end
// for every turn. The main type is Normalizer, one per droid process, used by adapter; History does the same for stored messages.
//
// Each oddity of droid has its own file. The head says what droid does, where it was seen, its number in docs/dev/protocol.md, and
// the fixture in testdata/fixtures that shows it. The package is pure: no goroutine, clock or I/O.
package quirks

import (
	"time"

	"droid-acp/internal/droid/stream"
)

// Normalizer is the state of one droid process. It is not safe for concurrent use. Times passed to its methods must not go backwards.
type Normalizer struct {
	version   stream.Version
	completes bool // agent_turn_completed precedes the idle that ends a turn

	now time.Time
	out []Event

	turn         *turn               // the running turn, or nil
	waitingTurns []*turn             // prompts announced by Begin that droid has yet to start, oldest first
	lastTurn     ending              // the previous turn
	endedPrompts map[string]struct{} // ended prompts
	state        string              // droid's last working state

	seen     map[string]bool     // IDs of user and system messages
	messages map[string]*message // assistant messages by droid's ID
	live     []*message          // those with deltas but no snapshot in this turn

	tools         tools
	requests      []pendingRequest    // requests[0] is open, the others are held back
	knownRequests map[string]struct{} // all requests so far

	showsSubagents   bool                       // see ShowSubagents
	subagents        map[string]*subagent       // by session ID, including ended ones
	subagentRequests map[string][]*subagentCall // calls in requests of subagents, until droid has the answer

	settings         stream.Settings
	reportedSettings []byte // settings last reported, as JSON
	title            title
	usage            UsageChanged
	hooks            map[string]stream.HookStarted // running hooks that include our own commands, by ID
	strayError       string                        // last error shown outside any turn
}

// New returns a Normalizer for a droid of protocol version v. The zero Version stands for one that reports none, such as droid 0.57 and
// older.
func New(v stream.Version) *Normalizer {
	n := &Normalizer{
		endedPrompts:  map[string]struct{}{},
		seen:          map[string]bool{},
		messages:      map[string]*message{},
		knownRequests: map[string]struct{}{},
		tools:         newTools(),
		hooks:         map[string]stream.HookStarted{},

		subagents:        map[string]*subagent{},
		subagentRequests: map[string][]*subagentCall{},
	}
	n.SetVersion(v)
	return n
}

// SetVersion sets the protocol version if it was not known to New. It must precede the first event.
func (n *Normalizer) SetVersion(v stream.Version) {
	n.version = v
	n.completes = v.Supports(stream.TellsTurnEnd)
}

// Reserve marks tool IDs as used, such as those in a loaded history: a new call with such an ID gets another one.
func (n *Normalizer) Reserve(toolIDs ...string) {
	for _, id := range toolIDs {
		n.tools.used[id] = struct{}{}
	}
}

// Handle processes the next event of droid and returns the resulting events.
func (n *Normalizer) Handle(now time.Time, ev stream.Event) []Event {
	n.now = now
	switch ev := ev.(type) {
	case stream.WorkingStateChanged:
		n.workingState(ev)
	case stream.MessageCreated:
		n.messageCreated(ev)
	case stream.TextDelta:
		n.textDelta(ev)
	case stream.TextComplete: // the snapshot includes it
	case stream.MessageRetracted:
		n.messageRetracted(ev)
	case stream.LLMRetry:
		n.llmRetry(ev)
	case stream.ToolCall:
		n.toolCall(ev)
	case stream.ToolPhaseChanged:
		n.toolPhase(ev)
	case stream.ToolProgress:
		n.toolProgress(ev)
	case stream.ToolResult:
		n.toolResult(ev)
	case stream.PermissionRequest:
		n.permissionRequest(ev)
	case stream.QuestionRequest:
		n.questionRequest(ev)
	case stream.PermissionResolved:
		n.permissionResolved(ev)
	case stream.ChildSessionAvailable:
		n.subagentAvailable(ev)
	case stream.TurnCompleted:
		n.turnCompleted(ev)
	case stream.Failure:
		n.failed(ev)
	case stream.QueuedMessagesDiscarded:
		n.discarded(ev)
	case stream.SettingsUpdated:
		n.mergeSettings(ev.Settings)
	case stream.TitleUpdated:
		n.titleUpdated(ev)
	case stream.TokenUsageChanged:
		n.usageChanged(ev)
	case stream.HookStarted:
		n.hookStarted(ev)
	case stream.HookCompleted:
		n.hookCompleted(ev)
	default:
		n.emit(Other{Event: ev})
	}
	return n.take()
}

// messageCreated dispatches a snapshot by role.
func (n *Normalizer) messageCreated(ev stream.MessageCreated) {
	switch ev.Message.Role {
	case stream.RoleUser:
		n.userMessage(ev)
	case stream.RoleAssistant:
		n.assistantMessage(ev.Message)
	case stream.RoleSystem:
		n.systemMessage(ev.Message)
	default:
		n.emit(Other{Event: ev})
	}
}

// workingState follows droid's state. Unknown states and compacting pass through.
func (n *Normalizer) workingState(ev stream.WorkingStateChanged) {
	n.state = ev.State
	switch ev.State {
	case stream.StateIdle:
		n.idled(ev.Trace)
	case stream.StateStreaming, stream.StateThinking:
		n.busy()
		n.modelCalled()
		if n.turn != nil {
			n.turn.awaiting = true
		}
	case stream.StateExecuting, stream.StateWaiting:
		n.busy()
	default:
		n.busy()
		n.emit(Other{Event: ev})
	}
	n.traced(ev.Trace)
}

// Working reports whether droid's state says that it works on a turn, including those that it started by itself.
func (n *Normalizer) Working() bool {
	switch n.state {
	case stream.StateStreaming, stream.StateThinking, stream.StateExecuting, stream.StateWaiting:
		return true
	}
	return false
}

func (n *Normalizer) emit(ev Event) { n.out = append(n.out, ev) }

// take returns the events since the last call, followed by the next request that is due. While a turn is being stopped, all requests that
// are returned get refused, so one that does not end with the turn waits.
func (n *Normalizer) take() []Event {
	if len(n.requests) > 0 && !n.requests[0].emitted && (n.requests[0].endsWithTurn() || n.turn == nil || !n.turn.interrupted) {
		n.requests[0].emitted = true
		n.emit(n.requests[0].event)
	}
	out := n.out
	n.out = nil
	return out
}
