package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/visible"
)

// Client is a connection as the server sees it. A transport calls its methods one at a time. The server's
// lock guards it.
type Client struct {
	server  *Server
	out     Outlet
	options ClientOptions
	kind
	name     string
	declared json.RawMessage   // the params of initialize, as an agent gets them; nil before
	agent    *agent            // in which it opens sessions; nil before the first
	look     *agent            // which answers what is about no open session; nil before
	outputs  map[string]string // ends of what commands wrote, see withoutTerminal
	threads  map[string]string // ids of open sessions, by others of their threads
	aliases  map[string]string // the ids by which it has opened sessions, by theirs, where they differ
	kept     int               // bytes of its messages that wait here
	sentTo   *agent            // to which its last message went; nil for none
	gone     bool
}

// Receive takes one message of the client, whose memory it does not keep. What it returns is closed when there is room
// for the next one on the way to the agent that this one was for; nil while there is.
func (c *Client) Receive(message []byte) (full <-chan struct{}) {
	if message = bytes.TrimSpace(message); bytes.IndexByte(message, '\n') >= 0 {
		message = bytes.ReplaceAll(message, []byte("\n"), []byte(" ")) // an agent gets it as one line
	}
	h, refusal := headOf(message)
	program := c.program
	if opens(h.Method) || h.Method == "initialize" {
		program = idOf(c.hello.Program)
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c.program = program
	if refusal != nil {
		c.refuse(nil, refusal)
		return nil
	}
	if err := c.lookUp(textAt(paramsOf(message, h), "sessionId")); err != nil {
		c.reply(h, jsonrpc.InternalError("thread_unknown", "Not done: "+err.Error()))
		return nil
	}
	c.sentTo = nil
	c.receive(message, h)
	if c.sentTo != nil {
		return c.sentTo.out.Full()
	}
	return nil
}

// headOf is whose message a text is, or why it is none.
func headOf(text []byte) (h jsonrpc.Head, refusal *jsonrpc.Error) {
	if !utf8.Valid(text) || !json.Valid(text) {
		return h, jsonrpc.NewError(jsonrpc.CodeParseError, "Parse error", "the message is not JSON in UTF-8; send one JSON object")
	}
	h, ok := jsonrpc.ReadHead(text)
	if !ok {
		return h, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid request", "a message is a JSON object with one method or one id; ACP has no batches")
	}
	return h, nil
}

// receive takes a message, whose head is h.
func (c *Client) receive(line []byte, h jsonrpc.Head) {
	switch {
	case c.gone:
	case h.Method == HelloMethod && c.declared == nil:
		c.greet(paramsOf(line, h))
	case h.Method == "":
		if q := c.server.questions[rawjson.Unquote(h.ID)]; q != nil {
			c.sentTo = q.agent
			q.answer(c, line, h)
		}
	case h.Method == "initialize" && c.declared == nil && h.ID != nil:
		c.initialize(line, h)
	case c.declared == nil:
		c.reply(h, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid request", "the first request is initialize; an agent that was started again has no session open"))
	case h.Method == cancelRequest:
		c.cancel(line, h)
	default:
		c.pass(line, h)
	}
}

// keptBeside is what a message takes that waits, besides its text.
const keptBeside = 1 << 10

// keeps reports whether a message of the client may wait here, one of any size at least. A client for which too much
// waits is closed.
func (c *Client) keeps(bytes int) bool {
	if c.kept > 0 && c.kept+bytes+keptBeside > maxHeld {
		c.out.Close("it sent too much before it was answered")
		return false
	}
	c.kept += bytes + keptBeside
	return true
}

// Gone says that the connection has ended. What runs for the client goes on.
func (c *Client) Gone() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.leave()
}

func (c *Client) leave() {
	if c.gone {
		return
	}
	s := c.server
	c.gone = true
	delete(s.clients, c)
	for _, open := range s.sessions {
		open.detach(c)
	}
	s.loadsEnd(c)
	for _, q := range s.questions {
		q.without(c)
	}
	if c.look != nil {
		c.look.end()
	}
	if a := c.agent; a != nil {
		a.clients = slices.DeleteFunc(a.clients, func(other *Client) bool { return other == c })
		a.rest()
	}
	s.change()
}

// called is what people see of the client.
func (c *Client) called() string {
	name := cmp.Or(c.name, "a client without a name")
	if c.hello.WatchOnly {
		name += ", watching"
	}
	if c.options.From != "" {
		name += " (" + c.options.From + ")"
	}
	return name
}

// shownName is the client to people who read a session.
func (c *Client) shownName() string { return visible.Line(cmp.Or(c.name, "another client")) }

// send sends the client a message without a line's end, which nobody changes any more.
func (c *Client) send(message []byte) {
	if !c.gone && message != nil {
		c.out.Send(c.aliased(message))
	}
}

// put sends the client a line of ours, unless it could not be encoded.
func (c *Client) put(line []byte, err error) {
	if err == nil {
		c.send(line[:len(line)-1])
	}
}

func (c *Client) notify(method string, params any) { c.put(jsonrpc.EncodeCall(nil, method, params)) }

func (c *Client) refuse(id []byte, e *jsonrpc.Error) { c.put(jsonrpc.EncodeError(id, e), nil) }

// reply refuses a message, if somebody waits for an answer.
func (c *Client) reply(h jsonrpc.Head, e *jsonrpc.Error) {
	if h.IsRequest() {
		c.refuse(h.ID, e)
	}
}

// greet takes what a local client says of its agent.
func (c *Client) greet(params []byte) {
	if !c.options.Local {
		c.server.Log.Warn("a client that is not local says how its agent is to be started, which is passed over", zap.String("from", c.options.From))
		return
	}
	var h Hello
	if err := json.Unmarshal(params, &h); err != nil || h.Program == "" {
		c.server.Log.Warn("a greeting is passed over", zap.Error(err))
		return
	}
	c.hello = h
}

// initialize notes what the client declares.
func (c *Client) initialize(line []byte, h jsonrpc.Head) {
	params := protocol.Fields(paramsOf(line, h))
	c.caps = c.server.Agent.Meet(params["clientCapabilities"], params["clientInfo"])
	c.abilities = fmt.Sprintf("%s %+v", canonical(params["clientCapabilities"]), c.caps.ClientProfile)
	c.name = cmp.Or(textAt(params["clientInfo"], "title"), textAt(params["clientInfo"], "name"))
	if params == nil {
		params = map[string]json.RawMessage{} // the agent says what is wrong with it
	}
	params["clientCapabilities"] = protocol.ServerCapabilities(params["clientCapabilities"], c.caps.UpdatesInPromptsOnly())
	c.declared, _ = json.Marshal(params) // what was decoded encodes
	c.look = c.server.startAgent(c, true)
	c.forward(c.look, line, h, nil).done = func(_ []byte, err error) {
		if err != nil {
			c.declared = nil // it may try again
		}
	}
}

// forwardToLook has a request answered that is about no session which the client has open.
func (c *Client) forwardToLook(line []byte, h jsonrpc.Head) {
	if h.ID == nil {
		return // it has no effect
	}
	if c.look == nil || c.look.ending {
		c.look = c.server.startAgent(c, true)
		c.look.initialize(c)
	}
	c.forward(c.look, line, h, nil)
}

// opener is the agent in which the client opens sessions, but for one: one for clients that are alike.
func (c *Client) opener(but *agent) *agent {
	if c.agent != nil && c.agent != but && !c.agent.ending && c.agent.program == c.program {
		return c.agent
	}
	if before := c.agent; before != nil {
		before.clients = slices.DeleteFunc(before.clients, func(other *Client) bool { return other == c })
		before.rest()
	}
	for a := range c.server.agents {
		if a != but && !a.looks && !a.ending && a.isLike(c.kind) {
			c.agent = a
			a.clients = append(a.clients, c)
			return a
		}
	}
	c.agent = c.server.startAgent(c, false)
	c.agent.initialize(c)
	return c.agent
}

// initialize makes what a client declares known to the agent.
func (a *agent) initialize(c *Client) {
	a.ask("initialize", c.declared, func(_ []byte, err error) {
		if err != nil && !a.ending {
			a.server.Log.Warn("an agent takes no clients", zap.Error(err))
			a.end()
		}
	})
}

// cancel passes on that the client wants no answer any more.
func (c *Client) cancel(line []byte, h jsonrpc.Head) {
	key := jsonrpc.IDKey(rawjson.Field(paramsOf(line, h), "requestId"))
	for a := range c.server.agents {
		for id, asked := range a.calls {
			if asked.client == c && jsonrpc.IDKey(asked.id) == key {
				c.sentTo = a
				a.notify(cancelRequest, map[string]json.RawMessage{"requestId": json.RawMessage(id)})
			}
		}
	}
}

// pass gives a request or a notification to the agent that has its session for this client. What is about a session that the client has not
// opened is answered as by an agent in which it is not open.
func (c *Client) pass(line []byte, h jsonrpc.Head) {
	id := textAt(paramsOf(line, h), "sessionId")
	open := c.find(id)
	reopens := h.Method == "session/load" || h.Method == "session/resume"
	leaves := h.Method == "session/close"
	needsAgent := h.ID != nil && (h.Method == "session/fork" || open == nil && opens(h.Method) || id == "" && h.Method != "session/list" && h.Method != "initialize")
	switch {
	case c.hello.WatchOnly && !reopens && !leaves && h.Method != "session/list":
		c.reply(h, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Not done", "this client only watches"))
	case needsAgent && (c.hello.Joins || c.hello.WatchOnly):
		c.refuse(h.ID, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Not opened", "this client only joins sessions that are open here, which "+c.server.Command("ps")+" shows"))
	case needsAgent && open != nil && open.worksForOthers(c): // a fork: the agent that has it does not copy a session that works
		c.forward(c.opener(open.agent), line, h, nil)
	case needsAgent:
		c.forward(c.opener(nil), line, h, nil)
	case open == nil && c.agent != nil && !c.agent.ending && h.Method != "session/delete": // it may know its sessions by more ids
		c.forward(c.agent, line, h, nil)
	case open == nil:
		c.forwardToLook(line, h)
	case reopens && h.ID != nil:
		c.reopen(open, line, h)
	case open.loader == c, open.changing && open.watcher(c) == nil:
		open.later = append(open.later, c.later(line)) // as behind its load
	case h.Method == "session/delete" && h.ID != nil:
		c.remove(open, line, h)
	case open.watcher(c) == nil && h.Method != "session/set_title": // which an agent does not do for a session of another's
		c.forwardToLook(line, h)
	case h.Method == "session/prompt" && h.ID != nil && open.promptLater(c, line):
	case leaves && len(open.watchers) > 1 && h.ID != nil:
		open.detach(c)
		c.put(jsonrpc.EncodeResult(h.ID, struct{}{}))
	default:
		open.used = open.used || !leaves
		open.changing = open.changing || leaves && h.ID != nil // who opens it waits until it is closed
		c.forward(open.agent, line, h, open)
	}
}

// remove has the session's agent delete it, unless another window has it, or something runs in it that no window shows.
func (c *Client) remove(open *session, line []byte, h jsonrpc.Head) {
	refuse := func(why string) {
		c.refuse(h.ID, jsonrpc.InternalError("delete_failed", "The session could not be deleted: "+why))
	}
	switch own := open.watcher(c) != nil; {
	case own && len(open.watchers) == 1:
		c.forward(open.agent, line, h, open)
	case len(open.watchers) > 0 || open.loader != nil:
		refuse("deleting session " + open.id + ": it is open in another window or program of yours; close it there first")
	case open.agent.ending:
		open.later = append(open.later, c.later(line))
	case open.working:
		refuse("deleting session " + open.id + ": something runs in it, which no window shows; open the session and stop that, or end it where the server runs: " + c.server.Command("stop", open.id))
	default:
		c.forward(open.agent, line, h, open)
	}
}

// later keeps a message, to be taken once more by what it returns.
func (c *Client) later(line []byte) func() {
	if !c.keeps(len(line)) {
		return func() {}
	}
	line = bytes.Clone(line)
	h, _ := jsonrpc.ReadHead(line)
	return func() {
		c.kept -= len(line) + keptBeside
		c.receive(line, h)
	}
}

// reopen loads or resumes a session that is open already: the client joins it in the agent that has it. That loads it anew where the
// session rests and the client wants it in another directory or with more servers; or nobody else has it, and no server is given up for it: the
// conversation may have been rewound, or gone on in another program.
func (c *Client) reopen(open *session, line []byte, h jsonrpc.Head) {
	wants := wantsOf(paramsOf(line, h))
	alone := len(open.watchers) == 0 || len(open.watchers) == 1 && open.watcher(c) != nil
	moves, lacks := open.wants.differs(wants)
	note := ""
	if lacks != nil {
		note = "\n\nThe turn that runs here does not have " + theServers(lacks, markdown.Code) + " of this window. Load the session again when it has ended.\n\n"
	}
	refusal, differs := c.differs(open)
	switch {
	case open.changing, open.loader != nil, open.agent.ending:
		open.later = append(open.later, c.later(line))
	case refusal != nil:
		c.refuse(h.ID, refusal)
	case c.hello.WatchOnly, c.hello.Joins:
		open.join(c, line, h, "")
	case open.working && (moves || lacks != nil && !alone):
		c.refuse(h.ID, open.cannot(wants, moves, lacks))
	case !open.working && (moves || lacks != nil || alone && (open.watcher(c) != nil || wants.sameServers(open.wants))):
		c.forward(open.agent, line, h, open).note = differs
	default:
		open.joinWithValues(c, line, h, differs+note)
	}
}

// forward passes a message on to an agent. Of a request, which is the call, the answer comes back.
func (c *Client) forward(a *agent, line []byte, h jsonrpc.Head, open *session) *call {
	named := textAt(paramsOf(line, h), "sessionId")
	if open != nil && named != open.id {
		line = withSession(line, h, open.id)
		h, _ = jsonrpc.ReadHead(line)
	}
	c.sentTo = a
	if h.ID == nil {
		a.put(append(bytes.Clone(line), '\n'))
		return nil
	}
	id, params := c.server.newID(), paramsOf(line, h)
	asked := &call{id: bytes.Clone(h.ID), method: h.Method, client: c, session: open}
	if a.ending {
		c.refuse(h.ID, agentEnded("it was ended"))
		return asked
	}
	a.calls[id] = asked
	switch h.Method {
	case "session/new", "session/fork":
		asked.wants = wantsOf(params)
	case "session/load", "session/resume":
		asked.wants = wantsOf(params)
		if open == nil {
			asked.session = c.server.newSession(named, a, asked.wants)
			asked.session.changing = true
			asked.session.partial = h.Method == "session/resume"
		} else if h.Method == "session/load" {
			open.beginAnew()
		}
		asked.session.loader = c
		asked.before = c.know(asked.session, named)
	case "session/delete":
		asked.deletes = textAt(params, "sessionId")
	case "session/prompt":
		if open != nil {
			open.handOver(c) // the window that is typed in has them
			open.promptBegan(c, params)
		}
	case protocol.SteeringMethod:
		if open != nil {
			open.handOver(c)
			asked.prompt = bytes.Clone(params)
		}
	}
	a.put(append(h.WithID(line, id), '\n'))
	return asked
}

// paramsOf are the params of a message, nil for none. They are a part of its line.
func paramsOf(line []byte, h jsonrpc.Head) []byte {
	if h.Params == 0 {
		return nil
	}
	return value(line[h.Params:])
}

// value is the JSON value with which raw begins.
func value(raw []byte) []byte { return raw[:rawjson.SkipValue(raw, 0)] }

// textAt is a text in an object, "" for none.
func textAt(object []byte, name string) string { return rawjson.Unquote(rawjson.Field(object, name)) }

// agentEnded is the error of what an agent left unanswered.
func agentEnded(how string) *jsonrpc.Error {
	return jsonrpc.InternalError("agent_ended", fmt.Sprintf("The agent of this session has ended (%s). Open the session again to go on.", how))
}
