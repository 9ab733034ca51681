package keep

import (
	"bytes"
	"encoding/json"
	"sync"

	"droid-acp/internal/jsonrpc"
)

// calls are the editor's requests that wait for an answer. Its methods may be called from any
// goroutine. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	waiting map[string][]json.RawMessage // ids by their key; nothing keeps an editor from using one twice
	gone    *GoneError                   // why nobody answers any more
	said    chan struct{}                // closed when a request got that as its answer
}

// lost is a request that gets no answer of the server.
type lost struct {
	id   json.RawMessage
	gone *GoneError
}

// ask notes a message of the editor. A request that nobody will answer is returned.
func (c *calls) ask(line []byte) *lost {
	h, ok := headOf(line)
	if !ok || !h.IsRequest() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone != nil {
		return &lost{h.ID, c.gone}
	}
	if c.waiting == nil {
		c.waiting = map[string][]json.RawMessage{}
	}
	key := jsonrpc.IDKey(h.ID)
	c.waiting[key] = append(c.waiting[key], bytes.Clone(h.ID))
	return nil
}

// settle notes a message of the server, which may be an answer.
func (c *calls) settle(message []byte) {
	h, ok := headOf(message)
	if !ok || h.Method != "" || h.ID == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := jsonrpc.IDKey(h.ID)
	if same := c.waiting[key]; len(same) > 1 {
		c.waiting[key] = same[1:]
		return
	}
	delete(c.waiting, key)
}

// fail has requests get no answer from now on, and returns those that wait.
func (c *calls) fail(gone *GoneError) (left []*lost) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = gone
	for _, same := range c.waiting {
		for _, id := range same {
			left = append(left, &lost{id, gone})
		}
	}
	clear(c.waiting)
	return left
}

// told is closed when somebody was told of the failure.
func (c *calls) told() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.signal()
}

func (c *calls) signal() chan struct{} {
	if c.said == nil {
		c.said = make(chan struct{})
	}
	return c.said
}

// tell notes that somebody was told of the failure.
func (c *calls) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.signal():
	default:
		close(c.said)
	}
}

// headOf reads whose message a line is.
func headOf(line []byte) (h jsonrpc.Head, ok bool) {
	if !json.Valid(line) {
		return h, false
	}
	return jsonrpc.ReadHead(line)
}
