package serve

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// An agent may know one conversation by several ids, its thread: droid makes a new session when it compacts or rewinds one. Here a session is
// open by one of them, which the agent is sent. A client may use any: it is sent the one that it opened the session by.

// resolveThread finds the open session of the thread that an id belongs to, for find. It releases the lock while it reads a disk.
func (c *Client) resolveThread(id string) error {
	s := c.server
	if id == "" || s.Thread == nil || len(s.sessions) == 0 || c.find(id) != nil {
		return nil
	}
	hello := c.hello
	s.mu.Unlock()
	ids, err := s.Thread(hello, id)
	s.mu.Lock()
	for _, other := range slices.Backward(ids) {
		if s.sessions[other] != nil {
			if c.threads == nil {
				c.threads = map[string]string{}
			}
			c.threads[id] = other
			return nil
		}
	}
	return err
}

// find is the open session that the client names by an id, nil for none.
func (c *Client) find(id string) *session {
	if open := c.server.sessions[id]; open != nil {
		return open
	}
	return c.server.sessions[c.threads[id]]
}

// setAlias has the client know a session by this id from now on, and returns the one before.
func (c *Client) setAlias(o *session, id string) (before string) {
	before = c.aliases[o.id]
	delete(c.aliases, o.id)
	if id != "" && id != o.id {
		if c.aliases == nil {
			c.aliases = map[string]string{}
		}
		c.aliases[o.id] = id
	}
	return before
}

// aliased is a message with the id by which the client knows the session that it is about.
func (c *Client) aliased(message []byte) []byte {
	if len(c.aliases) == 0 {
		return message
	}
	h, _ := jsonrpc.ReadHead(message)
	if alias := c.aliases[textAt(paramsOf(message, h), "sessionId")]; alias != "" {
		return withSession(message, h, alias)
	}
	return message
}

// withSession is a message with another id in the place of that of its session, which it must have.
func withSession(message []byte, h jsonrpc.Head, id string) []byte {
	text, _ := json.Marshal(id) // a text encodes
	value := rawjson.Field(paramsOf(message, h), "sessionId")
	begin := cap(message) - cap(value)
	return slices.Concat(message[:begin], text, message[begin+len(value):])
}
