package serve

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/text/rawjson"
)

// operation is a prompt with an ID that its client has chosen (_meta.droid-acp.operationId). A client that does not know whether a prompt has
// arrived sends it again, and it runs once.
type operation struct {
	id      string
	prompt  [sha256.Size]byte
	answer  []byte // the response; nil while the prompt runs
	waiting []repeated
}

// repeated is a request that repeats the prompt of an operation.
type repeated struct {
	client *Client
	id     []byte
}

// maxOperations is how many operations of a session are remembered.
const maxOperations = 256

func operationID(params []byte) string {
	return rawjson.Unquote(relay.MetaField(params, "operationId"))
}

// beginOperation remembers the operation of a prompt that the agent gets; nil if it has none.
func (o *session) beginOperation(params []byte) *operation {
	id := operationID(params)
	if id == "" {
		return nil
	}
	op := &operation{id: id, prompt: sha256.Sum256(rawjson.Field(params, "prompt"))}
	if i := slices.IndexFunc(o.operations, func(old *operation) bool { return old.answer != nil }); i >= 0 && len(o.operations) >= maxOperations {
		o.operations = slices.Delete(o.operations, i, i+1)
	}
	o.operations = append(o.operations, op)
	return op
}

// repeats answers a prompt whose operation is known: by its result, or by that of the running prompt once there is one. It reports whether it
// did.
func (o *session) repeats(c *Client, line []byte, h jsonrpc.Head) bool {
	params := paramsOf(line, h)
	i := slices.IndexFunc(o.operations, func(op *operation) bool { return op.id == operationID(params) })
	if i < 0 {
		return false
	}
	switch op := o.operations[i]; {
	case op.prompt != sha256.Sum256(rawjson.Field(params, "prompt")):
		c.logRefusal(h.Method, o.id, "its operationId is that of another prompt")
		c.refuse(h.ID, jsonrpc.InternalError("operation_conflict", "Not done: this operationId was used for another prompt in this session. Use a new one."))
	case op.answer != nil:
		if w := o.subscriber(c); w != nil && w.missing {
			o.replay(w, w.missed, nil)
		}
		o.reply(op, repeated{c, h.ID})
	case c.takesOver(op, o.agent, h.ID):
		o.joinPrompt(c)
	default:
		op.waiting = append(op.waiting, repeated{c, bytes.Clone(h.ID)})
		o.joinPrompt(c)
	}
	return true
}

// joinPrompt records that a running prompt is the client's own, too.
func (o *session) joinPrompt(c *Client) {
	w := o.subscriber(c)
	if w == nil {
		return
	}
	if w.prompts++; w.missing { // it may be receptive now
		o.replay(w, w.missed, nil)
	} else {
		o.offerQuestions()
	}
}

// takesOver makes a running prompt that the same client has sent over an earlier connection one of this connection. It reports whether it
// did.
func (c *Client) takesOver(op *operation, a *agent, id []byte) bool {
	for _, asked := range a.calls {
		if asked.operation == op && c.id != "" && asked.client.id == c.id && asked.client.gone {
			asked.client, asked.id = c, bytes.Clone(id)
			return true
		}
	}
	return false
}

// endOperation answers those who have repeated the prompt.
func (o *session) endOperation(op *operation, answer []byte) {
	op.answer = bytes.Clone(bytes.TrimSpace(answer))
	for _, r := range op.waiting {
		if w := o.subscriber(r.client); w != nil && w.prompts > 0 {
			w.prompts--
		}
		o.reply(op, r)
	}
	op.waiting = nil
}

func (o *session) reply(op *operation, r repeated) {
	if h, ok := jsonrpc.ReadHead(op.answer); ok {
		o.answerPrompt(r.client, h.WithID(op.answer, string(r.id)))
	}
}

// answerPrompt sends the answer to a client's prompt, behind the messages of its turn that are still held back.
func (o *session) answerPrompt(c *Client, line []byte) {
	send := func() { c.send(forClient(c, line)) }
	if w := o.subscriber(c); w != nil && w.replaying {
		w.afterReplay = append(w.afterReplay, send)
	} else {
		send()
	}
}
