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
	c.know(o, textAt(paramsOf(request, h), "sessionId"))
	joined := o.watcher(c) != nil
	w := o.attach(c)
	if h.Method == "session/load" {
		o.retell(w, 0, func() { o.joined(w, id, note) })
		return
	}
	o.answer(c, id)
	o.announceSubagents(c, o.id)
	o.sayTo(c, note)
	if !joined && o.working {
		w.misses(o.turnFrom)
	}
	if w.missing && w.hears() {
		o.retell(w, w.missed, nil)
	} else {
		o.offer()
	}
}

// answer is the answer to a client that has opened the session.
func (o *session) answer(c *Client, id []byte) { c.put(jsonrpc.EncodeResult(id, o.opened(c))) }

// joined answers a client that was told all from the beginning.
func (o *session) joined(w *watcher, id []byte, note string) {
	o.sayTo(w.client, note)
	if o.watcher(w.client) == w && !w.hears() && o.state() != Idle {
		o.sayTo(w.client, o.stillRuns())
	}
	o.markReplayEnd(w.client)
	o.answer(w.client, id)
}

// stillRuns is for who loads a session and is told nothing more of its turn for now.
func (o *session) stillRuns() string {
	asks := ".**"
	if title := o.info().Question; title != "" {
		asks = ", and asks:** " + markdown.Code(visible.Line(title)) + "."
	}
	return "\n\n**A turn still runs here" + asks + " This client shows what it says and asks only while a prompt of yours is under way. " +
		"Send one: it waits until that turn has ended. The command `status` will do; it asks no model."
}

// promptLater has a client's prompt wait until the client was told what it has missed. It reports whether it is to.
func (o *session) promptLater(c *Client, line []byte) bool {
	w := o.watcher(c)
	switch {
	case w == nil || !w.missing && !w.lost && len(w.after) == 0:
		return false
	case w.joining:
	case w.missing:
		o.retell(w, w.missed, nil)
	case w.lost:
		o.retell(w, o.journal.put, nil)
	}
	w.after = append(w.after, c.later(line))
	return true
}

// retell tells a client beside the caller what the journal has from there on, and then what was said
// meanwhile and is asked, unless it joins again before that or leaves. done, if not nil, is called
// before what is asked.
func (o *session) retell(w *watcher, from int64, done func()) {
	w.joins++
	w.joining, w.held, w.bytes, w.missing = true, nil, 0, false
	nth := w.joins
	loads := done != nil
	lost := w.lost && !loads
	w.lost = false
	journal, end, partial := o.journal, o.journal.put, o.partial && from == 0
	shown := func(line []byte) []byte { return o.shown(w.client, line, loads) }
	passed := func(line []byte) bool { return loads || !w.client.caps.IgnoresUpdatesOutsidePrompt || inTurns(line) }
	say := func(text string) {
		o.server.mu.Lock()
		defer o.server.mu.Unlock()
		o.sayTo(w.client, text)
	}
	o.server.work.Go(func() {
		if partial {
			say("What was said before this session was opened here is not shown. Load it again when it rests: " + o.server.Agent.Keeper() + " has all of it.")
		}
		if lost {
			say("What was said here since your last prompt is not all shown: this session was loaded anew. " +
				"Load it again when it rests: " + o.server.Agent.Keeper() + " has all of it.")
		}
		err := journal.file.read(from, end, func(lost int64) {
			say(fmt.Sprintf("The first %d kB of what was said here are no longer kept. Load the session again when it rests: %s has all of it.", lost>>10, o.server.Agent.Keeper()))
		}, func(line []byte) {
			if _, is := workMark(line); is {
				return
			}
			for full := w.client.out.Full(); full != nil; full = w.client.out.Full() {
				<-full
			}
			o.server.mu.Lock()
			defer o.server.mu.Unlock()
			if w.joins == nth && passed(line) { // else it is told all of it by the next one
				w.client.send(shown(line))
			}
		})
		if err != nil {
			say(fmt.Sprintf("What was said here before cannot be shown: %v. Load the session again when it rests: %s has all of it.", err, o.server.Agent.Keeper()))
		}
		o.server.mu.Lock()
		defer o.server.mu.Unlock()
		o.retold(w, nth, shown, done)
	})
}

// retold ends the nth retelling.
func (o *session) retold(w *watcher, nth int, shown func([]byte) []byte, done func()) {
	current := w.joins == nth && o.watcher(w.client) == w
	if current {
		for _, message := range w.held {
			w.client.send(shown(message))
		}
		w.joining, w.held, w.bytes = false, nil, 0
	}
	if done != nil {
		done()
	}
	after := w.after
	w.after = nil
	if current && len(after) > 0 && !o.working {
		o.setApart(w)
	}
	for _, prompt := range after {
		prompt()
	}
	if current {
		o.offer()
	}
}

// setApart sets what a client is told of other turns apart from the answer to its own prompt, where it would show both
// as one message.
func (o *session) setApart(w *watcher) {
	if w.client.caps.IgnoresUpdatesOutsidePrompt {
		o.sayTo(w.client, "\n\n---\n\n")
	}
}

// offer sends what is asked to those who have come to hear it.
func (o *session) offer() {
	for _, q := range slices.Clone(o.asked) {
		q.offer()
	}
}

// sayTo shows words of the server's own, if there are any, to one client alone.
func (o *session) sayTo(c *Client, text string) {
	if text != "" {
		line, err := o.encode(ownWords(text))
		c.put(line, err)
	}
}
