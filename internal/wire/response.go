package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// pending are the requests of the editor that have no response yet. The SDK writes
// a response after its handler has returned, from a goroutine that nobody can wait
// for, and ends the request's context before that when the request was cancelled.
// So the one sign that a response is written is that it passes responseWriter.
type pending struct {
	mu   sync.Mutex
	open map[string][]*Response // by id; nothing keeps an editor from using one twice
	none chan struct{}          // has a token after the last one was written
}

// Response is the response to one request of the editor, which will be written
// some time. It does not hold the request's params.
type Response struct {
	of      *pending
	id      json.RawMessage
	written bool
	after   []func() // called then
}

func newPending() *pending {
	return &pending{open: make(map[string][]*Response), none: make(chan struct{}, 1)}
}

// add notes a request that has passed the gate.
func (p *pending) add(id json.RawMessage) *Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, key := &Response{of: p, id: id}, idKey(id)
	p.open[key] = append(p.open[key], r)
	return r
}

// written notes that the response with this id is in the outbox.
func (p *pending) written(id json.RawMessage) {
	for _, f := range p.take(id) {
		f()
	}
}

// take ends the wait for the response with this id. It returns what is to be called
// now.
func (p *pending) take(id json.RawMessage) (after []func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := idKey(id)
	same := p.open[key]
	if len(same) == 0 {
		return nil
	}
	r := same[0]
	if p.open[key] = same[1:]; len(same) == 1 {
		delete(p.open, key)
	}
	after, r.written, r.after = r.after, true, nil
	if len(p.open) == 0 {
		select {
		case p.none <- struct{}{}:
		default:
		}
	}
	return after
}

// ID is the id of the request, as the editor wrote it; nil for a notification's.
func (r *Response) ID() json.RawMessage {
	if r == nil {
		return nil
	}
	return r.id
}

// WhenWritten calls f, which must not block, once the response is written: it has
// its place on the way to the editor, and all that is sent from then on comes
// behind it. That the editor has read it is not said. f is called also when the
// editor is gone; at once, before WhenWritten returns, when the response is written
// already or r is nil, which is a notification's; else by the goroutine that writes
// the response.
func (r *Response) WhenWritten(f func()) {
	if r == nil || !r.later(f) {
		f()
	}
}

// later has f called with the response. It reports false when that is written.
func (r *Response) later(f func()) bool {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.written {
		return false
	}
	r.after = append(r.after, f)
	return true
}

// wait returns when every request has its response, or after limit. It reports
// whether all have.
func (p *pending) wait(limit time.Duration) bool {
	over := time.After(limit)
	for {
		p.mu.Lock()
		n := len(p.open)
		p.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-p.none:
		case <-over:
			return false
		}
	}
}

// idKey is the same for an id as the editor wrote it and as the SDK writes it
// back, which may escape a string in another way.
func idKey(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		return `"` + text
	}
	return string(bytes.TrimSpace(id))
}

// responseWriter is the way to the outbox for the SDK's connection. It notes the
// responses among what that writes.
type responseWriter struct {
	io.Writer
	pending *pending
}

func (w responseWriter) Write(line []byte) (int, error) {
	n, err := w.Writer.Write(line)
	if id := responseID(line); id != nil {
		w.pending.written(id) // also when the editor is gone: nobody waits for it then
	}
	return n, err
}

// responseID is the id of a response, nil for the SDK's requests and
// notifications: a response has an id and no method. The SDK writes the method, if
// any, before what may be long.
func responseID(line []byte) (id json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		switch key {
		case "method":
			return nil
		case "result", "error":
			return id
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		if key == "id" {
			id = value
		}
	}
}
