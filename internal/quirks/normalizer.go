// Package quirks turns what droid says into an honest stream of events: text
// exactly once, tools with one start and one end, one question at a time, and
// one end for every turn.
//
// Each oddity of droid has a file of its own whose head says what droid does,
// where it was seen, its number among the field notes' quirks, and the fixture
// in testdata/fixtures that shows it. The package is pure: it starts no
// goroutine, reads no clock and does no I/O.
package quirks

import (
	"time"

	"droid-acp/internal/droid/stream"
)

// Normalizer holds what is known of one droid process. It is not safe for
// concurrent use. Times passed to its methods must not go backwards.
type Normalizer struct {
	version   stream.Version
	completes bool // agent_turn_completed precedes the idle that ends a turn

	now time.Time
	out []Event

	turn    *turn               // the one that runs, or nil
	waiting []*turn             // begun prompts that droid has yet to start, oldest first
	last    ending              // of the turn before
	over    map[string]struct{} // prompts that have ended
	state   string              // droid's last working state

	seen     map[string]bool     // ids of user and system messages
	messages map[string]*message // assistant messages by droid's id
	live     []*message          // those with deltas but no snapshot in this turn

	tools  tools
	asks   []ask               // asks[0] is open, the others are held back
	opened map[string]struct{} // requests that were open once

	subagents map[string]*subagent    // by the ids of their sessions, those that have ended too
	allowing  map[string][]*childCall // that requests of subagents are about, until droid has the answer

	settings stream.Settings
	told     []byte // settings last reported, as JSON
	title    title
	usage    UsageChanged
	hooks    map[string]stream.HookStarted // that run with commands of our own, by their id
	stray    string                        // error outside any turn that was shown
}

// New returns a Normalizer for a droid of protocol version v. The zero Version
// stands for one that told none, as droid 0.57 and older do.
func New(v stream.Version) *Normalizer {
	n := &Normalizer{
		over:     map[string]struct{}{},
		seen:     map[string]bool{},
		messages: map[string]*message{},
		opened:   map[string]struct{}{},
		tools:    newTools(),
		hooks:    map[string]stream.HookStarted{},

		subagents: map[string]*subagent{},
		allowing:  map[string][]*childCall{},
	}
	n.SetVersion(v)
	return n
}

// SetVersion tells the protocol version when it was not known to New. It
// belongs before the first event.
func (n *Normalizer) SetVersion(v stream.Version) {
	n.version = v
	n.completes = v.Has(stream.TellsTurnEnd)
}

// Reserve marks tool ids as taken, such as those in a loaded history: a new
// call with one of them gets another id.
func (n *Normalizer) Reserve(toolIDs ...string) {
	for _, id := range toolIDs {
		n.tools.used[id] = struct{}{}
	}
}

// Push takes the next event of droid.
func (n *Normalizer) Push(now time.Time, ev stream.Event) []Event {
	n.now = now
	switch ev := ev.(type) {
	case stream.WorkingStateChanged:
		n.workingState(ev)
	case stream.MessageCreated:
		n.messageCreated(ev)
	case stream.TextDelta:
		n.textDelta(ev)
	case stream.TextComplete: // the snapshot says the same and more
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
		n.childAvailable(ev)
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

// messageCreated sends a snapshot to the file that knows its role.
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

// workingState follows droid's state. Only the steps that decide something
// have an effect here; an unknown or compacting state passes.
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

// Working reports whether droid says that it works on a turn, its own ones included.
func (n *Normalizer) Working() bool {
	switch n.state {
	case stream.StateStreaming, stream.StateThinking, stream.StateExecuting, stream.StateWaiting:
		return true
	}
	return false
}

func (n *Normalizer) emit(ev Event) { n.out = append(n.out, ev) }

// take hands out what was emitted since the last call, and behind it the request whose turn has come. While a turn is being
// stopped, all requests that are handed out are refused, so one that does not end with it waits until then.
func (n *Normalizer) take() []Event {
	if len(n.asks) > 0 && !n.asks[0].out && (n.asks[0].ofTurn() || n.turn == nil || !n.turn.interrupted) {
		n.asks[0].out = true
		n.emit(n.asks[0].event)
	}
	out := n.out
	n.out = nil
	return out
}
