package quirks

// What droid does: after an interrupt the idle may come before the results and
// system messages of the turn it ends, and deltas that were under way.
// Seen on: a release between 0.99 and 0.215 (permission pending).
// Quirk: 1, last sentence.
// Fixtures: none recorded; TestQuirk01_LateEventsOfCancelledTurn.

// A prompt that has ended never starts again, so that a late echo begins no turn
// whose end nobody would say.

// closeMessages makes late parts of a cancelled turn's messages vanish. Late
// messages that had not begun still pass: nothing is lost.
func (n *Normalizer) closeMessages() {
	for _, m := range n.live {
		m.done = true
		m.forget()
	}
}

// late reports whether an event without an owner may be a straggler of a turn
// that was cancelled.
func (n *Normalizer) late() bool {
	return n.last.cancelled && (n.turn == nil || !n.turn.stirred)
}
