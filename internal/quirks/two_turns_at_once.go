package quirks

// What droid does: on a busy machine, a message that is sent while a turn runs
// which itself followed another one at once starts a second turn beside the
// first, instead of waiting. Both stream, and each ends with an idle of its own;
// no interrupt reaches the first one any more. The message's echo looks like
// that of one taken into the running turn, and so both end with the last idle.
// Seen on: 0.99, where eleven processes shared two cores.
// Quirk: 31 (not among the field notes).
// Fixtures: none recorded; TestQuirk31_TwoTurnsAtOnce.

import "time"

// ownIdle is how long an idle of another trace waits for a sign that the running
// turn goes on. None ever ended a turn in 53 processes of the e2e tests (0.99.0,
// 0.225.2).
const ownIdle = 2 * time.Second

// traced keeps the trace of the first state in a turn.
func (n *Normalizer) traced(trace string) {
	if t := n.turn; t != nil && t.trace == "" {
		t.trace = trace
	}
}

// ofAnother tells the idle of a turn beside the running one, by the trace that
// droid puts on its states. From 0.215 on agent_turn_completed names the turn.
func (n *Normalizer) ofAnother(trace string) bool {
	t := n.turn
	return !n.completes && trace != "" && t.trace != "" && trace != t.trace
}
