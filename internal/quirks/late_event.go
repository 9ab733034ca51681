package quirks

// What droid does: after an interrupt, idle may precede results and system messages of the turn that it ends, and deltas that were in
// transit.
// Seen on: a release between 0.99 and 0.215 (permission pending).
// Quirk: 1, last sentence.
// Fixtures: none recorded; TestQuirk01_LateEventsOfCancelledTurn.

// A prompt that has ended never starts again; otherwise a late echo would start a turn that never ends.

// closeMessages makes late parts of a cancelled turn's messages be ignored. Late messages that had not begun still pass, so nothing is
// lost.
func (n *Normalizer) closeMessages() {
	for _, m := range n.live {
		m.done = true
		m.reset()
	}
}

// late reports whether an event may be a late one of a cancelled turn.
func (n *Normalizer) late() bool {
	return n.lastTurn.cancelled && (n.turn == nil || !n.turn.active)
}
