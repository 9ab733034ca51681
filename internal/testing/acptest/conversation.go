package acptest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Conversation checks an agent's messages to one client. It also sees the client's messages: the declared capabilities and the requests.
type Conversation struct {
	validator *Validator

	mu       sync.Mutex // guards what follows
	client   client
	requests map[string][]request // of the client, unanswered, by ID
	sessions map[string]bool      // those that the client has open
}

// request is a request of the client.
type request struct {
	method  string
	session string // the session named in its params
}

// NewConversation begins a conversation with a client that has sent nothing so far.
func (v *Validator) NewConversation() *Conversation {
	return &Conversation{validator: v, requests: map[string][]request{}, sessions: map[string]bool{}}
}

// Client records a line of the client, which may be invalid. It must be called before the line is sent.
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
		c.sessions[m.Params.SessionID] = true // it may be another ID of an open thread
	}
	if m.Method != "" && m.ID != nil {
		c.requests[string(m.ID)] = append(c.requests[string(m.ID)], request{m.Method, m.Params.SessionID})
	}
}

// announced returns the subagent's session that an update announces, "" for another message.
func announced(m message) string {
	var p struct {
		Update struct{ SessionUpdate, SessionID, SubagentSessionID string }
	}
	_ = json.Unmarshal(m.Params, &p) // check reports what is wrong with it
	switch p.Update.SessionUpdate {
	case "subagent_update":
		return p.Update.SessionID
	case "subagent_spawned":
		return p.Update.SubagentSessionID
	}
	return ""
}

// Agent checks a line of the agent: its form, its content, that the client supports it, that a result answers a pending request, and that
// nothing concerns a session before the response that opens it, except during a load of that session.
func (c *Conversation) Agent(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var m message
	_ = json.Unmarshal(line, &m) // check reports what is wrong with it
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
			return c.validator.check(line, c.client, "") // the answer to an invalid line
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

// codeCancelled is the code of a cancelled request. A session whose load was cancelled can still be opened by another request.
const codeCancelled = -32800

// answered records which session the answer to a request opens.
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

// sessionOf returns the session in params or a result, "" if none.
func sessionOf(raw json.RawMessage) string {
	var named struct{ SessionID string }
	_ = json.Unmarshal(raw, &named)
	return named.SessionID
}
