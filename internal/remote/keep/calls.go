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
	waiting map[string][]asked // by the key of their ids; nothing keeps an editor from using one twice
	short   int                // how many of these are answered soon
	quiet   chan struct{}      // what answered has returned; closed when there are none of these
	gone    *GoneError         // why nobody answers any more
	said    chan struct{}      // closed when a request got that as its answer
}

// asked is a request that waits.
type asked struct {
	id    json.RawMessage
	short bool // it is no prompt, which takes as long as it takes
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
		c.waiting = map[string][]asked{}
	}
	key, short := jsonrpc.IDKey(h.ID), h.Method != "session/prompt"
	c.waiting[key] = append(c.waiting[key], asked{bytes.Clone(h.ID), short})
	c.count(short, 1)
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
	same := c.waiting[key]
	if len(same) == 0 {
		return
	}
	c.count(same[0].short, -1)
	if c.waiting[key] = same[1:]; len(same) == 1 {
		delete(c.waiting, key)
	}
}

// count counts the requests that are answered soon. The caller holds mu.
func (c *calls) count(short bool, n int) {
	if !short {
		return
	}
	if c.short += n; c.short == 0 && c.quiet != nil {
		close(c.quiet)
		c.quiet = nil
	}
}

// answered is closed when no request waits but prompts.
func (c *calls) answered() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet == nil {
		c.quiet = make(chan struct{})
	}
	all := c.quiet
	c.count(true, 0)
	return all
}

// fail has requests get no answer from now on, and returns those that wait.
func (c *calls) fail(gone *GoneError) (left []*lost) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = gone
	for _, same := range c.waiting {
		for _, a := range same {
			left = append(left, &lost{a.id, gone})
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
