package quirks

// What droid does: when its stdin ends or SIGTERM arrives it reports idle at once, and then continues the turn, even with another model
// call. The turn's own end follows with agent_turn_completed and a second idle. Versions before 0.215, asked to exit while a permission is
// pending, withdraw the request half a minute later, report idle and exit, without a result for the call.
// Seen on: 0.117 (permission; the one recording of it), 0.215, 0.225.
// Quirk: 3.
// Fixtures: eof_midstream_0.225.txtar, eof_permission_0.117.txtar.
//
// idled holds back the idle without agent_turn_completed; busy and resultArrived cancel it when droid continues.

import "slices"

// resultArrived extends a held idle: the end of a tool does not prove that droid continues, but if it does, the model gets the result
// first.
func (n *Normalizer) resultArrived() {
	t := n.turn
	if t == nil || !t.idle {
		return
	}
	d := snapshotAfterIdle
	if n.completes {
		d = completedBeforeIdle
	}
	t.deadline = n.now.Add(d)
}

// cutOff reports whether an idle interrupted a call that droid had started and that has no result, although neither the user refused it nor
// an interrupt ended it. Such a turn did not complete.
func (n *Normalizer) cutOff(t *turn) bool {
	if n.completes || t.completed != nil || t.refused || t.interrupted {
		return false
	}
	return slices.ContainsFunc(n.tools.open, func(c *openCall) bool { return c.started })
}
