package relay

import (
	"bytes"
	"encoding/json"
	"sync"

	"droid-acp/internal/jsonrpc"
)

// PendingRequests are the editor's unanswered requests. Its methods may be called from any goroutine.
type PendingRequests struct {
	failureSent chan struct{} // closed when a request was answered with failure

	mu         sync.Mutex
	waiting    map[string][]pendingRequest // by the key of their IDs; an editor may use an ID twice
	answered   bool                        // a request was answered
	nonPrompts int                         // number of pending requests other than prompts, which may take any time
	drained    chan struct{}               // closed when nonPrompts is 0; nil while nobody waits for that
	failure    *jsonrpc.Error              // why requests are no longer answered
}

type pendingRequest struct {
	id     json.RawMessage
	method string
}

// add records a request. It returns the error if requests are no longer answered.
func (c *PendingRequests) add(id json.RawMessage, method string) *jsonrpc.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return c.failure
	}
	if c.waiting == nil {
		c.waiting = map[string][]pendingRequest{}
	}
	key := jsonrpc.IDKey(id)
	c.waiting[key] = append(c.waiting[key], pendingRequest{bytes.Clone(id), method})
	c.count(method, 1)
	return nil
}

// Resolve records the answer to a request, and returns the request's method, "" if no such request is pending.
func (c *PendingRequests) Resolve(id json.RawMessage) (method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := jsonrpc.IDKey(id)
	same := c.waiting[key]
	if len(same) == 0 {
		return ""
	}
	c.answered = true
	if c.waiting[key] = same[1:]; len(same) == 1 {
		delete(c.waiting, key)
	}
	c.count(same[0].method, -1)
	return same[0].method
}

// count adds n to nonPrompts unless the method is a prompt. The caller holds mu.
func (c *PendingRequests) count(method string, n int) {
	if method != "session/prompt" {
		c.nonPrompts += n
	}
	if c.nonPrompts == 0 && c.drained != nil {
		close(c.drained)
		c.drained = nil
	}
}

// Drained returns a channel that is closed when no requests but prompts are pending.
func (c *PendingRequests) Drained() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drained == nil {
		c.drained = make(chan struct{})
	}
	quiet := c.drained
	c.count("", 0)
	return quiet
}

// fail makes future requests fail with this error, and returns the pending ones.
func (c *PendingRequests) fail(failure *jsonrpc.Error) (lost []pendingRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = failure
	for _, same := range c.waiting {
		lost = append(lost, same...)
	}
	clear(c.waiting)
	return lost
}

// markFailureSent records that a request was answered with the failure.
func (c *PendingRequests) markFailureSent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.failureSent:
	default:
		close(c.failureSent)
	}
}

// AnyAnswered reports whether a request was answered.
func (c *PendingRequests) AnyAnswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered
}

// NoneAnswered reports whether requests are pending and none was answered.
func (c *PendingRequests) NoneAnswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.answered && len(c.waiting) > 0
}
