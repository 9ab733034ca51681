package quirks

// What droid does: idle comes before the snapshot of the last message.
// Seen on: 0.36.2 (the adapter notes in the seeds); never on 0.99 or later.
// Quirk: 1.
// Fixtures: premature_idle_0.36.txtar, idle_without_message_0.36.txtar.

import (
	"time"

	"droid-acp/internal/droid/stream"
)

// snapshotAfterIdle is how long an idle waits for the message it overtook.
// When none comes, the text as streamed is all there is.
const snapshotAfterIdle = 1 * time.Second

// outstanding reports whether a message was begun whose snapshot is missing.
// Where droid may send a message in its snapshot alone, only droid's state tells
// that one was begun; after a refusal no message follows.
func (n *Normalizer) outstanding() bool {
	if len(n.live) > 0 {
		return true
	}
	t := n.turn
	return !n.version.Has(stream.StreamsMessages) && t.awaiting && !t.refused
}

// messageArrived ends the turn if an idle only waited for this message. After a
// message that calls tools another one follows, so then the idle waits once more.
func (n *Normalizer) messageArrived() {
	t := n.turn
	switch {
	case t == nil || !t.idle || n.completes:
	case len(n.tools.open) > 0 || n.outstanding():
		t.hold = n.now.Add(snapshotAfterIdle)
	default:
		n.finish()
	}
}
