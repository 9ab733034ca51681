package serve

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/visible"
)

// question is a request of an agent, to its client or to all clients that may answer it.
type question struct {
	id      string // as sent to clients
	agent   *agent
	agentID []byte
	session *session // nil if it is not about one
	client  *Client  // the client that is asked if there is no session; nil once that has disconnected
	method  string
	line    []byte // with id
	params  []byte
	to      []*Client   // the clients that have it
	timer   *time.Timer // runs while no client that could answer has it
	disk    bool        // it is being answered from the disk
}

const (
	askPermission = "session/request_permission"
	askForm       = "elicitation/create"
	readFile      = "fs/read_text_file"
	writeFile     = "fs/write_text_file"
)

// handleRequest handles a request of the agent.
func (a *agent) handleRequest(line []byte, h jsonrpc.Head) {
	s := a.server
	q := &question{id: uuid.NewString(), agent: a, agentID: bytes.Clone(h.ID), method: h.Method}
	q.setLine(h.WithID(line, `"`+q.id+`"`))
	if about := a.calls[string(rawjson.Field(q.params, "requestId"))]; about != nil && about.id != nil {
		q.setLine(q.withParam("requestId", about.id)) // the client knows its request by its own ID
		q.client = about.client
	} else if len(a.clients) > 0 {
		q.client = a.clients[0]
	}
	if open, _ := a.sessionOf(textAt(q.params, "sessionId")); open != nil {
		q.session = open
		open.questions = append(open.questions, q)
	}
	s.questions[q.id] = q
	q.offer()
}

// withParam returns the question's line with another value of a member of its params.
func (q *question) withParam(member string, value json.RawMessage) []byte {
	params := protocol.Fields(q.params)
	params[member] = value
	id, _ := json.Marshal(q.id)
	line, err := jsonrpc.EncodeCall(id, q.method, params)
	if err != nil {
		return q.line // it was decoded from JSON, so it can be encoded
	}
	return line[:len(line)-1]
}

// setLine sets the question's line.
func (q *question) setLine(line []byte) {
	q.line = line
	h, _ := jsonrpc.ReadHead(line)
	q.params = paramsOf(line, h)
}

// forPeople reports whether a person is asked.
func (q *question) forPeople() bool { return q.method == askPermission || q.method == askForm }

// right returns the right that a client needs to answer it.
func (q *question) right() Role {
	if q.forPeople() {
		return Answer
	}
	return Full
}

// title summarizes the question.
func (q *question) title() string {
	if q.method == askPermission {
		return textAt(rawjson.Field(q.params, "toolCall"), "title")
	}
	return textAt(q.params, "message")
}

// audience returns the clients that may answer it now.
func (q *question) audience() (to []*Client) {
	if q.session == nil {
		if q.client == nil || q.client.gone || !q.client.has(q.right()) {
			return nil
		}
		return []*Client{q.client}
	}
	for _, w := range q.session.subscribers {
		if c := w.client; !w.replaying && c.has(q.right()) && q.mayAnswer(c) && (w.receptive() || !q.forPeople()) {
			to = append(to, c)
		}
	}
	switch {
	case q.method != askPermission:
		return to[:min(len(to), 1)] // files, forms and terminals go to one client
	case slices.ContainsFunc(to, func(c *Client) bool { return !c.caps.AnswersByPolicy }):
		to = slices.DeleteFunc(to, func(c *Client) bool { return c.caps.AnswersByPolicy })
	}
	return to
}

func (q *question) mayAnswer(c *Client) bool {
	switch q.method {
	case askPermission:
		return true
	case readFile, writeFile:
		return c.caps.Files && (c.caps.SafeFiles || !q.agent.caps.SafeFiles) // the agent of a client with unsafe files asks only if its user wants that
	case askForm:
		if textAt(q.params, "mode") == "url" {
			return c.caps.URLs
		}
		return c.caps.Forms
	}
	return c.abilities == q.agent.abilities
}

// offer sends it to the clients that may answer it and do not have it. If there are none, a question for a person waits, files are read and
// written here, and anything else is refused.
func (q *question) offer() {
	for _, c := range q.audience() {
		if !slices.Contains(q.to, c) && (q.method == askPermission || len(q.to) == 0) {
			q.to = append(q.to, c)
			q.offerTo(c)
		}
	}
	some := len(q.to) > 0
	if some && q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	switch {
	case some, q.disk, q.timer != nil:
	case q.forPeople() && q.session != nil:
		q.wait()
	case q.method == readFile || q.method == writeFile:
		q.disk = true
		q.agent.server.work.Go(q.fromDisk)
	default:
		q.refuse(jsonrpc.CodeMethodNotFound, "no client is there that can do this")
	}
	if q.session != nil {
		q.session.update()
	}
}

// wait gives it up if no client that could answer it connects in time.
func (q *question) wait() {
	s := q.agent.server
	var timer *time.Timer
	timer = time.AfterFunc(s.AnswerFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.timer == timer && s.questions[q.id] == q {
			q.session.broadcastText("\n\nRefused, since nobody was there for "+duration(s.AnswerFor)+" who could answer it: "+markdown.Code(visible.Line(q.title()))+"\n\n", nil)
			q.giveUp()
		}
	})
	q.timer = timer
}

// duration formats a time without its zero units: "1h", not "1h0m0s".
func duration(d time.Duration) string {
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// giveUp answers it as a user who cancels.
func (q *question) giveUp() {
	switch q.method {
	case askPermission:
		q.settle(map[string]any{"outcome": map[string]string{"outcome": "cancelled"}})
	case askForm:
		q.settle(map[string]string{"action": "cancel"})
	default:
		q.refuse(codeCancelled, "the session has ended")
	}
}

// settle answers it in place of a client.
func (q *question) settle(result any) {
	if line, err := jsonrpc.EncodeResult(q.agentID, result); err == nil {
		q.agent.put(line)
	}
	q.withdraw(nil)
}

func (q *question) refuse(code int, text string) {
	q.agent.put(jsonrpc.EncodeError(q.agentID, jsonrpc.NewError(code, "Not done", text)))
	q.withdraw(nil)
}

// answer handles a client's answer. The first one counts; an error counts only if no other client may answer.
func (q *question) answer(c *Client, line []byte, h jsonrpc.Head) {
	if !slices.Contains(q.to, c) {
		c.logRefusal(q.method, textAt(q.params, "sessionId"), "it answers what it was not asked")
		return
	}
	if h.Result == 0 && len(q.to) > 1 {
		q.to = slices.DeleteFunc(q.to, func(other *Client) bool { return other == c })
		return
	}
	q.agent.put(append(h.WithID(line, string(q.agentID)), '\n'))
	if len(q.to) > 1 && q.session != nil {
		q.session.broadcastText("\n\nAnswered in "+c.shownName()+": "+q.choice(value(line[max(h.Result, 0):]))+"\n\n", c)
	}
	q.withdraw(c)
}

// removeClient handles that a client that may have it disconnects.
func (q *question) removeClient(c *Client) {
	if slices.Contains(q.to, c) {
		q.to = slices.DeleteFunc(q.to, func(other *Client) bool { return other == c })
		q.offer()
	}
}

// withdraw ends it, and cancels it for the clients that have it, except the one that answered.
func (q *question) withdraw(answered *Client) {
	delete(q.agent.server.questions, q.id)
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	for _, c := range q.to {
		if c != answered {
			c.notify(cancelRequest, map[string]string{"requestId": q.id})
		}
	}
	q.to = nil
	if o := q.session; o != nil {
		o.questions = slices.DeleteFunc(o.questions, func(other *question) bool { return other == q })
		o.update()
	}
}

// handleCancel withdraws a question that the agent has cancelled. It does not wait for the clients: some do not answer a cancel.
func (a *agent) handleCancel(line []byte, h jsonrpc.Head) {
	key := jsonrpc.IDKey(rawjson.Field(paramsOf(line, h), "requestId"))
	for _, q := range a.server.questions {
		if q.agent != a || jsonrpc.IDKey(q.agentID) != key {
			continue
		}
		q.refuse(codeCancelled, "the request was cancelled")
		return
	}
}

// codeCancelled is the code of a cancelled request (ACP, $/cancel_request).
const codeCancelled = -32800

// assignFiles makes a client the first to be asked for the session's files and forms, if it supports them. A program that decides by itself
// does not take them from a person.
func (o *session) assignFiles(c *Client) {
	i := slices.IndexFunc(o.subscribers, func(w *subscriber) bool { return w.client == c })
	if i <= 0 || c.caps.AnswersByPolicy || !c.has(Full) {
		return
	}
	w := o.subscribers[i]
	o.subscribers = slices.Insert(slices.Delete(o.subscribers, i, i+1), 0, w)
}
