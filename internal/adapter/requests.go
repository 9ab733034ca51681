package adapter

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// requests are those of the editor's requests that have no response yet. The SDK
// writes a response after its handler has returned, from a goroutine that nobody
// can wait for, and ends the request's context before that when the request was
// cancelled. So the one sign that a response is on its way is that it passes
// answers.
type requests struct {
	mu   sync.Mutex
	open map[string][]*request // by id; nothing keeps an editor from using one twice
	none chan struct{}         // has a token after the last one was answered
}

// request is one request of the editor.
type request struct {
	of       *requests
	answered bool     // its response is in the outbox
	after    []func() // called then
}

func newRequests() *requests {
	return &requests{open: make(map[string][]*request), none: make(chan struct{}, 1)}
}

// add notes a request that has passed the gate.
func (r *requests) add(id json.RawMessage) *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, key := &request{of: r}, idKey(id)
	r.open[key] = append(r.open[key], q)
	return q
}

// responded notes that the response with this id is in the outbox.
func (r *requests) responded(id json.RawMessage) {
	r.mu.Lock()
	key := idKey(id)
	same := r.open[key]
	if len(same) == 0 {
		r.mu.Unlock()
		return
	}
	q := same[0]
	if r.open[key] = same[1:]; len(same) == 1 {
		delete(r.open, key)
	}
	q.answered = true
	after := q.after
	q.after = nil
	if len(r.open) == 0 {
		select {
		case r.none <- struct{}{}:
		default:
		}
	}
	r.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// whenAnswered calls f, which must not block, when the response is in the outbox:
// what is sent from then on comes after it. A notification, which is no request
// and has no response, calls f at once.
func (q *request) whenAnswered(f func()) {
	if q == nil {
		f()
		return
	}
	q.of.mu.Lock()
	if !q.answered {
		q.after = append(q.after, f)
		q.of.mu.Unlock()
		return
	}
	q.of.mu.Unlock()
	f()
}

// wait returns when every request has its response, or after limit. It reports
// whether all have.
func (r *requests) wait(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		r.mu.Lock()
		n := len(r.open)
		r.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-r.none:
		case <-timer.C:
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

// answers is the way to the outbox for the SDK's connection. It notes the
// responses among what it writes.
type answers struct {
	io.Writer
	requests *requests
}

func (a answers) Write(line []byte) (int, error) {
	n, err := a.Writer.Write(line)
	if id := responseID(line); id != nil {
		a.requests.responded(id) // also when the editor is gone: nobody waits for it then
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
