package quirks

// What droid does: a message sent while droid streams text waits, and after idle droid starts it by itself as a separate turn. A message
// sent while a tool runs or a permission is pending joins the running turn instead and gets no separate idle. An interrupt drops waiting
// messages and reports that once for all of them: their texts separated by an empty line (0.99) or not at all (0.215, 0.225), and, for a
// single one since 0.215, its request ID.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 2, 11.
// Fixtures: message_while_tool_0.225.txtar, message_while_streaming_0.225.txtar.

import (
	"slices"
	"strings"

	"droid-acp/internal/droid/stream"
)

// userMessage determines which turn a user message belongs to. Messages for the model only are skipped.
func (n *Normalizer) userMessage(ev stream.MessageCreated) {
	if ev.RequestID == "" && hidden(ev.Message) || seenBefore(n.seen, ev.Message.ID) {
		return
	}
	if t := n.turn; t != nil && (t.completed != nil || t.idle) && (ev.RequestID == "" || ev.RequestID != t.requestID) {
		n.finish() // droid has moved on
	}
	if _, over := n.endedPrompts[ev.RequestID]; over && ev.RequestID != "" {
		return // an echo after the end of its turn, see late_event.go
	}
	t, id := n.turn, ev.Message.ID
	switch {
	case t != nil && !t.echoed && (ev.RequestID == "" || ev.RequestID == t.requestID):
		t.echoedIn(ev.Trace)
		n.start(t, id)
	case t != nil && ev.RequestID == "":
		n.emit(Other{Event: ev}) // a message of droid to the model, as after a plan in a new session
	case t != nil && ev.RequestID == t.requestID: // repeated
	case t != nil && t.echoed:
		if w := n.waitingTurn(ev.RequestID); w != nil {
			n.waitingTurns = slices.DeleteFunc(n.waitingTurns, func(o *turn) bool { return o == w })
			t.merged = append(t.merged, w.requestID)
		}
		t.echoedIn(ev.Trace)
		n.emit(PromptMerged{RequestID: ev.RequestID, MessageID: id})
	default:
		n.startOther(ev, id)
	}
}

// startOther starts a turn other than the expected one, which continues to wait.
func (n *Normalizer) startOther(ev stream.MessageCreated, messageID string) {
	t := n.waitingTurn(ev.RequestID)
	if t == nil {
		t = &turn{requestID: ev.RequestID, awaiting: n.state == stream.StateStreaming}
	}
	t.echoedIn(ev.Trace)
	n.waitingTurns = slices.DeleteFunc(n.waitingTurns, func(w *turn) bool { return w == t })
	if n.turn != nil {
		n.turn.active = false
		n.waitingTurns = slices.Insert(n.waitingTurns, 0, n.turn)
	}
	n.start(t, messageID)
}

// discarded emits that waiting messages were dropped, and ends their turns. For a message that arrived while droid was stopping, droid
// reports this after idle.
func (n *Normalizer) discarded(ev stream.QueuedMessagesDiscarded) {
	if t := n.unechoed(ev.RequestID); t != nil {
		n.discard(t, ev.Text)
		return
	}
	of := n.textsOf(ev)
	if t := n.oldestQueued(); ev.RequestID == "" && len(of) == 0 && t != nil {
		n.discard(t, ev.Text)
		return
	}
	if len(of) == 0 {
		n.emit(PromptDropped{RequestID: ev.RequestID, Text: ev.Text})
	}
	for _, t := range of {
		n.discard(t, t.text)
	}
}

func (n *Normalizer) discard(t *turn, text string) {
	n.emit(PromptDropped{RequestID: t.requestID, Text: text})
	n.drop(t, TurnEnded{Outcome: Dropped})
}

// textsOf finds the prompts in a discarded text for which droid gives no request ID: each prompt's text is a part of it that ends at the
// end of a line.
func (n *Normalizer) textsOf(ev stream.QueuedMessagesDiscarded) []*turn {
	if ev.RequestID != "" {
		return nil
	}
	var of []*turn
	rest := strings.TrimSpace(ev.Text)
	for _, t := range append([]*turn{n.turn}, n.waitingTurns...) {
		if t == nil || t.echoed {
			continue
		}
		said := strings.TrimSpace(t.text)
		after, ok := strings.CutPrefix(rest, said)
		if said == "" || !ok || after != "" && after[0] != '\n' {
			continue
		}
		of, rest = append(of, t), strings.TrimSpace(after)
	}
	return of
}

// oldestQueued returns the oldest prompt that droid may have queued, or else the one that it has not started, or nil.
func (n *Normalizer) oldestQueued() *turn {
	var unechoed *turn
	if n.turn != nil && !n.turn.echoed {
		unechoed = n.turn
	}
	if unechoed != nil && unechoed.queued {
		return unechoed
	}
	for _, t := range n.waitingTurns {
		if !t.echoed {
			return t
		}
	}
	return unechoed
}
