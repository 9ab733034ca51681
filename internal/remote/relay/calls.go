package relay

import (
	"bytes"
	"encoding/json"
	"sync"

	"droid-acp/internal/jsonrpc"
)

// PendingRequests are the editor's requests that wait for an answer. Its methods may be called from any
// goroutine.
type PendingRequests struct {
	failureSent chan struct{} // closed when a request got failure as its answer

	mu         sync.Mutex
	waiting    map[string][]pendingRequest // by the key of their ids; nothing keeps an editor from using one twice
	answered   bool                        // one was answered
	nonPrompts int                         // how many of those that wait are no prompts, which take as long as they take
	drained    chan struct{}               // closed when there are none of these; nil while nobody waits for that
	failure    *jsonrpc.Error              // why nobody answers any more
}

type pendingRequest struct {
	id     json.RawMessage
	method string
}

// add notes a request. One that nobody will answer has the error.
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

// Resolve notes the answer to a request and returns its method, "" for one that nobody
// waits for.
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

// count counts the requests that are answered soon. The caller holds mu.
func (c *PendingRequests) count(method string, n int) {
	if method != "session/prompt" {
		c.nonPrompts += n
	}
	if c.nonPrompts == 0 && c.drained != nil {
		close(c.drained)
		c.drained = nil
	}
}

// Drained is closed when no request waits but prompts.
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

// fail has requests get this error from now on. It returns those that wait.
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

// markFailureSent notes that somebody is told of the failure.
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

// NoneAnswered reports whether requests wait, and none was answered.
func (c *PendingRequests) NoneAnswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.answered && len(c.waiting) > 0
}
