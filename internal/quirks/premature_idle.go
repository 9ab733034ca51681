package quirks

// What droid does: idle precedes the snapshot of the last message.
// Seen on: 0.36.2 (the adapter notes in the seeds); never on 0.99 or later.
// Quirk: 1.
// Fixtures: premature_idle_0.36.txtar, idle_without_message_0.36.txtar.

import (
	"time"

	"droid-acp/internal/droid/stream"
)

// snapshotAfterIdle is how long an idle waits for the message that it overtook. If none comes, the streamed text is complete.
const snapshotAfterIdle = 1 * time.Second

// outstanding reports whether the snapshot of a message is missing. In versions that may send a message as a snapshot only, droid's state
// is the only sign of it; after a refusal no message follows.
func (n *Normalizer) outstanding() bool {
	if len(n.live) > 0 {
		return true
	}
	t := n.turn
	return !n.version.Supports(stream.StreamsMessages) && t.awaiting && !t.refused
}

// messageArrived ends the turn if an idle was only waiting for this message. A message with tool calls is followed by another one, so then
// the idle waits again.
func (n *Normalizer) messageArrived() {
	t := n.turn
	switch {
	case t == nil || !t.idle || n.completes:
	case len(n.tools.open) > 0 || n.outstanding():
		t.deadline = n.now.Add(snapshotAfterIdle)
	default:
		n.finish()
	}
}
