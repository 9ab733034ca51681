package adapter

import (
	"bytes"
	"encoding/json"
	"io"
	"sync/atomic"
	"time"
)

// unanswered counts the requests that passed the gate and have no response
// yet, so that the agent does not end before the last response is on its way:
// the SDK writes it after the handler has returned, from a goroutine that
// nobody can wait for.
type unanswered struct {
	n    atomic.Int64
	none chan struct{} // has a token after n fell to zero
}

func newUnanswered() *unanswered { return &unanswered{none: make(chan struct{}, 1)} }

func (u *unanswered) add() { u.n.Add(1) }

func (u *unanswered) done() {
	if u.n.Add(-1) == 0 {
		select {
		case u.none <- struct{}{}:
		default:
		}
	}
}

// wait returns when every request has its response, or after limit. It reports
// whether all have.
func (u *unanswered) wait(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for u.n.Load() > 0 {
		select {
		case <-u.none:
		case <-timer.C:
			return false
		}
	}
	return true
}

// answers is the way to the outbox for the SDK's connection. It notes the
// responses among what it writes.
type answers struct {
	io.Writer
	unanswered *unanswered
}

func (a answers) Write(line []byte) (int, error) {
	n, err := a.Writer.Write(line)
	if isResponse(line) {
		a.unanswered.done()
	}
	return n, err
}

// isResponse tells a response from the SDK's requests and notifications: it has
// an id and no method. The SDK writes the method, if any, before what may be
// long.
func isResponse(line []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	hasID := false
	for {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		switch key {
		case "method":
			return false
		case "result", "error":
			return hasID
		case "id":
			hasID = true
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return false
		}
	}
}
