package quirks

import "slices"

// What droid does: it repeats the same create_message, tool_result or working state.
// Seen on: 0.57.14 (the protocol notes in the seeds).
// Quirk: 38.
// Fixtures: repeated_events_0.57.txtar.
//
// Snapshots and deltas are ignored once a message is done, user and system messages once their ID was seen, results once the call has ended
// (see repeated_result.go); a repeated state has no effect.

// messageDone marks m as complete and drops its text.
func (n *Normalizer) messageDone(m *message) {
	m.done = true
	m.reset()
	n.live = slices.DeleteFunc(n.live, func(l *message) bool { return l == m })
	if m.id == "" {
		delete(n.messages, m.id) // the next one without an ID is another message
	}
}
