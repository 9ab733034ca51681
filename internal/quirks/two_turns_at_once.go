package quirks

// What droid does: on a busy machine, a message that is sent while a turn runs
// may start a second turn beside the first, instead of waiting. Both stream, and
// each ends with an idle of its own, in any order; an interrupt reaches one of
// them at most. The second message's echo may come before that of the first.
// Seen on: 0.99, where several processes shared two cores.
// Quirk: 31 (not among the field notes).
// Fixtures: two_turns_at_once_0.99.txtar.
//
// The trace that droid puts on echoes and idles tells turns apart: the echo of a
// message taken into the running turn has the trace of that turn. Prompts whose
// turns run side by side are told as one turn, which ends when all of them have.
// The trace of other states tells nothing: that after an answered permission has
// one of its own. From 0.215 on agent_turn_completed names the turn.

import (
	"slices"
	"time"
)

// ownIdle is how long an idle waits for a sign that the running turn goes on, if no
// echo had the idle's trace. No such idle ended a turn in 53 processes of the e2e
// tests (0.99.0, 0.225.2).
const ownIdle = 2 * time.Second

// traces are the traces of droid's turns that are told as one turn here.
type traces struct {
	running []string // the turn's own comes first, when it is known
	over    []string // those that had their idle
}

// traced keeps the trace of the first state in a turn.
func (n *Normalizer) traced(trace string) {
	if t := n.turn; t != nil && trace != "" && len(t.traces.running)+len(t.traces.over) == 0 {
		t.traces.running = []string{trace}
	}
}

// echoedIn notes the trace of a user message's echo in t. A trace that is new in t
// belongs to another turn of droid's.
func (t *turn) echoedIn(trace string) {
	if trace == "" || slices.Contains(t.traces.running, trace) {
		return
	}
	if !t.echoed {
		t.traces = traces{} // the states before the echo belonged to another turn
	}
	t.traces.running = append(t.traces.running, trace)
}

// besides reports whether an idle ends only one of droid's turns that t is told
// from, or none of them. It notes such an idle.
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
