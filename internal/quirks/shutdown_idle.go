package quirks

// What droid does: when its stdin ends or SIGTERM arrives it says idle at once,
// and then goes on with the turn, even with another model call. The turn's own
// end follows with agent_turn_completed and a second idle.
// Seen on: 0.215, 0.225.
// Quirk: 3.
// Fixtures: eof_midstream_0.225.txtar.
//
// The idle without agent_turn_completed is held back by idled; busy and
// resultArrived take it back as soon as droid shows that it goes on.

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
