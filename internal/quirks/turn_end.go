package quirks

// What droid does: a turn ends with the working state idle. Since 0.215 the event agent_turn_completed precedes it, and only that has the
// reason; after the implementation of a plan in a new session another one, with the reason spec_handoff, follows the idle for a turn that
// ended long before.
// Seen on: 0.215, 0.225 (agent_turn_completed); all (idle).
// Quirk: 1, 4, 22.
// Fixtures: plain_0.225.txtar, spec_new_session_0.225.txtar,
// interrupt_immediately_0.225.txtar.

import (
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

// How long one half of a turn's end waits for the other. In the recordings the two are at most 5 ms apart; idle alone is more likely to be
// a false one.
const (
	idleAfterCompleted  = 1 * time.Second
	completedBeforeIdle = 3 * time.Second
)

// turnCompleted records that droid ended the turn; idle makes it final.
func (n *Normalizer) turnCompleted(ev stream.TurnCompleted) {
	n.completes = true
	t := n.turn
	if t == nil || ev.Reason == stream.ReasonSpecHandoff {
		return
	}
	if ev.TurnID == "" && !t.active || ev.TurnID != "" && ev.TurnID == n.lastTurn.messageID {
		return // of an ended turn
	}
	own := t.behindDroidTurn || strings.HasPrefix(ev.TurnID, reportIDPrefix)
	if own && !t.echoed && !t.interrupted && ev.TurnID != "" {
		t.active, t.behindDroidTurn = false, false // of droid's own turn, like the following idle
		return
	}
	t.active = true
	t.completed = &ev
	if t.idle {
		n.finish()
		return
	}
	t.deadline = n.now.Add(idleAfterCompleted)
}

// idled handles an idle. One that precedes any work on the running turn belongs to an earlier one.
func (n *Normalizer) idled(trace string) {
	t := n.turn
	switch {
	case t == nil || !t.active:
		n.live = nil // of droid's own turn, which has ended
	case n.isConcurrentIdle(t, trace): // see two_turns_at_once.go
	case t.completed != nil || t.interrupted:
		n.finish()
	case n.completes:
		n.holdIdle(completedBeforeIdle) // quirk 3, see shutdown_idle.go
	case n.outstanding() && !t.failing():
		n.holdIdle(snapshotAfterIdle) // see premature_idle.go
	case n.cutOff(t):
		n.holdIdle(snapshotAfterIdle) // see shutdown_idle.go
	default:
		n.finish()
	}
}

func (n *Normalizer) holdIdle(d time.Duration) {
	t := n.turn
	if t.idle {
		return // a repeated idle does not delay the end
	}
	t.idle = true
	t.deadline = n.now.Add(d)
}

// ending returns how t ended, and emits an error that did not end it.
func (n *Normalizer) ending(t *turn) TurnEnded {
	if t.completed == nil {
		switch {
		case t.stopped || t.interrupted && !t.complete:
			n.showFailure(t)
			return TurnEnded{Outcome: Cancelled}
		case t.failing():
			return t.fail("")
		case n.cutOff(t):
			t.failure = &Failure{Message: "droid became idle while a tool call had no result"}
			return t.fail("")
		case n.completes && !t.complete && !t.refused:
			t.failure = &Failure{Message: "droid became idle without saying how the turn ended"}
			return t.fail("")
		}
		n.showFailure(t)
		return TurnEnded{Outcome: Completed}
	}
	switch reason := t.completed.Reason; reason {
	case stream.ReasonCancelled:
		n.showFailure(t)
		return TurnEnded{Outcome: Cancelled, Reason: reason}
	case stream.ReasonProcessExit:
		if !t.complete {
			return t.fail(reason) // droid exited before its answer was complete
		}
		fallthrough
	case stream.ReasonCompleted, stream.ReasonPermissionRejected, "":
		n.showFailure(t)
		return TurnEnded{Outcome: Completed, Reason: reason}
	default:
		return t.fail(reason)
	}
}

// fail ends t with its last error. An empty reason becomes "error" in Failure.
func (t *turn) fail(reason string) TurnEnded {
	f := Failure{}
	if t.failure != nil {
		f = *t.failure
	}
	f.Reason, f.Typed = reason, reason != ""
	if reason == "" {
		f.Reason = "error"
	}
	return TurnEnded{Outcome: Failed, Reason: reason, Failure: &f}
}
