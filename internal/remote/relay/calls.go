package relay

import (
	"bytes"
	"encoding/json"
	"sync"

	"droid-acp/internal/jsonrpc"
)

// Calls are the editor's requests that wait for an answer. Its methods may be called from any
// goroutine.
type Calls struct {
	told chan struct{} // closed when a request got failure as its answer

	mu      sync.Mutex
	waiting map[string][]call // by the key of their ids; nothing keeps an editor from using one twice
	worked  bool              // one was answered
	short   int               // how many of those that wait are no prompts, which take as long as they take
	quiet   chan struct{}     // closed when there are none of these; nil while nobody waits for that
	failure *jsonrpc.Error    // why nobody answers any more
}

type call struct {
	id     json.RawMessage
	method string
}

// ask notes a request. One that nobody will answer has the error.
func (c *Calls) ask(id json.RawMessage, method string) *jsonrpc.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return c.failure
	}
	if c.waiting == nil {
		c.waiting = map[string][]call{}
	}
	key := jsonrpc.IDKey(id)
	c.waiting[key] = append(c.waiting[key], call{bytes.Clone(id), method})
	c.count(method, 1)
	return nil
}

// Answered notes the answer to a request and returns its method, "" for one that nobody
// waits for.
func (c *Calls) Answered(id json.RawMessage) (method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := jsonrpc.IDKey(id)
	same := c.waiting[key]
	if len(same) == 0 {
		return ""
	}
	c.worked = true
	if c.waiting[key] = same[1:]; len(same) == 1 {
		delete(c.waiting, key)
	}
	c.count(same[0].method, -1)
	return same[0].method
}

// count counts the requests that are answered soon. The caller holds mu.
func (c *Calls) count(method string, n int) {
	if method != "session/prompt" {
		c.short += n
	}
	if c.short == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

// Quiet is closed when no request waits but prompts.
func (c *Calls) Quiet() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet == nil {
		c.quiet = make(chan struct{})
	}
	quiet := c.quiet
	c.count("", 0)
	return quiet
}

// fail has requests get this error from now on. It returns those that wait.
func (c *Calls) fail(failure *jsonrpc.Error) (lost []call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = failure
	for _, same := range c.waiting {
		lost = append(lost, same...)
	}
	clear(c.waiting)
	return lost
}

// tell notes that somebody is told of the failure.
func (c *Calls) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.told:
	default:
		close(c.told)
	}
}

// Worked reports whether a request was answered.
func (c *Calls) Worked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worked
}

// Unanswered reports whether requests wait, and none was answered.
func (c *Calls) Unanswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.worked && len(c.waiting) > 0
}
