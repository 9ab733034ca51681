package quirks

// What droid does: on a busy machine, a message sent during a turn may start a second, concurrent turn instead of waiting. Both stream, and
// each ends with its own idle, in any order; an interrupt reaches at most one of them. The echo of the second message may precede that of
// the first.
// Seen on: 0.99, where several processes shared two cores.
// Quirk: 31.
// Fixtures: two_turns_at_once_0.99.txtar.
//
// The trace of echoes and idles identifies turns: the echo of a message added to the running turn has the trace of that turn. Prompts whose
// turns run concurrently are reported as one turn, which ends when all of them have. The trace of other states is no use: that after an
// answered permission is a different one. Since 0.215 agent_turn_completed names the turn.

import (
	"slices"
	"time"
)

// untracedIdleWait is how long an idle waits for a sign that the running turn continues, if no echo had the idle's trace. No such idle
// ended a turn in 53 processes of the e2e tests (0.99.0, 0.225.2).
const untracedIdleWait = 2 * time.Second

// traceIDs are the traces of droid's turns that are reported as one turn.
type traceIDs struct {
	running []string // the turn's own comes first, if known
	ended   []string // those that had their idle
}

// traced records the trace of the first state in a turn.
func (n *Normalizer) traced(trace string) {
	if t := n.turn; t != nil && trace != "" && len(t.traceIDs.running)+len(t.traceIDs.ended) == 0 {
		t.traceIDs.running = []string{trace}
	}
}

// echoedIn records the trace of a user message's echo in t. A new trace belongs to another turn of droid.
func (t *turn) echoedIn(trace string) {
	if trace == "" || slices.Contains(t.traceIDs.running, trace) {
		return
	}
	if !t.echoed {
		t.traceIDs = traceIDs{} // earlier states belonged to another turn
	}
	t.traceIDs.running = append(t.traceIDs.running, trace)
}

// isConcurrentIdle records and reports whether an idle ends only one of the concurrent turns that t stands for, or none of them.
func (n *Normalizer) isConcurrentIdle(t *turn, trace string) bool {
	running := t.traceIDs.running
	if n.completes || trace == "" || len(running) == 0 || len(running) == 1 && running[0] == trace {
		return false
	}
	if slices.Contains(t.traceIDs.ended, trace) {
		return true
	}
	n.emit(ConcurrentTurn{RequestID: t.requestID})
	if i := slices.Index(running, trace); i >= 0 {
		t.traceIDs.ended = append(t.traceIDs.ended, trace)
		t.traceIDs.running = slices.Delete(running, i, i+1)
		return true
	}
	t.concurrentIdle = true
	n.holdIdle(untracedIdleWait)
	return true
}
