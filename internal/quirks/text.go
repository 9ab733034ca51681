package quirks

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"droid-acp/internal/droid/stream"
)

// message is an assistant message and what was sent of it.
type message struct {
	id       string
	attempt  int  // of the model; the second one has the ID "<id>~2"
	done     bool // the snapshot has arrived or the turn was cancelled: the rest is repetition
	mixed    bool // blocks were interleaved
	blocks   []*block
	sentText [2]sentText // text and thinking in the order in which they were sent
}

// block is the sent text of one content block: a contiguous part of said, unless blocks were interleaved.
type block struct {
	index       int
	thought     bool
	start, size int
	sum         *maphash.Hash // of the text, once that is no longer kept
}

// publicID returns the ID under which the message's text is sent.
func (m *message) publicID() string {
	if m.attempt == 1 {
		return m.id
	}
	return fmt.Sprintf("%s~%d", m.id, m.attempt)
}

// dropText drops the message's text and from now on keeps only the size and a hash of each block. A model that was asked to stop may write a
// lot before it does.
func (m *message) dropText() {
	for _, b := range m.blocks {
		if b.sum == nil {
			b.sum = new(maphash.Hash)
			m.sentText[kindOf(b.thought)].each(b.start, b.size, func(piece string) {
				_, _ = b.sum.WriteString(piece) // never fails
			})
		}
	}
	m.sentText[kindOf(false)].drop()
	m.sentText[kindOf(true)].drop()
}

// isText reports whether text, which is as long as block b, equals the text that was sent of b.
func (m *message) isText(b *block, text string) bool {
	if b.sum != nil {
		return maphash.String(b.sum.Seed(), text) == b.sum.Sum64()
	}
	return m.sentText[kindOf(b.thought)].has(b.start, text)
}

// reset drops what was sent.
func (m *message) reset() { m.blocks, m.mixed, m.sentText = nil, false, [2]sentText{} }

// block returns the block of a delta, usually the last one.
func (m *message) block(index int, thought bool) *block {
	for i, b := range slices.Backward(m.blocks) {
		if b.index == index && b.thought == thought {
			m.mixed = m.mixed || i != len(m.blocks)-1
			return b
		}
	}
	if len(m.blocks) > 0 && m.blocks[len(m.blocks)-1].index > index {
		m.mixed = true
	}
	b := &block{index: index, thought: thought, start: m.sentText[kindOf(thought)].size}
	m.blocks = append(m.blocks, b)
	return b
}

// sent returns the sent blocks of text or of thinking.
func (m *message) sent(thought bool) []*block {
	var sent []*block
	for _, b := range m.blocks {
		if b.thought == thought {
			sent = append(sent, b)
		}
	}
	return sent
}

func (n *Normalizer) message(id string) *message {
	m := n.messages[id]
	if m == nil {
		m = &message{id: id, attempt: 1}
		n.messages[id] = m
	}
	return m
}

// textDelta emits text as it arrives.
func (n *Normalizer) textDelta(d stream.TextDelta) {
	m := n.message(d.MessageID)
	if m.done || d.Text == "" {
		return // see repeated_event.go
	}
	n.busy()
	if m.done {
		return // it belonged to the turn that just ended
	}
	if !slices.Contains(n.live, m) {
		n.live = append(n.live, m)
		n.modelCalled()
	}
	b := m.block(d.BlockIndex, d.Thinking)
	if n.turn != nil && n.turn.interrupted {
		m.dropText()
	}
	if b.sum != nil {
		_, _ = b.sum.WriteString(d.Text) // never fails
	}
	b.size += len(d.Text)
	m.sentText[kindOf(d.Thinking)].add(d.Text)
	n.emit(Text{MessageID: m.publicID(), Thought: d.Thinking, Text: d.Text})
}

// assistantMessage compares a snapshot with what was sent and emits the rest.
func (n *Normalizer) assistantMessage(msg stream.Message) {
	m := n.message(msg.ID)
	if m.done {
		return
	}
	held := n.turn != nil && n.turn.idle && !n.turn.concurrentIdle && !n.completes
	if !held {
		n.busy()
	}
	if m.done {
		return // it belonged to the turn that just ended
	}
	if msg.Visibility != stream.VisibilityLLMOnly {
		n.sendMissing(m, msg.Content)
	}
	n.messageDone(m)
	if t := n.turn; t != nil {
		t.awaiting, t.refused = false, false
		t.recovered = t.failure != nil
		t.complete = !slices.ContainsFunc(msg.Content, isToolUse)
	}
	n.messageArrived()
}

// sendMissing emits what the snapshot has and the deltas had not, and the tool calls.
func (n *Normalizer) sendMissing(m *message, content []stream.ContentBlock) {
	rest, ok := m.missing(content)
	if !ok {
		rest, ok = m.missing(m.asSent(content))
	}
	if !ok && !n.restarted(m, content) {
		n.retract(m)
		rest, _ = m.missing(content)
	}
	for _, r := range rest {
		r.MessageID = m.publicID()
		n.emit(r)
	}
	for _, b := range content {
		if isToolUse(b) {
			n.toolSnapshot(b)
		}
	}
	if !ok {
		n.abandonCalls()
	}
}

// missing returns the texts of content that were not sent; false if something else was sent. Thinking is compared only if the snapshot has
// any: a version may stream it and omit it from its history.
func (m *message) missing(content []stream.ContentBlock) (rest []Text, ok bool) {
	if m.mixed {
		return nil, false
	}
	text, thinking := readable(content)
	ok = true
	for _, kind := range []struct {
		thought bool
		whole   []string
	}{{true, thinking}, {false, text}} {
		if kind.thought && len(kind.whole) == 0 {
			continue
		}
		missing, fits := m.suffixes(kind.thought, kind.whole)
		ok = ok && fits
		for _, s := range missing {
			rest = append(rest, Text{Thought: kind.thought, Text: s})
		}
	}
	return rest, ok
}

// suffixes returns what must be appended to what was sent to yield whole. Only the last sent block may be incomplete.
func (m *message) suffixes(thought bool, whole []string) (missing []string, ok bool) {
	sent := m.sent(thought)
	if len(sent) > len(whole) {
		return nil, false
	}
	for i, w := range whole {
		if i >= len(sent) {
			missing = append(missing, w)
			continue
		}
		n := sent[i].size
		if n > len(w) || n < len(w) && i != len(sent)-1 || !m.isText(sent[i], w[:n]) {
			return nil, false
		}
		if n < len(w) {
			missing = append(missing, w[n:])
		}
	}
	return missing, true
}

// readable returns the non-empty texts and thoughts of a message.
func readable(content []stream.ContentBlock) (text, thinking []string) {
	for _, b := range content {
		switch {
		case b.Type == "text" && b.Text != "":
			text = append(text, b.Text)
		case b.Type == "thinking" && b.Thinking != "":
			thinking = append(thinking, b.Thinking)
		}
	}
	return text, thinking
}

// kindOf returns the index of text or thinking in message.said.
func kindOf(thought bool) int {
	if thought {
		return 1
	}
	return 0
}

func isToolUse(b stream.ContentBlock) bool { return b.Type == "tool_use" }

// plainText joins the text blocks of a message.
func plainText(msg stream.Message) string {
	text, _ := readable(msg.Content)
	return strings.Join(text, "\n")
}
