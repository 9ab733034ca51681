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
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/rawjson"
	"droid-acp/internal/text/visible"
)

// Client is a connected client. A transport calls its methods one at a time. The server's lock guards it.
type Client struct {
	server  *Server
	out     Outlet
	options ClientOptions
	role    Role
	agentKind
	name        string
	id          string            // by which it is known again on another connection; "" for a client that does not use cursors
	declared    json.RawMessage   // the params of initialize, as an agent gets them; nil until then
	agent       *agent            // the agent it opens sessions in; nil until the first
	queryAgent  *agent            // answers what is not about an open session; nil until then
	outputs     map[string]string // the last output of commands, see withoutTerminal
	threads     map[string]string // IDs of open sessions, by the other IDs of their threads
	aliases     map[string]string // the ID by which it opened a session, by the session's own, if they differ
	earlier     map[string]bool   // IDs of sessions that the earlier server has in use
	queuedBytes int               // bytes of its messages that wait in the server
	sentTo      *agent            // the agent that got its last message; nil if none
	gone        bool
	dismissed   bool // its connection ends, and nothing more of it is done
	late        bool // it has connected since another server has the place of this one
}

// Receive handles one message of the client, and does not keep its memory. If full is not nil, the agent that the message went to has no
// room: the caller reads the next message only after full is closed.
func (c *Client) Receive(message []byte) (full <-chan struct{}) {
	if message = bytes.TrimSpace(message); bytes.IndexByte(message, '\n') >= 0 {
		message = bytes.ReplaceAll(message, []byte("\n"), []byte(" ")) // an agent gets it as one line
	}
	h, refusal := headOf(message)
	program := c.program
	if opens(h.Method) || h.Method == "initialize" {
		program = statFileID(c.attachParams.Program)
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	c.program = program
	if refusal != nil {
		c.logRefusal("", "", refusal.Message)
		c.refuse(nil, refusal)
		return nil
	}
	if err := c.resolveThread(textAt(paramsOf(message, h), "sessionId")); err != nil {
		c.logRefusal(h.Method, textAt(paramsOf(message, h), "sessionId"), "its conversation is not known: the store cannot be read")
		c.reply(h, jsonrpc.InternalError("thread_unknown", "Not done: "+err.Error()))
		return nil
	}
	if id := textAt(paramsOf(message, h), "sessionId"); h.IsRequest() {
		if err := c.findEarlier(id); err != nil {
			c.refuseEarlier(h, id, err)
			return nil
		}
	}
	if opens(h.Method) && s.MaxMemory > 0 {
		if err := s.measureMemory(); err != nil {
			s.Log.Warn("the memory of agents is not known", zap.Error(err)) // the last value holds
		}
	}
	c.sentTo = nil
	c.receive(message, h)
	if c.sentTo != nil {
		return c.sentTo.out.Full()
	}
	return nil
}

// headOf returns the head of a message, or the error if the text is not a message.
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

// receive handles a message whose head is h.
func (c *Client) receive(line []byte, h jsonrpc.Head) {
	switch {
	case c.gone:
	case c.dismissed:
		c.refuseDismissed(h)
	case h.Method == AttachMethod && c.declared == nil:
		c.attach(paramsOf(line, h))
	case h.Method == "":
		if q := c.server.questions[rawjson.Unquote(h.ID)]; q != nil {
			c.sentTo = q.agent
			q.answer(c, line, h)
		}
	case h.Method == "initialize" && c.declared == nil && h.ID != nil:
		c.initialize(line, h)
	case c.declared == nil:
		c.logRefusal(h.Method, "", "it comes before initialize")
		c.reply(h, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid request", "the first request is initialize; an agent that was started again has no session open"))
	case h.Method == cancelRequest:
		c.cancel(line, h)
	case c.forbidden(line, h):
	default:
		c.route(line, h)
	}
}

// queueOverhead is how many bytes a queued message takes besides its text.
const queueOverhead = 1 << 10

// mayQueue reports whether a message of the client may wait here; the first one may have any size. It disconnects a client for which too
// much waits.
func (c *Client) mayQueue(bytes int) bool {
	if c.queuedBytes > 0 && c.queuedBytes+bytes+queueOverhead > maxHeld {
		c.logRefusal("", "", "it sent too much before it was answered")
		c.out.Close("it sent too much before it was answered")
		return false
	}
	c.queuedBytes += bytes + queueOverhead
	return true
}

// Disconnected records that the connection has ended. Turns of the client continue.
func (c *Client) Disconnected() {
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
		open.unsubscribe(c)
	}
	s.expireLoads(c)
	for a := range s.agents {
		if a.earlier {
			a.clients = slices.DeleteFunc(a.clients, func(other *Client) bool { return other == c })
		}
	}
	for _, q := range s.questions {
		q.removeClient(c)
	}
	if c.queryAgent != nil {
		c.queryAgent.end()
	}
	if a := c.agent; a != nil {
		a.clients = slices.DeleteFunc(a.clients, func(other *Client) bool { return other == c })
		a.endIfUnused()
	}
	s.notifyChange()
}

// displayName returns the name of the client for users.
func (c *Client) displayName() string {
	name := cmp.Or(c.name, "a client without a name")
	if c.attachParams.WatchOnly {
		name += ", watching"
	}
	if c.options.From != "" {
		name += " (" + c.options.From + ")"
	}
	return name
}

// shownName returns the name of the client for other clients of a session.
func (c *Client) shownName() string { return visible.Line(cmp.Or(c.name, "another client")) }

// send sends the client a message without a line end. Nobody may change it afterwards.
func (c *Client) send(message []byte) {
	if !c.gone && message != nil {
		c.out.Send(c.aliased(message))
	}
}

// put sends the client a line of the server itself, unless it could not be encoded.
func (c *Client) put(line []byte, err error) {
	if err == nil {
		c.send(line[:len(line)-1])
	}
}

func (c *Client) notify(method string, params any) { c.put(jsonrpc.EncodeCall(nil, method, params)) }

func (c *Client) refuse(id []byte, e *jsonrpc.Error) { c.put(jsonrpc.EncodeError(id, e), nil) }

// reply answers a request with an error; a notification gets no answer.
func (c *Client) reply(h jsonrpc.Head, e *jsonrpc.Error) {
	if h.IsRequest() {
		c.refuse(h.ID, e)
	}
}

// attach handles the parameters by which a local client says how its agent is started.
func (c *Client) attach(params []byte) {
	if !c.options.Local {
		c.server.Log.Warn("ignored how a client that is not local wants its agent started", zap.String("from", c.options.From))
		return
	}
	var h AttachParams
	if err := json.Unmarshal(params, &h); err != nil || h.Program == "" {
		c.server.Log.Warn("ignored the parameters of a client", zap.Error(err))
		return
	}
	c.attachParams = h
	if h.WatchOnly {
		c.role = Watch
	}
}

// initialize records what the client declares.
func (c *Client) initialize(line []byte, h jsonrpc.Head) {
	params := protocol.Fields(paramsOf(line, h))
	c.caps = c.server.Agent.ParseClient(params["clientCapabilities"], params["clientInfo"])
	c.abilities = fmt.Sprintf("%s %+v", canonical(params["clientCapabilities"]), c.caps.ClientProfile)
	c.setID(rawjson.Unquote(relay.MetaField(paramsOf(line, h), "clientId")))
	c.name = cmp.Or(textAt(params["clientInfo"], "title"), textAt(params["clientInfo"], "name"))
	if params == nil {
		params = map[string]json.RawMessage{} // the agent reports what is wrong with it
	}
	params["clientCapabilities"] = protocol.ServerCapabilities(params["clientCapabilities"], c.caps.UpdatesInPromptsOnly())
	c.declared, _ = json.Marshal(params) // decoded JSON can be encoded
	c.queryAgent = c.server.startAgent(c, true, false)
	line, h = withParams(h, h.Method, c.declared)
	c.forward(c.queryAgent, line, h, nil).done = func(_ []byte, err error) {
		if err != nil {
			c.declared = nil // it may try again
		}
	}
}

// forwardQuery forwards a request that is not about a session that the client has open.
func (c *Client) forwardQuery(line []byte, h jsonrpc.Head) {
	if h.ID == nil {
		return // a notification has no effect
	}
	if c.queryAgent == nil || c.queryAgent.ending {
		c.queryAgent = c.server.startAgent(c, true, false)
		c.queryAgent.initialize(c)
	}
	c.forward(c.queryAgent, line, h, nil)
}

// findAgent returns the running agent that the client opens sessions in: its own, or else the oldest of its kind; other than but, which may
// be nil. It returns nil if there is none.
func (c *Client) findAgent(but *agent) *agent {
	if c.agent != nil && c.agent != but && !c.agent.ending && c.agent.program == c.program {
		return c.agent
	}
	var oldest *agent
	for a := range c.server.agents {
		if a != but && !a.queryOnly && !a.ending && a.isLike(c.agentKind) && (oldest == nil || a.number < oldest.number) {
			oldest = a
		}
	}
	return oldest
}

// sessionAgent is findAgent, but starts an agent if there is none. Clients of the same kind share one.
func (c *Client) sessionAgent(but *agent) *agent {
	a, started := c.findOrStartAgent(but)
	if started {
		a.setProvider(c.provider.set)
	}
	return a
}

// findOrStartAgent is sessionAgent, but sends an agent that it starts no provider.
func (c *Client) findOrStartAgent(but *agent) (a *agent, started bool) {
	found := c.findAgent(but)
	if found != nil && found == c.agent {
		return found, false
	}
	c.leaveAgent()
	if found != nil {
		c.agent = found
		found.clients = append(found.clients, c)
		return found, false
	}
	c.agent = c.server.startAgent(c, false, false)
	c.agent.initialize(c)
	return c.agent, true
}

// initialize declares the client to the agent.
func (a *agent) initialize(c *Client) {
	a.ask("initialize", c.declared, func(_ []byte, err error) {
		if err != nil && !a.ending {
			a.server.Log.Warn("an agent refused to initialize", zap.Error(err))
			a.end()
		}
	})
}

// cancel passes on that the client has cancelled a request, behind what waits here, which may be that request.
func (c *Client) cancel(line []byte, h jsonrpc.Head) {
	own := c.cancelCall(line, h)
	if !own {
		for _, open := range c.server.sessions {
			own = open.deferCancel(c, line) || own
		}
	}
	if !own && !c.has(Full) {
		c.logRefusal(h.Method, "", "it cancels a request that is not its own, or was answered")
	}
}

// cancelCall passes on that the client has cancelled a request that an agent has. It reports whether there is one.
func (c *Client) cancelCall(line []byte, h jsonrpc.Head) (found bool) {
	key := jsonrpc.IDKey(rawjson.Field(paramsOf(line, h), "requestId"))
	for a := range c.server.agents {
		for id, asked := range a.calls {
			if asked.client == c && jsonrpc.IDKey(asked.id) == key {
				c.sentTo, found = a, true
				a.notify(cancelRequest, map[string]json.RawMessage{"requestId": json.RawMessage(id)})
			}
		}
	}
	return found
}

// route passes a request or notification to the agent that has its session open for this client. A message about a session that the client
// has not opened is answered as an agent answers that does not have it open.
func (c *Client) route(line []byte, h jsonrpc.Head) {
	if method := protocol.AirMethods[h.Method]; method != "" && c.caps.SessionIndex {
		line, h = withParams(h, method, paramsOf(line, h))
	}
	id := textAt(paramsOf(line, h), "sessionId")
	open := c.find(id)
	reopens := h.Method == "session/load" || h.Method == "session/resume"
	leaves := h.Method == "session/close"
	needsAgent := h.ID != nil && (h.Method == "session/fork" || open == nil && opens(h.Method) || id == "" && !isQuery(h.Method))
	provider, changes := c.nextProvider(line, h)
	switch {
	case open == nil && afterOf(line, h) != nil:
		c.refuseCursor(h, id)
	case open == nil && h.ID != nil && c.earlier[id]:
		c.forward(c.earlierAgent(), line, h, nil)
	case needsAgent && c.joinsOnly():
		c.logRefusal(h.Method, id, "this client only joins sessions that are open here")
		c.refuse(h.ID, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Not opened", "this client only joins sessions that are open here, which "+c.server.Command("ps")+" shows"))
	case changes && h.ID != nil:
		c.changeProvider(line, h, provider)
	case needsAgent:
		var but *agent
		if open != nil && open.worksForOthers(c) { // a fork: the agent that has the session does not copy one that works
			but = open.agent
		}
		if full := c.overCap(h.Method, but); full != nil {
			c.logRefusal(h.Method, id, full.Message)
			c.refuse(h.ID, full)
			return
		}
		c.forward(c.sessionAgent(but), line, h, nil)
	case open == nil && h.Method == "session/delete" && h.ID != nil && c.closedIn(id) != nil:
		if a := c.closedIn(id); a.ending {
			a.later = append(a.later, c.deferred(line))
		} else {
			c.forward(a, line, h, nil)
		}
	case open == nil && c.agent != nil && !c.agent.ending && h.Method != "session/delete": // it may know its sessions by other IDs, too
		c.forward(c.agent, line, h, nil)
	case open == nil, protocol.AirMethods[h.Method] != "": // which the client has not declared
		c.forwardQuery(line, h)
	case h.Method == "session/status" && h.ID != nil && !open.agent.ending: // for any client, and not as a use of the session
		c.forward(open.agent, line, h, open)
	case reopens && h.ID != nil:
		c.reopen(open, line, h)
	case open.loader == c, open.changing && open.subscriber(c) == nil:
		open.later = append(open.later, c.deferred(line)) // as if behind the load
	case h.Method == "session/delete" && h.ID != nil:
		c.deleteSession(open, line, h)
	case h.Method == "session/archive" && h.ID != nil && open.agent.ending:
		open.later = append(open.later, c.deferred(line))
	case h.Method == "session/archive" && h.ID != nil: // which closes it for all clients
		open.changing = true
		c.forward(open.agent, line, h, open)
	case open.subscriber(c) == nil && h.Method != "session/set_title": // which an agent refuses for a session that it does not have open
		c.forwardQuery(line, h)
	case h.Method == "session/prompt" && h.ID != nil && open.repeats(c, line, h):
	case h.Method == "session/prompt" && h.ID != nil && open.deferPrompt(c, line):
	case open.deferBehind(c, line):
	case leaves && (len(open.subscribers) > 1 || !c.has(Full)) && h.ID != nil:
		open.unsubscribe(c)
		c.logSession("a client left a session", open)
		c.put(jsonrpc.EncodeResult(h.ID, struct{}{}))
	default:
		open.used = open.used || !leaves
		open.changing = open.changing || leaves && h.ID != nil // whoever opens it waits until it is closed
		c.forward(open.agent, line, h, open)
	}
}

// isQuery reports whether a method without a session needs no agent that opens sessions.
func isQuery(method string) bool {
	return method == "session/list" || method == protocol.AirBatchGet || method == "initialize"
}

// deleteSession deletes a session through its agent, unless another client has it open or something runs in it unseen.
func (c *Client) deleteSession(open *session, line []byte, h jsonrpc.Head) {
	refuse := func(why string) {
		c.logRefusal(h.Method, open.id, "another client has it open, or something runs in it")
		c.refuse(h.ID, jsonrpc.InternalError("delete_failed", "The session could not be deleted: "+why))
	}
	switch own := open.subscriber(c) != nil; {
	case own && len(open.subscribers) == 1:
		c.forward(open.agent, line, h, open)
	case len(open.subscribers) > 0 || open.loader != nil:
		refuse("deleting session " + open.id + ": it is open in another window or program of yours; close it there first")
	case open.agent.ending:
		open.later = append(open.later, c.deferred(line))
	case open.working:
		refuse("deleting session " + open.id + ": something runs in it, which no window shows; open the session and stop that, or end it where the server runs: " + c.server.Command("stop", open.id))
	default:
		c.forward(open.agent, line, h, open)
	}
}

// deferred keeps a message and returns a function that handles it again.
func (c *Client) deferred(line []byte) func() { return c.deferredTo(line, c.receive) }

// deferredTo is deferred with another function that handles the message.
func (c *Client) deferredTo(line []byte, handle func(line []byte, h jsonrpc.Head)) func() {
	if !c.mayQueue(len(line)) {
		return func() {}
	}
	line = bytes.Clone(line)
	h, _ := jsonrpc.ReadHead(line)
	return func() {
		c.queuedBytes -= len(line) + queueOverhead
		handle(line, h)
	}
}

// reopen loads or resumes a session that is open already: the client joins it in the agent that has it. The agent loads the session again
// if it is idle and the client wants another directory or more servers; or if no other client has it, since the client may want fewer servers,
// and the conversation may have been rewound, or continued in another program.
func (c *Client) reopen(open *session, line []byte, h jsonrpc.Head) {
	wants, after := parseOpenParams(paramsOf(line, h)), afterOf(line, h)
	alone := len(open.subscribers) == 0 || len(open.subscribers) == 1 && open.subscriber(c) != nil
	moves, lacks := open.params.compare(wants)
	note := ""
	if lacks != nil {
		note = "\n\nThe turn that runs here does not have " + serverNames(lacks, markdown.Code) + " of this window. Load the session again when it has ended.\n\n"
	}
	refusal, differs := c.compareAgents(open)
	switch {
	case open.changing, open.loader != nil, open.agent.ending:
		open.later = append(open.later, c.deferred(line))
	case refusal != nil:
		c.logRefusal(h.Method, open.id, refusal.Message)
		c.refuse(h.ID, refusal)
	case after != nil && (moves || lacks != nil || c.otherProvider(open)):
		c.refuseCursor(h, open.id)
	case after != nil:
		open.joinAfter(c, h, textAt(paramsOf(line, h), "sessionId"), *after)
	case c.joinsOnly():
		open.join(c, line, h, "")
	case c.otherProvider(open):
		c.reopenElsewhere(open, alone, line, h)
	case open.working && (moves || lacks != nil && !alone):
		c.logRefusal(h.Method, open.id, "a prompt runs in it, and the client wants another directory or other servers")
		c.refuse(h.ID, open.reopenError(wants, moves, lacks))
	case !open.working && (moves || lacks != nil || alone):
		c.forward(open.agent, line, h, open).note = differs
	default:
		open.joinWithValues(c, line, h, differs+note)
	}
}

// forward passes a message on to an agent. For a request it returns the pending call.
func (c *Client) forward(a *agent, line []byte, h jsonrpc.Head, open *session) *pendingCall {
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
	asked := &pendingCall{id: bytes.Clone(h.ID), method: h.Method, client: c, session: open}
	if a.ending {
		c.refuse(h.ID, agentEnded("it was ended"))
		return asked
	}
	a.calls[id] = asked
	c.server.notifyChange()
	switch h.Method {
	case "session/new", "session/fork":
		asked.params = parseOpenParams(params)
	case "session/load", "session/resume":
		asked.params = parseOpenParams(params)
		if open == nil {
			asked.session = c.server.newSession(named, a, asked.params)
			asked.session.token = c.options.Token
			asked.session.changing = true
			asked.session.partial = h.Method == "session/resume"
		} else if h.Method == "session/load" {
			open.resetJournal()
		}
		asked.session.loader, asked.session.stalled = c, false
		asked.previousID = c.setAlias(asked.session, named)
	case "session/delete":
		asked.deletes = textAt(params, "sessionId")
	case "session/prompt":
		if open != nil {
			open.assignFiles(c) // they go to the client whose user types
			asked.operation = open.beginOperation(params)
			open.promptBegan(c, params)
		}
	case protocol.SteeringMethod:
		if open != nil {
			open.assignFiles(c)
			asked.prompt = bytes.Clone(params)
		}
	}
	a.put(append(h.WithID(line, id), '\n'))
	return asked
}

// withParams returns a message with the ID of another one, and its head.
func withParams(h jsonrpc.Head, method string, params []byte) ([]byte, jsonrpc.Head) {
	line, _ := jsonrpc.EncodeCall(h.ID, method, json.RawMessage(params)) // valid JSON can be encoded
	line = bytes.TrimSuffix(line, []byte("\n"))
	h, _ = jsonrpc.ReadHead(line)
	return line, h
}

// paramsOf returns the params of a message, nil if it has none. They alias its line.
func paramsOf(line []byte, h jsonrpc.Head) []byte {
	if h.Params == 0 {
		return nil
	}
	return value(line[h.Params:])
}

// value returns the JSON value that raw begins with.
func value(raw []byte) []byte { return raw[:rawjson.SkipValue(raw, 0)] }

// textAt returns a text field of an object, "" if it is absent.
func textAt(object []byte, name string) string { return rawjson.Unquote(rawjson.Field(object, name)) }

// agentEnded returns the error of a request that an agent left unanswered.
func agentEnded(how string) *jsonrpc.Error {
	return jsonrpc.InternalError("agent_ended", fmt.Sprintf("The agent of this session has ended (%s). Open the session again to go on.", how))
}
