package serve

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/text/rawjson"
)

// A client that sends an ID with initialize (_meta.droid-acp.clientId) receives a cursor with each message of a session: the position behind
// the message in the session's journal. After its connection was cut, it connects again with the same ID and loads the session from that
// position on, without its own messages.

// cursor is a position in a journal.
type cursor struct {
	Epoch string `json:"epoch"` // of the journal
	Line  int64  `json:"line"`  // the offset behind a line, in bytes
}

// marked returns a message of the session with its cursor, for a client that uses cursors. The message is unchanged while the client has not
// received everything before it.
func (o *session) marked(c *Client, message []byte, at cursor) []byte {
	if w := o.subscriber(c); message == nil || c.id == "" || w != nil && w.missing {
		return message
	}
	return relay.WithParamsMeta(message, at)
}

// markedResult returns the result of a request that opens the session, with the cursor from which on the client receives messages.
func (o *session) markedResult(c *Client, result []byte) []byte {
	if c.id == "" {
		return result
	}
	at := o.journal.cursor()
	if w := o.subscriber(c); w != nil && w.missing {
		at.Line = w.missed
	}
	return relay.WithMeta(result, at)
}

// markedResult returns the result of a request as sent to a client that uses cursors, nil if it is unchanged.
func (c *pendingCall) markedResult(result []byte) []byte {
	switch {
	case result == nil || c.client.id == "":
	case c.method == "initialize":
		return relay.WithMeta(result, map[string]bool{"cursors": true})
	case opens(c.method) && c.session != nil:
		return c.session.markedResult(c.client, result)
	}
	return nil
}

// afterOf returns the cursor after which a request loads a session; nil if it loads all of it.
func afterOf(request []byte, h jsonrpc.Head) *cursor {
	if h.Method != "session/load" || h.ID == nil {
		return nil
	}
	var after *cursor
	raw := relay.MetaField(paramsOf(request, h), "after")
	if raw != nil && json.Unmarshal(raw, &after) != nil {
		after = &cursor{} // of no journal
	}
	return after
}

// setID sets the client's ID, and ends an earlier connection of the same client, whose link may be dead.
func (c *Client) setID(id string) {
	c.id = id
	for other := range c.server.clients {
		if id != "" && other != c && other.id == id && other.options.Token == c.options.Token {
			other.out.Close("this client has connected again")
			other.leave()
		}
	}
}

// exceptMember names, in a line of a journal, the client that sent the message, and so did not receive it.
const exceptMember = "except"

// sentBy reports whether this client sent the message in a line of a journal, on this or an earlier connection.
func (c *Client) sentBy(line []byte) bool {
	if c.id == "" {
		return false
	}
	h, _ := jsonrpc.ReadHead(line)
	return rawjson.Unquote(relay.MetaField(paramsOf(line, h), exceptMember)) == c.id
}

// refuseCursor refuses a load from a cursor that the journal does not have.
func (c *Client) refuseCursor(h jsonrpc.Head, session string) {
	c.logRefusal(h.Method, session, "it asks for messages after a place that is not known")
	c.refuse(h.ID, errCursor())
}

func errCursor() *jsonrpc.Error {
	return jsonrpc.InternalError("cursor_unknown", "Not loaded: the server does not have this session's messages after that place any more. Load the session without _meta.droid-acp.after.")
}

// joinAfter is join for a load from a cursor on.
func (o *session) joinAfter(c *Client, h jsonrpc.Head, named string, after cursor) {
	if !o.journal.has(after) {
		c.refuseCursor(h, o.id)
		return
	}
	c.setAlias(o, named)
	w := o.subscribe(c)
	c.logSession("a client came back to a session", o)
	if !w.receptive() {
		w.missing, w.missed = true, after.Line
		o.answer(c, h.ID)
		return
	}
	h.ID = slices.Clone(h.ID)
	o.startReplay(w, replay{from: after.Line, done: func() {
		o.offerQuestions() // the client knows then which are still open
		o.answer(c, h.ID)
	}, lost: func() {
		o.unsubscribe(c)
		c.refuseCursor(h, o.id)
	}})
}
