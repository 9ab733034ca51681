package quirks

// What droid does: a turn ends with the working state idle. Since 0.215 the
// event agent_turn_completed comes just before and alone says why the turn
// ended; after the implementation of a plan in a new session another one,
// reason spec_handoff, follows the idle for a turn that is long over.
// Seen on: 0.215, 0.225 (agent_turn_completed); all (idle).
// Quirk: 1, 4, 22.
// Fixtures: plain_0.225.txtar, spec_new_session_0.225.txtar,
// interrupt_immediately_0.225.txtar.

import (
	"strings"
	"time"

	"droid-acp/internal/droid/stream"
)

// How long one half of a turn's end waits for the other. In the recordings the
// two are at most 5 ms apart; idle alone is more likely to be a false one.
const (
	idleAfterCompleted  = 1 * time.Second
	completedBeforeIdle = 3 * time.Second
)

// turnCompleted notes that droid ended the turn; idle ends it for good.
func (n *Normalizer) turnCompleted(ev stream.TurnCompleted) {
	n.completes = true
	t := n.turn
	if t == nil || ev.Reason == stream.ReasonSpecHandoff {
		return
	}
	if ev.TurnID == "" && !t.stirred || ev.TurnID != "" && ev.TurnID == n.last.messageID {
		return // of a turn that is over
	}
	own := t.behindOwn || strings.HasPrefix(ev.TurnID, reportsTask)
	if own && !t.echoed && !t.interrupted && ev.TurnID != "" {
		t.stirred, t.behindOwn = false, false // of droid's own turn, as is the idle behind it
		return
	}
	t.stirred = true
	t.completed = &ev
	if t.idle {
		n.finish()
		return
	}
	t.hold = n.now.Add(idleAfterCompleted)
}

// idled judges an idle. One that comes before droid did anything for the
// running turn belongs to the past.
func (n *Normalizer) idled(trace string) {
	t := n.turn
	switch {
	case t == nil || !t.stirred:
		n.live = nil // of a turn of droid's own, which is over
	case n.besides(t, trace): // see two_turns_at_once.go
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
		return // a repeated idle does not put the end off
	}
	t.idle = true
	t.hold = n.now.Add(d)
}

// ending derives how t ended, and shows an error that did not decide it.
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
			return t.fail(reason) // droid was ended before its answer was
		}
		fallthrough
	case stream.ReasonCompleted, stream.ReasonPermissionRejected, "":
		n.showFailure(t)
		return TurnEnded{Outcome: Completed, Reason: reason}
	default:
		return t.fail(reason)
	}
}

// fail ends t with its last error. An empty reason is "error" in Failure.
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
