package quirks

// What droid does: when a model call breaks off, droid repeats it, and the
// deltas of the second answer come under the same message id, after those of
// the first. 0.225 says assistant_message_retracted in between, after an
// llm_retry that 0.215 has alone; 0.99 says nothing at all. The
// snapshot has the second answer only.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 6.
// Fixtures: retry_midstream_0.99.txtar, retry_midstream_0.225.txtar.

import (
	"slices"
	"strings"

	"droid-acp/internal/droid/stream"
)

// retract declares void what was sent of m. What follows goes by another id.
func (n *Normalizer) retract(m *message) {
	if len(m.blocks) == 0 {
		return
	}
	n.emit(TextRetracted{MessageID: m.publicID()})
	m.attempt++
	m.forget()
}

// restarted reports whether the text that was sent of m ends with the text of its
// snapshot. Then the answer broke off, which droid did not say, and came again in
// full (0.99), so that only the beginning is void.
func (n *Normalizer) restarted(m *message, content []stream.ContentBlock) bool {
	text, thinking := readable(content)
	if len(text) == 0 {
		return false
	}
	ev := TextRestarted{MessageID: m.publicID(), Text: strings.Join(text, "")}
	said := &m.said[kindOf(false)]
	ev.Void = said.size - len(ev.Text)
	holds := said.has(ev.Void, ev.Text)
	if len(thinking) > 0 { // without any, this version may leave it out of its history
		said, whole := &m.said[kindOf(true)], strings.Join(thinking, "")
		ev.VoidThought = said.size - len(whole)
		holds = holds && said.has(ev.VoidThought, whole)
	}
	if holds && ev.Void+ev.VoidThought > 0 {
		n.emit(ev)
	}
	return holds
}

func (n *Normalizer) messageRetracted(ev stream.MessageRetracted) {
	m := n.messages[ev.MessageID]
	if m == nil || m.done {
		return
	}
	n.retract(m)
	n.live = slices.DeleteFunc(n.live, func(l *message) bool { return l == m })
}

// llmRetry retracts what the failed attempt had streamed, and ends the tool
// calls it had begun to spell out. After it assistant_message_retracted finds
// nothing left to retract.
func (n *Normalizer) llmRetry(ev stream.LLMRetry) {
	n.busy()
	for _, m := range n.live {
		n.retract(m)
	}
	n.live = nil
	n.abandonCalls()
	n.modelCalled()
	n.emit(Retrying{Attempt: ev.Attempt, Reason: ev.Reason})
}
