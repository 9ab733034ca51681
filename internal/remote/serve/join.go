package serve

import (
	"bytes"
	"fmt"
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// join adds a client to a session that other clients have open, or that works. A load replays all of the conversation, another method the
// running turn; updates follow. note is shown to this client alone, "" for none.
func (o *session) join(c *Client, request []byte, h jsonrpc.Head, note string) {
	id := bytes.Clone(h.ID)
	c.setAlias(o, textAt(paramsOf(request, h), "sessionId"))
	joined := o.subscriber(c) != nil
	w := o.subscribe(c)
	c.logSession("a client joined a session", o)
	if h.Method == "session/load" {
		o.replay(w, 0, func() { o.joined(w, id, note) })
		return
	}
	o.answer(c, id)
	o.announceSubagents(c, o.id)
	o.sendText(c, note)
	if !joined && o.working {
		w.markMissed(o.turnFrom)
	}
	if w.missing && w.receptive() {
		o.replay(w, w.missed, nil)
	} else {
		o.offerQuestions()
	}
}

// answer answers a client that has opened the session.
func (o *session) answer(c *Client, id []byte) { c.put(jsonrpc.EncodeResult(id, o.openResult(c))) }

// joined answers a client after a replay from the beginning.
func (o *session) joined(w *subscriber, id []byte, note string) {
	o.sendText(w.client, note)
	if o.subscriber(w.client) == w && !w.receptive() && o.state() != Idle {
		o.sendText(w.client, o.runningNotice())
	}
	o.markReplayEnd(w.client)
	o.answer(w.client, id)
}

// runningNotice is for a client that loads a session and is sent nothing more of the running turn for now.
func (o *session) runningNotice() string {
	asks := ".**"
	if title := o.info().Question; title != "" {
		asks = ", and asks:** " + markdown.Code(visible.Line(title)) + "."
	}
	return "\n\n**A turn still runs here" + asks + " This client shows what it says and asks only while a prompt of yours is under way. " +
		"Send one: it waits until that turn has ended. The command `status` will do; it asks no model."
}

// deferPrompt holds a client's prompt back until what the client has missed was replayed to it. It reports whether it does.
func (o *session) deferPrompt(c *Client, line []byte) bool {
	w := o.subscriber(c)
	switch {
	case w == nil || !w.missing && !w.lost && len(w.afterReplay) == 0:
		return false
	case w.replaying:
	case w.missing:
		o.replay(w, w.missed, nil)
	case w.lost:
		o.replay(w, o.journal.put, nil)
	}
	w.afterReplay = append(w.afterReplay, c.deferred(line))
	return true
}

// deferBehind holds a client's message back while a prompt of it waits, so that it comes behind that. It reports whether it does.
func (o *session) deferBehind(c *Client, line []byte) bool {
	w := o.subscriber(c)
	if w == nil || len(w.afterReplay) == 0 {
		return false
	}
	w.afterReplay = append(w.afterReplay, c.deferred(line))
	return true
}

// deferCancel holds a client's $/cancel_request back if requests of the client wait here, one of which it may be about. It reports whether it
// does.
func (o *session) deferCancel(c *Client, line []byte) bool {
	again := func(line []byte, h jsonrpc.Head) {
		if !c.cancelCall(line, h) {
			o.deferCancel(c, line)
		}
	}
	w := o.subscriber(c)
	switch {
	case o.loader == c, o.changing && len(o.later) > 0:
		o.later = append(o.later, c.deferredTo(line, again))
	case w != nil && len(w.afterReplay) > 0:
		w.afterReplay = append(w.afterReplay, c.deferredTo(line, again))
	default:
		return false
	}
	return true
}

// replay sends a client the journal from an offset on. done, if not nil, is called before the questions: the client loads the session.
func (o *session) replay(w *subscriber, from int64, done func()) {
	o.startReplay(w, replay{from: from, done: done, loads: done != nil})
}

// replay describes the part of a journal that is sent to a client.
type replay struct {
	from  int64  // the offset in the journal
	loads bool   // the client loads the whole conversation
	done  func() // called before the questions; may be nil
	lost  func() // called instead of done if a part is missing; nil to notify the client's user
}

// startReplay sends a client, in a goroutine, the journal, and then the messages held back since and the open questions, unless another
// replay begins before that or the client leaves.
func (o *session) startReplay(w *subscriber, r replay) {
	w.replays++
	w.replaying, w.pending, w.bytes, w.missing = true, nil, 0, false
	nth := w.replays
	lost := w.lost && !r.loads
	w.lost = false
	journal, end, partial := o.journal, o.journal.put, o.partial && r.from == 0 && r.lost == nil
	shown := func(line []byte, at cursor) []byte { return o.marked(w.client, o.adapt(w.client, line, r.loads), at) }
	passed := func(line []byte) bool {
		return !w.client.sentBy(line) && (r.done != nil || !w.client.caps.IgnoresUpdatesOutsidePrompt || inTurns(line))
	}
	incomplete := false
	say := func(text string) {
		o.server.mu.Lock()
		defer o.server.mu.Unlock()
		if incomplete = r.lost != nil; !incomplete {
			o.sendText(w.client, text)
		}
	}
	o.server.work.Go(func() {
		if partial {
			say("What was said before this session was opened here is not shown. Load it again when it rests: " + o.server.Agent.HistoryOwnerName() + " has all of it.")
		}
		if lost {
			say("What was said here since your last prompt is not all shown: this session was loaded anew. " +
				"Load it again when it rests: " + o.server.Agent.HistoryOwnerName() + " has all of it.")
		}
		err := journal.file.read(r.from, end, func(lost int64) {
			say(fmt.Sprintf("The first %d kB of what was said here are no longer kept. Load the session again when it rests: %s has all of it.", lost>>10, o.server.Agent.HistoryOwnerName()))
		}, func(line []byte, end int64) {
			if _, is := workMark(line); is {
				return
			}
			for full := w.client.out.Full(); full != nil; full = w.client.out.Full() {
				<-full
			}
			o.server.mu.Lock()
			defer o.server.mu.Unlock()
			if w.replays == nth && !incomplete && passed(line) { // otherwise the next replay sends all of it
				w.client.send(shown(line, cursor{journal.epoch, end}))
			}
		})
		if err != nil {
			say(fmt.Sprintf("What was said here before cannot be shown: %v. Load the session again when it rests: %s has all of it.", err, o.server.Agent.HistoryOwnerName()))
		}
		o.server.mu.Lock()
		defer o.server.mu.Unlock()
		if incomplete {
			r.done, w.pending = r.lost, nil
		}
		o.finishReplay(w, nth, shown, r.done)
	})
}

// finishReplay ends the nth replay.
func (o *session) finishReplay(w *subscriber, nth int, shown func(line []byte, at cursor) []byte, done func()) {
	current := w.replays == nth && o.subscriber(w.client) == w
	if current {
		for _, message := range w.pending {
			w.client.send(shown(message.text, message.at))
		}
		w.replaying, w.pending, w.bytes = false, nil, 0
	}
	if done != nil {
		done()
	}
	after := w.afterReplay
	w.afterReplay = nil
	if current && len(after) > 0 && !o.working {
		o.separateTurns(w)
	}
	for _, prompt := range after {
		prompt()
	}
	if current {
		o.offerQuestions()
	}
}

// separateTurns separates updates of other turns from the answer to a client's own prompt, where the client would show both as one message.
func (o *session) separateTurns(w *subscriber) {
	if w.client.caps.IgnoresUpdatesOutsidePrompt {
		o.sendText(w.client, "\n\n---\n\n")
	}
}

// offerQuestions sends the open questions to clients that may answer them by now.
func (o *session) offerQuestions() {
	for _, q := range slices.Clone(o.questions) {
		q.offer()
	}
}

// sendText shows a text of the server to one client alone, if it is not empty.
func (o *session) sendText(c *Client, text string) {
	if text != "" {
		line, err := o.encode(agentText(text))
		c.put(line, err)
	}
}
