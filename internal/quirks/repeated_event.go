package quirks

import "slices"

// What droid does: the same create_message, tool_result or working state comes
// again.
// Seen on: 0.57.14 (the protocol notes in the seeds).
// Quirk: 38.
// Fixtures: repeated_events_0.57.txtar.
//
// Snapshots and deltas are dropped once a message is done, user and system
// messages once their id was seen, results once the call has ended (see
// repeated_result.go); states have no effect the second time.

// messageDone marks m as told in full and forgets its text.
func (n *Normalizer) messageDone(m *message) {
	m.done = true
	m.forget()
	n.live = slices.DeleteFunc(n.live, func(l *message) bool { return l == m })
	if m.id == "" {
		delete(n.messages, m.id) // without an id the next one is another message
	}
}
