package acptest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Conversation checks what an agent says to one client. It hears the client, too: what it
// declares, and what its requests were.
type Conversation struct {
	validator *Validator

	mu       sync.Mutex // guards what follows
	client   client
	requests map[string][]request // of the client, that have no answer yet, by id
	sessions map[string]bool      // those that the client has open
}

// request is a request of the client's.
type request struct {
	method  string
	session string // that its params name
}

// NewConversation begins a conversation with a client that has said nothing so far.
func (v *Validator) NewConversation() *Conversation {
	return &Conversation{validator: v, requests: map[string][]request{}, sessions: map[string]bool{}}
}

// Client hears a line of the client, which may be anything. It is called before the line
// is sent.
func (c *Conversation) Client(line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Capabilities client `json:"clientCapabilities"`
			SessionID    string
		}
	}
	if json.Unmarshal(line, &m) != nil && m.Method == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Method == "initialize" && c.client == nil {
		c.client = m.Params.Capabilities
	}
	if m.Method == "session/prompt" {
		c.sessions[m.Params.SessionID] = true // it may be another id of a thread that is open
	}
	if m.Method != "" && m.ID != nil {
		c.requests[string(m.ID)] = append(c.requests[string(m.ID)], request{m.Method, m.Params.SessionID})
	}
}

// announced returns the subagent's session that an update announces, "" for another message.
func announced(m message) string {
	var p struct {
		Update struct{ SessionUpdate, SessionID string }
	}
	if json.Unmarshal(m.Params, &p) != nil || p.Update.SessionUpdate != "subagent_update" {
		return ""
	}
	return p.Update.SessionID
}

// Agent checks a line of the agent: its form, its content, that the client asked for such
// a thing, that a result answers a request that has no answer yet, and that nothing is about a
// session before the response that opens it, but for what a load of that session tells.
func (c *Conversation) Agent(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var m message
	_ = json.Unmarshal(line, &m) // check says what is wrong with it
	if m.Method != "" {
		if id := sessionOf(m.Params); id != "" && !c.sessions[id] && !c.loads(id) {
			return fmt.Errorf("this is about a session that no response has opened: %s", line)
		}
		if child := announced(m); child != "" {
			c.sessions[child] = true
		}
		return c.validator.check(line, c.client, "")
	}
	open := c.requests[string(m.ID)]
	if len(open) == 0 {
		if m.Error != nil {
			return c.validator.check(line, c.client, "") // of a line that was no request
		}
		return fmt.Errorf("this answers no request, or one that has an answer: %s", line)
	}
	c.requests[string(m.ID)] = open[1:]
	c.answered(open[0], m)
	return c.validator.check(line, c.client, open[0].method)
}

// loads reports whether the client waits for the load of a session.
func (c *Conversation) loads(id string) bool {
	for _, open := range c.requests {
		if slices.Contains(open, request{"session/load", id}) {
			return true
		}
	}
	return false
}

// codeCancelled is that of a request that the client has taken back. A session whose load was taken back is opened for
// what else the client has asked of it.
const codeCancelled = -32800

// answered notes which session the answer to a request opens.
func (c *Conversation) answered(r request, m message) {
	var e struct{ Code int }
	_ = json.Unmarshal(m.Error, &e)
	switch r.method {
	case "session/new", "session/fork":
		if id := sessionOf(m.Result); id != "" {
			c.sessions[id] = true
		}
	case "session/load", "session/resume":
		if m.Error == nil || e.Code == codeCancelled {
			c.sessions[r.session] = true
		}
	}
}

// sessionOf is the session that params or a result name, "" for none.
func sessionOf(raw json.RawMessage) string {
	var named struct{ SessionID string }
	_ = json.Unmarshal(raw, &named)
	return named.SessionID
}
