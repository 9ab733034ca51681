package acptest

import (
	"encoding/json"
	"fmt"
	"sync"
)

// Conversation checks what an agent says to one client. It hears the client, too: what it
// declares, and what its requests were.
type Conversation struct {
	validator *Validator

	mu      sync.Mutex // guards what follows
	client  client
	methods map[string][]string // of the client's requests that have no answer yet, by id
}

// NewConversation begins a conversation with a client that has said nothing so far.
func (v *Validator) NewConversation() *Conversation {
	return &Conversation{validator: v, methods: map[string][]string{}}
}

// Client hears a line of the client, which may be anything. It is called before the line
// is sent.
func (c *Conversation) Client(line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Capabilities client `json:"clientCapabilities"`
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
	if m.Method != "" && m.ID != nil {
		c.methods[string(m.ID)] = append(c.methods[string(m.ID)], m.Method)
	}
}

// Agent checks a line of the agent: its form, its content, that the client asked for such
// a thing, and that a result answers
// a request that has no answer yet.
func (c *Conversation) Agent(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var m message
	_ = json.Unmarshal(line, &m) // check says what is wrong with it
	if m.Method != "" {
		return c.validator.check(line, c.client, "")
	}
	open := c.methods[string(m.ID)]
	if len(open) == 0 {
		if m.Error != nil {
			return c.validator.check(line, c.client, "") // of a line that was no request
		}
		return fmt.Errorf("this answers no request, or one that has an answer: %s", line)
	}
	c.methods[string(m.ID)] = open[1:]
	return c.validator.check(line, c.client, open[0])
}
