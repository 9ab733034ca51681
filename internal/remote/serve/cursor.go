package serve

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// A client that gives its initialize an ID of its own (_meta.droid-acp.clientId) gets, with each message of a session, a cursor: the place
// behind it in the session's journal. When its connection was cut, it connects again with the same ID and loads the session after that
// place, without what it has sent itself.

// cursor is a place in a journal.
type cursor struct {
	Epoch string `json:"epoch"` // of the journal
	Line  int64  `json:"line"`  // the offset behind a line
}

// withMeta returns an object with members added to its _meta.droid-acp.
func withMeta(object []byte, members any) []byte {
	added, _ := json.Marshal(members) // made of texts and numbers
	if !rawjson.IsObject(object) {
		return object
	}
	if rawjson.Field(object, "_meta") == nil {
		head := slices.Concat([]byte(`{"_meta":{"droid-acp":`), added, []byte("}"))
		rest := object[rawjson.SkipSpace(object, 1):]
		if rest[0] != '}' {
			head = append(head, ',')
		}
		return append(head, rest...)
	}
	fields := protocol.Fields(object)
	meta := protocol.Fields(fields["_meta"])
	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	own := protocol.Fields(meta["droid-acp"])
	if own == nil {
		own = map[string]json.RawMessage{}
	}
	for name, value := range rawjson.Fields(added) {
		own[string(name)] = value
	}
	meta["droid-acp"], _ = json.Marshal(own) // raw JSON can be encoded
	fields["_meta"], _ = json.Marshal(meta)
	object, _ = json.Marshal(fields)
	return object
}

// withParamsMeta is withMeta for the params of a message, which has nothing behind them but its end.
func withParamsMeta(message []byte, members any) []byte {
	h, _ := jsonrpc.ReadHead(message)
	if h.Params == 0 {
		return message
	}
	params := value(message[h.Params:])
	return slices.Concat(message[:h.Params], withMeta(params, members), message[h.Params+len(params):])
}

// marked returns a message of the session with the cursor behind it, for a client that uses cursors. There is none while the client has not
// been sent everything before it.
func (o *session) marked(c *Client, message []byte, at cursor) []byte {
	if w := o.subscriber(c); message == nil || c.id == "" || w != nil && w.missing {
		return message
	}
	return withParamsMeta(message, at)
}

// markedResult returns the result of a request that opens the session, with the cursor from which on the client gets messages.
func (o *session) markedResult(c *Client, result []byte) []byte {
	if c.id == "" {
		return result
	}
	at := o.journal.cursor()
	if w := o.subscriber(c); w != nil && w.missing {
		at.Line = w.missed
	}
	return withMeta(result, at)
}

// afterOf returns the cursor after which a request loads a session; nil if it loads all of it.
func afterOf(request []byte, h jsonrpc.Head) *cursor {
	if h.Method != "session/load" || h.ID == nil {
		return nil
	}
	var after *cursor
	raw := rawjson.Field(rawjson.Field(rawjson.Field(paramsOf(request, h), "_meta"), "droid-acp"), "after")
	if raw != nil && json.Unmarshal(raw, &after) != nil {
		after = &cursor{} // of no journal
	}
	return after
}

// exceptMember says, in a line of a journal, which client was not sent it, since it has sent that itself.
const exceptMember = "except"

// sentBy reports whether a line of a journal is what this client has sent itself, on this connection or an earlier one.
func (c *Client) sentBy(line []byte) bool {
	if c.id == "" {
		return false
	}
	h, _ := jsonrpc.ReadHead(line)
	return textAt(rawjson.Field(rawjson.Field(paramsOf(line, h), "_meta"), "droid-acp"), exceptMember) == c.id
}

// refuseCursor answers a load after a place that the server does not have.
func (c *Client) refuseCursor(h jsonrpc.Head, session string) {
	c.logRefusal(h.Method, session, "it asks for messages after a place that is not known")
	c.refuse(h.ID, errCursor())
}

func errCursor() *jsonrpc.Error {
	return jsonrpc.InternalError("cursor_unknown", "Not loaded: the server does not have this session's messages after that place any more. Load the session without _meta.droid-acp.after.")
}

// joinAfter is join for a load that begins behind a cursor.
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
