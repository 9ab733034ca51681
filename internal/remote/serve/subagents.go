package serve

import (
	"bytes"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// An agent may show subagents as sessions that work for one that is open here. Their updates go to clients of that session that take
// them in the same form, and into its journal, and to no others. A permission request goes to the others, too, as one of that session.

// subagent is a session that works for one that is open.
type subagent struct {
	open      *session
	announced []byte // the update that announced it
	idle      bool
}

// sessionOf returns the agent's open session with an ID, or for a subagent's ID the session that it works for; nil if there is none.
func (a *agent) sessionOf(id string) (open *session, ofSubagent bool) {
	if open = a.server.sessions[id]; open == nil && a.subagents[id] != nil {
		open, ofSubagent = a.subagents[id].open, true
	}
	if open == nil || open.agent != a || a.server.sessions[open.id] != open {
		return nil, false
	}
	return open, ofSubagent
}

// noteSubagent records a subagent that the agent announces, and whether it works.
func (a *agent) noteSubagent(open *session, line, params []byte) {
	update := rawjson.Field(params, "update")
	var id, state string
	switch textAt(update, "sessionUpdate") {
	case "subagent_update":
		id, state = textAt(update, "sessionId"), textAt(rawjson.Field(update, "state"), "state")
	case "subagent_spawned":
		id, state = textAt(update, "subagentSessionId"), protocol.SubagentRunning
	case "subagent_state_update":
		id, state = textAt(update, "subagentSessionId"), protocol.SubagentIdle
	default:
		return
	}
	if a.subagents == nil {
		a.subagents = make(map[string]*subagent)
	}
	one := a.subagents[id]
	if one == nil || one.open != open || textAt(update, "title") != "" || textAt(update, "name") != "" {
		one = &subagent{open: open, announced: bytes.Clone(line)}
		a.subagents[id] = one
	}
	if state != "" {
		one.idle = state == protocol.SubagentIdle
	}
}

// announceSubagents announces the working subagents of parent, and those of these, to a client that gets no replay.
func (o *session) announceSubagents(c *Client, parent string) {
	for id, one := range o.agent.subagents {
		if one.open == o && !one.idle && o.showsSubagents(c) && subject(one.announced) == parent {
			c.send(one.announced)
			o.announceSubagents(c, id)
		}
	}
}

// subject returns the ID of a message's session.
func subject(message []byte) string {
	h, ok := jsonrpc.ReadHead(message)
	if !ok {
		return ""
	}
	return textAt(paramsOf(message, h), "sessionId")
}

// hidesSubagent reports whether a message concerns a subagent of the session and is not for this client.
func (o *session) hidesSubagent(c *Client, message []byte) bool {
	return o.agent.caps.Subagents != "" && !o.showsSubagents(c) && subject(message) != o.id
}

// showsSubagents reports whether a client takes subagents in the form in which the agent sends them.
func (o *session) showsSubagents(c *Client) bool {
	return c.caps.Subagents != "" && c.caps.Subagents == o.agent.caps.Subagents
}

// forParent returns a subagent's request for a client: as one of the session that it works for, unless the client knows subagents.
func (q *question) forParent(c *Client, line []byte) []byte {
	if q.session == nil || q.session.showsSubagents(c) || textAt(q.params, "sessionId") == q.session.id {
		return line
	}
	h, ok := jsonrpc.ReadHead(line)
	if !ok {
		return line
	}
	return withSession(line, h, q.session.id)
}
