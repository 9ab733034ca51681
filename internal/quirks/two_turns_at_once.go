package quirks

// What droid does: on a busy machine, a message sent during a turn may start a second, concurrent turn instead of waiting. Both stream, and
// each ends with its own idle, in any order; an interrupt reaches at most one of them. The echo of the second message may precede that of
// the first.
// Seen on: 0.99, where several processes shared two cores.
// Quirk: 31 (not among the field notes).
// Fixtures: two_turns_at_once_0.99.txtar.
//
// The trace of echoes and idles identifies turns: the echo of a message added to the running turn has the trace of that turn. Prompts whose
// turns run concurrently are reported as one turn, which ends when all of them have. The trace of other states is no use: that after an
// answered permission is a different one. Since 0.215 agent_turn_completed names the turn.

import (
	"slices"
	"time"
)

// ownIdle is how long an idle waits for a sign that the running turn continues, if no echo had the idle's trace. No such idle ended a turn
// in 53 processes of the e2e tests (0.99.0, 0.225.2).
const ownIdle = 2 * time.Second

// traces are the traces of droid's turns that are reported as one turn.
type traces struct {
	running []string // the turn's own comes first, if known
	over    []string // those that had their idle
}

// traced records the trace of the first state in a turn.
func (n *Normalizer) traced(trace string) {
	if t := n.turn; t != nil && trace != "" && len(t.traces.running)+len(t.traces.over) == 0 {
		t.traces.running = []string{trace}
	}
}

// echoedIn records the trace of a user message's echo in t. A new trace belongs to another turn of droid.
func (t *turn) echoedIn(trace string) {
	if trace == "" || slices.Contains(t.traces.running, trace) {
		return
	}
	if !t.echoed {
		t.traces = traces{} // earlier states belonged to another turn
	}
	t.traces.running = append(t.traces.running, trace)
}

// besides records and reports whether an idle ends only one of the concurrent turns that t stands for, or none of them.
func (n *Normalizer) besides(t *turn, trace string) bool {
	running := t.traces.running
	if n.completes || trace == "" || len(running) == 0 || len(running) == 1 && running[0] == trace {
		return false
	}
	if slices.Contains(t.traces.over, trace) {
		return true
	}
	n.emit(TurnBeside{RequestID: t.requestID})
	if i := slices.Index(running, trace); i >= 0 {
		t.traces.over = append(t.traces.over, trace)
		t.traces.running = slices.Delete(running, i, i+1)
		return true
	}
	t.beside = true
	n.holdIdle(ownIdle)
	return true
}
