package serve

import (
	"cmp"
	"encoding/json"
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// An agent may know one conversation by several IDs, its thread: droid makes a new session when it compacts or rewinds one. The server has
// a session open by one of them, which the agent is sent. A client may use any, and is sent the ID by which it opened the session.

// resolveThread finds the open or closed session of the thread that an ID belongs to, for find and closedIn. It releases the lock while it
// reads the disk.
func (c *Client) resolveThread(id string) error {
	s := c.server
	if id == "" || s.Thread == nil || len(s.sessions)+len(s.closedIn) == 0 || c.find(id) != nil {
		return nil
	}
	hello := c.attachParams
	s.mu.Unlock()
	ids, err := s.Thread(hello, id)
	s.mu.Lock()
	for _, other := range slices.Backward(ids) {
		if s.sessions[other] != nil || s.closedIn[other] != nil {
			if c.threads == nil {
				c.threads = map[string]string{}
			}
			c.threads[id] = other
			return nil
		}
	}
	return err
}

// find returns the open session that the client names by an ID, nil if there is none.
func (c *Client) find(id string) *session {
	if open := c.server.sessions[id]; open != nil {
		return open
	}
	return c.server.sessions[c.threads[id]]
}

// closedIn returns the running agent that has closed the session that the client names by an ID, nil if there is none.
func (c *Client) closedIn(id string) *agent {
	return cmp.Or(c.server.closedIn[id], c.server.closedIn[c.threads[id]])
}

// setAlias records the ID by which the client knows a session, and returns the previous one.
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

// aliased returns a message with the ID by which the client knows its session.
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

// withSession returns a message with the ID of its session replaced. The message must have one.
func withSession(message []byte, h jsonrpc.Head, id string) []byte {
	text, _ := json.Marshal(id) // a text can be encoded
	value := rawjson.Field(paramsOf(message, h), "sessionId")
	begin := cap(message) - cap(value)
	return slices.Concat(message[:begin], text, message[begin+len(value):])
}
