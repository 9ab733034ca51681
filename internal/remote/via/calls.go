package via

import (
	"bytes"
	"encoding/json"
	"sync"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
)

// calls are the editor's requests that wait for an answer. Its methods may be called from any
// goroutine.
type calls struct {
	mu      sync.Mutex
	waiting map[string][]call // by id; nothing keeps an editor from using one twice
	worked  bool              // the far side has answered one
	failure *jsonrpc.Error    // why it answers no more
	told    chan struct{}     // closed when a request got that as its answer
	client  protocol.ClientCapabilities
}

type call struct {
	id     json.RawMessage
	method string
}

func newCalls() *calls {
	return &calls{waiting: map[string][]call{}, told: make(chan struct{}), client: protocol.ReadCapabilities(nil, nil)}
}

// ask notes a request. One that nobody will answer has the error.
func (c *calls) ask(id json.RawMessage, method string) *jsonrpc.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return c.failure
	}
	key := jsonrpc.IDKey(id)
	c.waiting[key] = append(c.waiting[key], call{bytes.Clone(id), method})
	return nil
}

// answered notes the answer to a request and returns its method, "" for one that nobody
// waits for.
func (c *calls) answered(id json.RawMessage) (method string) {
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
	return same[0].method
}

// fail has requests get this error from now on. It returns those that wait.
func (c *calls) fail(failure *jsonrpc.Error) (lost []call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = failure
	for _, same := range c.waiting {
		lost = append(lost, same...)
	}
	clear(c.waiting)
	return lost
}

// unanswered reports whether requests wait, and the far side has answered none.
func (c *calls) unanswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.worked && len(c.waiting) > 0
}

// meet notes who the editor is, by its initialize.
func (c *calls) meet(params []byte) {
	var p struct{ ClientInfo, ClientCapabilities json.RawMessage }
	_ = json.NewDecoder(bytes.NewReader(params)).Decode(&p) // what is of another form is not known
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = protocol.ReadCapabilities(p.ClientCapabilities, p.ClientInfo)
}

// editor is who that is.
func (c *calls) editor() protocol.ClientCapabilities {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// hasWorked reports whether the far side has answered a request.
func (c *calls) hasWorked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worked
}

// tell notes that somebody is told of the failure.
func (c *calls) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.told:
	default:
		close(c.told)
	}
}
