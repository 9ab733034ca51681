package quirks

// What droid does: when its stdin ends or SIGTERM arrives it says idle at once,
// and then goes on with the turn, even with another model call. The turn's own
// end follows with agent_turn_completed and a second idle. Before 0.215, asked to leave
// while a permission waits, withdraws the request half a minute later, says idle
// and leaves, without a result for the call.
// Seen on: 0.117 (permission; the one recording of it), 0.215, 0.225.
// Quirk: 3.
// Fixtures: eof_midstream_0.225.txtar, eof_permission_0.117.txtar.
//
// The idle without agent_turn_completed is held back by idled; busy and
// resultArrived take it back as soon as droid shows that it goes on.

import "slices"

// resultArrived gives a held idle more time: a tool that ended is no proof
// that droid goes on, but the model is told the result first if it does.
func (n *Normalizer) resultArrived() {
	t := n.turn
	if t == nil || !t.idle {
		return
	}
	d := snapshotAfterIdle
	if n.completes {
		d = completedBeforeIdle
	}
	t.hold = n.now.Add(d)
}

// cutOff reports whether an idle came upon a call that droid took up and gave no
// result for, though neither the user refused it nor an interrupt ended it. Such a
// turn did not complete.
func (n *Normalizer) cutOff(t *turn) bool {
	if n.completes || t.completed != nil || t.refused || t.interrupted {
		return false
	}
	return slices.ContainsFunc(n.tools.open, func(c *openCall) bool { return c.acted })
}
