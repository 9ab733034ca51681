package quirks

// What droid does: when a model call breaks off, droid retries it, and the deltas of the second answer come under the same message ID after
// those of the first. In between 0.225 sends assistant_message_retracted after an llm_retry, 0.215 only the latter, and 0.99 nothing at
// all. The snapshot has only the second answer.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 6.
// Fixtures: retry_midstream_0.99.txtar, retry_midstream_0.225.txtar.

import (
	"slices"
	"strings"

	"droid-acp/internal/droid/stream"
)

// retract declares what was sent of m void. What follows gets another ID.
func (n *Normalizer) retract(m *message) {
	if len(m.blocks) == 0 {
		return
	}
	n.emit(TextRetracted{MessageID: m.publicID()})
	m.attempt++
	m.reset()
}

// restarted reports whether the sent text of m ends with the text of its snapshot. Then the answer broke off without notice and was
// repeated in full (0.99), so only the beginning is void.
func (n *Normalizer) restarted(m *message, content []stream.ContentBlock) bool {
	text, thinking := readable(content)
	if len(text) == 0 {
		return false
	}
	ev := TextRestarted{MessageID: m.publicID(), Text: strings.Join(text, "")}
	said := &m.sentText[kindOf(false)]
	ev.Void = said.size - len(ev.Text)
	holds := said.has(ev.Void, ev.Text)
	if len(thinking) > 0 { // otherwise this version may omit it from its history
		said, whole := &m.sentText[kindOf(true)], strings.Join(thinking, "")
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

// llmRetry retracts what the failed attempt had streamed, and ends the tool calls that it had begun to write. A following
// assistant_message_retracted has no effect.
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
