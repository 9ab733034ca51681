package serve

import (
	"bytes"
	"fmt"
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/visible"
)

// join shows a client a session that others have, or that runs: where its request is a load with all that was said, else
// with the turn that runs, and then as it goes on. note is for it alone, "" for none.
func (o *session) join(c *Client, request []byte, h jsonrpc.Head, note string) {
	id := bytes.Clone(h.ID)
	c.setAlias(o, textAt(paramsOf(request, h), "sessionId"))
	joined := o.subscriber(c) != nil
	w := o.subscribe(c)
	if h.Method == "session/load" {
		o.replay(w, 0, func() { o.joined(w, id, note) })
		return
	}
	o.answer(c, id)
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

// answer is the answer to a client that has opened the session.
func (o *session) answer(c *Client, id []byte) { c.put(jsonrpc.EncodeResult(id, o.openResult(c))) }

// joined answers a client that was told all from the beginning.
func (o *session) joined(w *subscriber, id []byte, note string) {
	o.sendText(w.client, note)
	if o.subscriber(w.client) == w && !w.receptive() && o.state() != Idle {
		o.sendText(w.client, o.runningNotice())
	}
	o.answer(w.client, id)
}

// runningNotice is for who loads a session and is told nothing more of its turn for now.
func (o *session) runningNotice() string {
	asks := ".**"
	if title := o.info().Question; title != "" {
		asks = ", and asks:** " + markdown.Code(visible.Line(title)) + "."
	}
	return "\n\n**A turn still runs here" + asks + " This client shows what it says and asks only while a prompt of yours is under way. " +
		"Send one: it waits until that turn has ended. The command `status` will do; it asks no model."
}

// deferPrompt has a client's prompt wait until the client was told what it has missed. It reports whether it is to.
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

// replay tells a client beside the caller what the journal has from there on, and then what was said
// meanwhile and is asked, unless it joins again before that or leaves. done, if not nil, is called
// before what is asked.
func (o *session) replay(w *subscriber, from int64, done func()) {
	w.replays++
	w.replaying, w.pending, w.bytes, w.missing = true, nil, 0, false
	nth := w.replays
	loads := done != nil
	lost := w.lost && !loads
	w.lost = false
	journal, end, partial := o.journal, o.journal.put, o.partial && from == 0
	shown := func(line []byte) []byte { return o.adapt(w.client, line, loads) }
	passed := func(line []byte) bool { return loads || !w.client.caps.IgnoresUpdatesOutsidePrompt || inTurns(line) }
	say := func(text string) {
		o.server.mu.Lock()
		defer o.server.mu.Unlock()
		o.sendText(w.client, text)
	}
	o.server.work.Go(func() {
		if partial {
			say("What was said before this session was opened here is not shown. Load it again when it rests: " + o.server.Agent.HistoryOwnerName() + " has all of it.")
		}
		if lost {
			say("What was said here since your last prompt is not all shown: this session was loaded anew. " +
				"Load it again when it rests: " + o.server.Agent.HistoryOwnerName() + " has all of it.")
		}
		err := journal.file.read(from, end, func(lost int64) {
			say(fmt.Sprintf("The first %d kB of what was said here are no longer kept. Load the session again when it rests: %s has all of it.", lost>>10, o.server.Agent.HistoryOwnerName()))
		}, func(line []byte) {
			if _, is := workMark(line); is {
				return
			}
			for full := w.client.out.Full(); full != nil; full = w.client.out.Full() {
				<-full
			}
			o.server.mu.Lock()
			defer o.server.mu.Unlock()
			if w.replays == nth && passed(line) { // else it is told all of it by the next one
				w.client.send(shown(line))
			}
		})
		if err != nil {
			say(fmt.Sprintf("What was said here before cannot be shown: %v. Load the session again when it rests: %s has all of it.", err, o.server.Agent.HistoryOwnerName()))
		}
		o.server.mu.Lock()
		defer o.server.mu.Unlock()
		o.finishReplay(w, nth, shown, done)
	})
}

// finishReplay ends the nth retelling.
func (o *session) finishReplay(w *subscriber, nth int, shown func([]byte) []byte, done func()) {
	current := w.replays == nth && o.subscriber(w.client) == w
	if current {
		for _, message := range w.pending {
			w.client.send(shown(message))
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

// separateTurns sets what a client is told of other turns apart from the answer to its own prompt, where it would show both
// as one message.
func (o *session) separateTurns(w *subscriber) {
	if w.client.caps.IgnoresUpdatesOutsidePrompt {
		o.sendText(w.client, "\n\n---\n\n")
	}
}

// offerQuestions sends what is asked to those who have come to hear it.
func (o *session) offerQuestions() {
	for _, q := range slices.Clone(o.questions) {
		q.offer()
	}
}

// sendText shows words of the server's own, if there are any, to one client alone.
func (o *session) sendText(c *Client, text string) {
	if text != "" {
		line, err := o.encode(agentText(text))
		c.put(line, err)
	}
}
