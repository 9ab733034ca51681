package serve

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/visible"
)

// question is a request of an agent, to its client or to all who may answer it.
type question struct {
	id      string // that clients get
	agent   *agent
	agentID []byte
	session *session // nil for none
	client  *Client  // whom it asks where there is none; nil when that is gone
	method  string
	line    []byte // with id
	params  []byte
	to      []*Client   // who has it
	timer   *time.Timer // while nobody has it who could answer
	disk    bool        // it is being answered from the disk
}

const (
	askPermission = "session/request_permission"
	askForm       = "elicitation/create"
	readFile      = "fs/read_text_file"
	writeFile     = "fs/write_text_file"
)

// asks takes a request of the agent.
func (a *agent) asks(line []byte, h jsonrpc.Head) {
	s := a.server
	q := &question{id: "s" + s.newID(), agent: a, agentID: bytes.Clone(h.ID), method: h.Method}
	q.is(h.WithID(line, `"`+q.id+`"`))
	if about := a.calls[string(rawjson.Field(q.params, "requestId"))]; about != nil && about.id != nil {
		q.is(q.with("requestId", about.id)) // the client knows its request by its own id
		q.client = about.client
	} else if len(a.clients) > 0 {
		q.client = a.clients[0]
	}
	if open, _ := a.sessionOf(textAt(q.params, "sessionId")); open != nil {
		q.session = open
		open.asked = append(open.asked, q)
	}
	s.questions[q.id] = q
	q.offer()
}

// with is the question's line with another value for a member of its params.
func (q *question) with(member string, value json.RawMessage) []byte {
	params := protocol.Fields(q.params)
	params[member] = value
	id, _ := json.Marshal(q.id)
	line, err := jsonrpc.EncodeCall(id, q.method, params)
	if err != nil {
		return q.line // it was read from JSON, so it encodes
	}
	return line[:len(line)-1]
}

// is notes the question's line.
func (q *question) is(line []byte) {
	q.line = line
	h, _ := jsonrpc.ReadHead(line)
	q.params = paramsOf(line, h)
}

// forPeople reports whether a person is to answer it.
func (q *question) forPeople() bool { return q.method == askPermission || q.method == askForm }

// title is what it asks, in short.
func (q *question) title() string {
	if q.method == askPermission {
		return textAt(rawjson.Field(q.params, "toolCall"), "title")
	}
	return textAt(q.params, "message")
}

// audience are those who may answer it now.
func (q *question) audience() (to []*Client) {
	if q.session == nil {
		if q.client == nil || q.client.gone {
			return nil
		}
		return []*Client{q.client}
	}
	for _, w := range q.session.watchers {
		if c := w.client; !w.joining && !c.hello.WatchOnly && q.mayAnswer(c) && (w.hears() || !q.forPeople()) {
			to = append(to, c)
		}
	}
	switch {
	case q.method != askPermission:
		return to[:min(len(to), 1)] // files, forms and terminals are one client's
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
		return c.caps.Files && (c.caps.SafeFiles || !q.agent.caps.SafeFiles) // an agent of an unsafe client asks only if its user wants that
	case askForm:
		if textAt(q.params, "mode") == "url" {
			return c.caps.URLs
		}
		return c.caps.Forms
	}
	return c.abilities == q.agent.abilities
}

// offer sends it to those who may answer it and do not have it. Without any a person is waited for, files
// are read and written here, and all else is refused.
func (q *question) offer() {
	for _, c := range q.audience() {
		if !slices.Contains(q.to, c) && (q.method == askPermission || len(q.to) == 0) {
			q.to = append(q.to, c)
			q.put(c)
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

// wait gives it up after a while in which nobody came who could answer it.
func (q *question) wait() {
	s := q.agent.server
	var timer *time.Timer
	timer = time.AfterFunc(s.AnswerFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.timer == timer && s.questions[q.id] == q {
			q.session.say("\n\nRefused, since nobody was there for "+duration(s.AnswerFor)+" who could answer it: "+markdown.Code(visible.Line(q.title()))+"\n\n", nil)
			q.giveUp()
		}
	})
	q.timer = timer
}

// duration is a time without the parts that are nothing: "1h", not "1h0m0s".
func duration(d time.Duration) string {
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// giveUp answers it as one who does not want to decide.
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

// settle answers it in the place of a client.
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

// answer takes a client's answer. The first counts; an error does not while others may answer.
func (q *question) answer(c *Client, line []byte, h jsonrpc.Head) {
	if !slices.Contains(q.to, c) {
		return
	}
	if h.Result == 0 && len(q.to) > 1 {
		q.to = slices.DeleteFunc(q.to, func(other *Client) bool { return other == c })
		return
	}
	q.agent.put(append(h.WithID(line, string(q.agentID)), '\n'))
	if len(q.to) > 1 && q.session != nil {
		q.session.say("\n\nAnswered in "+c.shownName()+": "+q.choice(value(line[max(h.Result, 0):]))+"\n\n", c)
	}
	q.withdraw(c)
}

// without is the question when a client is gone that has it.
func (q *question) without(c *Client) {
	if slices.Contains(q.to, c) {
		q.to = slices.DeleteFunc(q.to, func(other *Client) bool { return other == c })
		q.offer()
	}
}

// withdraw ends it. Those who have it are told, but for the one who has answered.
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
		o.asked = slices.DeleteFunc(o.asked, func(other *question) bool { return other == q })
		o.update()
	}
}

// withdraws takes a question back that the agent wants no answer to any more. It does not wait for the clients:
// some say nothing to that.
func (a *agent) withdraws(line []byte, h jsonrpc.Head) {
	key := jsonrpc.IDKey(rawjson.Field(paramsOf(line, h), "requestId"))
	for _, q := range a.server.questions {
		if q.agent != a || jsonrpc.IDKey(q.agentID) != key {
			continue
		}
		q.refuse(codeCancelled, "the request was cancelled")
		return
	}
}

// codeCancelled is the code of a request that was cancelled (ACP, $/cancel_request).
const codeCancelled = -32800

// handOver gives a client the session's files and forms, as far as it has such: the first of the
// watchers that can is asked for them. A program that decides by itself does not take them from a
// person.
func (o *session) handOver(c *Client) {
	i := slices.IndexFunc(o.watchers, func(w *watcher) bool { return w.client == c })
	if i <= 0 || c.caps.AnswersByPolicy {
		return
	}
	w := o.watchers[i]
	o.watchers = slices.Insert(slices.Delete(o.watchers, i, i+1), 0, w)
}
