package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/rawjson"
)

// Write sends what the agent writes to stderr to its clients. A client without room misses it.
func (a *agent) Write(text []byte) (int, error) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	for _, c := range a.clients {
		if c.attachParams.Stderr && c.options.Local && c.out.Full() == nil {
			c.notify(StderrMethod, StderrParams{string(text)})
		}
	}
	return len(text), nil
}

// agent opens sessions for clients of the same kind, which may have disconnected. The server's lock guards it.
type agent struct {
	server        *Server
	agentKind                             // of the client that it was started for
	number        int                     // in the order in which agents were started
	queryOnly     bool                    // it opens no session of its own, and ends once it has answered
	earlier       bool                    // it is a client's connection to the earlier server
	proc          agentProcess            // nil until it is started
	out           *jsonrpc.Outbox         // to it
	calls         map[string]*pendingCall // its unanswered requests
	clients       []*Client               // those that open sessions in it, in the order of their arrival
	ending        bool                    // it is sent nothing more
	killRequested chan struct{}           // closed by kill
	killed        bool
	later         []func() // run when it has ended

	subagents map[string]*subagent // that it has announced, by their ids
}

// pendingCall is an unanswered request to an agent.
type pendingCall struct {
	id         []byte // the client's
	method     string
	client     *Client         // nil for the server's own requests and for disconnected clients
	session    *session        // the session it is about, if it was open at the time
	params     openParams      // if it opens a session
	deletes    string          // the ID of the session that it deletes
	prompt     []byte          // the params of a steering message
	operation  *operation      // of a prompt; nil if it has none
	note       string          // a note for the client alone, if it joins a session
	previousID string          // the ID by which the client knew the session that it loads
	change     *providerChange // that it is part of, which answers the client; nil for none
	done       func(result []byte, err error)
}

// startAgent starts an agent for a client. It takes requests at once.
func (s *Server) startAgent(c *Client, queryOnly, earlier bool) *agent {
	s.started++
	a := &agent{server: s, number: s.started, agentKind: c.agentKind, queryOnly: queryOnly, earlier: earlier, out: jsonrpc.NewOutbox(nil, relay.Batch), calls: map[string]*pendingCall{}, clients: []*Client{c}, killRequested: make(chan struct{})}
	a.provider = provider{set: c.provider.set, confirmed: c.provider.set}
	s.agents[a] = struct{}{}
	s.notifyChange()
	if s.closed {
		a.end()
	}
	s.work.Go(a.supervise)
	return a
}

// supervise starts the agent's process and reads its output until it ends.
func (a *agent) supervise() {
	s, start := a.server, a.server.Options.start
	switch {
	case a.earlier:
		start = func(h AttachParams, _ io.Writer) (agentProcess, error) {
			return startInProcess(h, s.Earlier.Serve), nil
		}
	case a.queryOnly:
		start = s.Options.startQueryAgent
	}
	s.mu.Lock()
	h := a.attachParams
	s.mu.Unlock()
	proc, err := start(h, a)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.startFailure = err
		a.handleExit(jsonrpc.InternalError("agent_not_started", fmt.Sprintf("The agent %s does not start: %v.", a.attachParams.Program, err)))
		return
	}
	s.mu.Lock()
	a.proc = proc
	if !a.queryOnly {
		s.startFailure = nil
	}
	s.mu.Unlock()
	if !a.queryOnly {
		s.Log.Info("an agent started", zap.Int("agent", proc.ID()))
	}
	stdin, stdout := proc.Pipes()
	a.out.SetWriter(stdin)
	go a.out.Run()
	a.run(stdin, stdout)
}

// pid returns its process ID, 0 if it has no process.
func (a *agent) pid() int {
	if a.proc == nil {
		return 0
	}
	return a.proc.ID()
}

// run passes messages to and from the agent until it ends.
func (a *agent) run(stdin io.WriteCloser, stdout io.ReadCloser) {
	s := a.server
	read, tooLong := make(chan struct{}), false
	go func() {
		defer close(read)
		tooLong = a.read(stdout)
	}()
	select {
	case <-read: // it has ended, or closed its stdout
	case <-a.out.Done(): // it is being ended: its input is closed
		_ = stdin.Close()
		select {
		case <-read:
		case <-time.After(endTime):
			s.Log.Warn("killing an agent that does not end", zap.Int("agent", a.pid()))
		case <-a.killRequested:
		}
	case <-a.killRequested:
	}
	if !subprocess.WaitTimeout(a.proc.Exited(), relay.DrainTime) {
		_ = a.proc.Kill() // it may have ended already
	}
	how := a.proc.Await()
	a.out.Abort()
	_ = stdin.Close()
	inTime := subprocess.WaitTimeout(read, endTime)
	_ = stdout.Close() // read only; it ends the reading
	if !inTime {       // another process holds it open, or nobody takes what it said
		s.mu.Lock()
		a.kill()
		s.mu.Unlock()
		<-read
	}
	<-a.out.Done()
	if tooLong {
		how = "it wrote a message of more than 256 MiB"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.handleExit(agentEnded(how))
}

// read handles lines until the end, or until one is too long. It pauses while the only client that uses the agent has no room.
func (a *agent) read(in io.Reader) (tooLong bool) {
	lines := jsonrpc.NewLines(in, a.server.maxLine, func([]byte) {})
	for {
		line, err := lines.Next()
		if err != nil {
			return errors.As(err, new(*jsonrpc.TooLongError))
		}
		shown, full := a.handleLine(line)
		if shown != nil {
			select {
			case <-shown:
			case <-a.killRequested:
			}
		}
		if full != nil {
			a.awaitRoom(full)
		}
	}
}

// handleLine handles one line of the agent. If shown is not nil, the next line must wait until it is closed; if full is not nil, until a client
// of that session has room.
func (a *agent) handleLine(line []byte) (shown <-chan struct{}, full *session) {
	if !json.Valid(line) {
		a.server.Log.Warn("an agent wrote invalid JSON", zap.Int("bytes", len(line)))
		return nil, nil
	}
	h, ok := jsonrpc.ReadHead(line)
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	switch {
	case !ok:
		a.server.Log.Warn("an agent wrote a line that is not a message", zap.Int("bytes", len(line)))
	case h.Method == "":
		return a.handleResponse(line, h), nil
	case h.Method == cancelRequest:
		a.handleCancel(line, h)
	case h.IsRequest():
		a.handleRequest(line, h)
	default:
		return nil, a.handleNotification(line, h)
	}
	return nil, nil
}

const cancelRequest = "$/cancel_request"

// put sends the agent a line. An agent that is ending gets nothing.
func (a *agent) put(line []byte) { _, _ = a.out.Put(line) }

func (a *agent) notify(method string, params any) {
	if line, err := jsonrpc.EncodeCall(nil, method, params); err == nil {
		a.put(line)
	}
}

// ask sends a request of the server itself. done is called with the lock held.
func (a *agent) ask(method string, params any, done func(result []byte, err error)) {
	id := a.server.newID()
	line, err := jsonrpc.EncodeCall([]byte(id), method, params)
	if err != nil || a.ending {
		done(nil, cmp.Or(err, errAgentEnds))
		return
	}
	session := ""
	if p, ok := params.(map[string]string); ok {
		session = p["sessionId"]
	}
	a.calls[id] = &pendingCall{method: method, done: done, session: a.server.sessions[session]}
	a.put(line)
}

var errAgentEnds = errors.New("the agent ends")

// handleResponse handles a response of the agent. If shown is not nil, the next line must wait until it is closed.
func (a *agent) handleResponse(line []byte, h jsonrpc.Head) (shown <-chan struct{}) {
	id := string(h.ID)
	c := a.calls[id]
	if c == nil {
		return nil
	}
	if h.Result > 0 && c.method == "session/load" && c.session != nil {
		line := bytes.Clone(line)
		h, _ := jsonrpc.ReadHead(line)
		if shown := c.session.showUnfinished(func() { a.handleResponse(line, h) }); shown != nil {
			return shown
		}
	}
	delete(a.calls, id)
	var result []byte
	if h.Result > 0 {
		result = value(line[h.Result:])
	}
	a.applyResult(c, line, result)
	switch {
	case c.change != nil:
		line := bytes.Clone(line)
		h, _ := jsonrpc.ReadHead(line)
		result = bytes.Clone(result)
		c.change.answered(a, result != nil, func() { a.answer(c, line, h, result) })
	case c.client != nil:
		a.answer(c, line, h, result)
		if c.note != "" && result != nil {
			c.session.sendText(c.client, c.note) // after the response that opens the session
		}
	}
	if c.operation != nil {
		c.session.endOperation(c.operation, line)
	}
	if c.done != nil {
		var err error
		if result == nil {
			err = errorIn(line)
		}
		c.done(result, err)
	}
	if c.session != nil {
		c.session.closeIfUnused()
	}
	a.endIfUnused()
	a.server.notifyDrain()
	return nil
}

// answer passes an answer on to the client that waits for it.
func (a *agent) answer(c *pendingCall, line []byte, h jsonrpc.Head, result []byte) {
	a.server.countError(line)
	if marked := c.markedResult(result); marked != nil {
		line = slices.Concat(line[:h.Result], marked, line[h.Result+len(result):])
		h, _ = jsonrpc.ReadHead(line)
		result = value(line[h.Result:])
	}
	if c.client.abilities != a.abilities && !c.client.caps.BooleanOptions {
		if fields := protocol.Fields(result); fields["configOptions"] != nil {
			encoded, _ := json.Marshal(withoutSwitches(c.session, c.client, fields)) // raw JSON encodes
			c.client.put(jsonrpc.EncodeResult(c.id, json.RawMessage(forClient(c.client, encoded))))
			return
		}
	}
	line = h.WithID(line, string(c.id))
	if c.method == "session/prompt" && c.session != nil {
		c.session.answerPrompt(c.client, line)
	} else {
		c.client.send(forClient(c.client, line))
	}
}

// hasPendingRequest reports whether a request about the session is unanswered.
func (a *agent) hasPendingRequest(o *session) bool {
	for _, c := range a.calls {
		if c.session == o {
			return true
		}
	}
	return false
}

// hasPendingPrompt reports whether a prompt of the session is unanswered.
func (a *agent) hasPendingPrompt(o *session) bool {
	for _, c := range a.calls {
		if c.session == o && c.method == "session/prompt" {
			return true
		}
	}
	return false
}

// errorIn returns the error of a response.
func errorIn(line []byte) error {
	var r struct{ Error *jsonrpc.Error }
	if json.Unmarshal(line, &r) != nil || r.Error == nil {
		return errors.New("the agent's answer has neither a result nor an error")
	}
	return r.Error
}

// applyResult records what a successful answer changes.
func (a *agent) applyResult(c *pendingCall, line, result []byte) {
	switch {
	case c.method == "session/prompt" && c.session != nil:
		c.session.promptEnded(c, line, result)
	case c.prompt != nil && result != nil && textAt(result, "outcome") != promptRequired:
		c.session.showPrompt(c.client, c.prompt)
	case opens(c.method):
		a.opened(c, result)
	case c.method == "session/set_config_option" && c.session != nil:
		c.session.broadcastOption(c.client, result)
	case result == nil && c.session != nil && (c.method == "session/close" || c.method == "session/archive"):
		c.session.finishChange()
	case c.session != nil && c.method == "session/archive":
		c.session.broadcastText("\n\n"+c.client.shownName()+" has archived this session, which has ended it here. Load it again to go on.\n\n", c.client)
		c.session.end()
	case result != nil && c.session != nil && (c.method == "session/close" || c.method == "session/delete"):
		c.session.deleted = c.method == "session/delete"
		c.session.end()
	}
	if c.method == "session/delete" && result != nil {
		a.server.removeUnfinished(c.deletes)
	}
}

// promptRequired is the outcome of a steering message that the agent did not take: the client must send it as a prompt.
const promptRequired = "promptRequired"

// opens reports whether a method opens a session for its client.
func opens(method string) bool {
	switch method {
	case "session/new", "session/load", "session/resume", "session/fork":
		return true
	}
	return false
}

// expireLoads abandons the loads of a client that has disconnected, unless they end in time.
func (s *Server) expireLoads(c *Client) {
	for a := range s.agents {
		for id, asked := range a.calls {
			if asked.client == c && asked.session != nil && opens(asked.method) {
				time.AfterFunc(loadTime, func() { a.failLoad(id) })
			}
		}
	}
}

// failLoad makes an unanswered load fail.
func (a *agent) failLoad(id string) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	if asked := a.calls[id]; asked != nil {
		delete(a.calls, id)
		a.notify(cancelRequest, map[string]json.RawMessage{"requestId": json.RawMessage(id)})
		a.opened(asked, nil)
		asked.session.closeIfUnused()
		a.endIfUnused()
	}
}

// opened registers a session that the agent has opened, or forgets one that it failed to open.
func (a *agent) opened(c *pendingCall, result []byte) {
	open := c.session
	if c.method == "session/new" || c.method == "session/fork" {
		id := textAt(result, "sessionId")
		if id == "" {
			return
		}
		open = a.server.newSession(id, a, c.params)
		if c.client != nil {
			open.token = c.client.options.Token
		}
		c.session = open
		open.partial = c.method == "session/fork"
	}
	switch {
	case open == nil:
		return
	case result == nil:
		open.loader, open.partial = nil, true // the journal was reset
		c.client.setAlias(open, c.previousID)
		if open.changing { // otherwise the session is unchanged
			open.end()
		} else {
			open.finishChange()
		}
		return
	}
	open.loader = nil
	open.markWork() // after what was replayed
	open.markTurn()
	open.result, open.mode, open.model, open.options = bytes.Clone(result), nil, nil, nil
	open.adoptParams(c)
	if c.client != nil && c.client.id != "" {
		open.used = true // the client may come back to it
	}
	if c.client != nil && !c.client.gone {
		w := open.subscribe(c.client)
		c.client.logSession("a client opened a session", open)
		w.lost = w.lost && c.method != "session/load" // a load has shown everything
	}
	open.finishChange()
}

// end asks the agent to end. What it still sends is handled.
func (a *agent) end() {
	if !a.ending {
		a.ending = true
		a.out.Close()
	}
}

func (a *agent) kill() {
	if !a.killed {
		a.killed = true
		close(a.killRequested)
	}
}

// handleExit handles the end of the agent's process: it answers whoever waits for it.
func (a *agent) handleExit(e *jsonrpc.Error) {
	s := a.server
	delete(s.agents, a)
	expected := a.ending
	a.ending = true
	switch {
	case a.earlier:
		s.Log.Info("the connection to the earlier server ended", zap.Error(e))
	case !expected:
		s.Log.Warn("an agent ended unexpectedly", zap.Error(e), zap.Int("agent", a.pid()))
	case !a.queryOnly:
		s.Log.Info("an agent ended", zap.Int("agent", a.pid()))
	}
	for id, q := range s.questions {
		if q.agent == a {
			q.withdraw(nil)
			delete(s.questions, id)
		}
	}
	for _, c := range a.calls {
		switch {
		case c.change != nil:
			c.change.answered(a, false, func() { c.client.refuse(c.id, e) })
		case c.client != nil:
			c.client.refuse(c.id, e)
		}
		if c.operation != nil {
			c.session.endOperation(c.operation, jsonrpc.EncodeError(c.id, e))
		}
		if c.done != nil {
			c.done(nil, e)
		}
	}
	clear(a.calls)
	for _, open := range s.sessions {
		if open.agent == a {
			if !expected {
				open.broadcastText(e.Message, nil)
			}
			for _, w := range open.subscribers {
				if a.earlier && !expected {
					w.client.out.Close(TakenOver) // it connects again, and opens the session here
				}
			}
			open.end()
		}
	}
	maps.DeleteFunc(s.closedIn, func(_ string, in *agent) bool { return in == a })
	for _, f := range a.later {
		f()
	}
	for _, c := range a.clients {
		if !expected && !a.queryOnly && a.proc != nil {
			c.out.Close(e.Message)
		}
	}
	s.notifyChange()
}

// endIfUnused ends the agent if it has neither a session nor a client that may open one. The caller calls it whenever that may have become
// true.
func (a *agent) endIfUnused() {
	if a.ending || len(a.calls) > 0 || !a.queryOnly && len(a.clients) > 0 {
		return
	}
	for _, open := range a.server.sessions {
		if open.agent == a {
			return
		}
	}
	a.end()
}

// handleNotification handles a notification of the agent. It returns its session if a client of that has no room for more.
func (a *agent) handleNotification(line []byte, h jsonrpc.Head) (full *session) {
	params := paramsOf(line, h)
	id := textAt(params, "sessionId")
	open, ofSubagent := a.sessionOf(id)
	if h.Method == protocol.ActivityMethod {
		if open != nil {
			open.setWorking(string(rawjson.Field(params, "working")) == "true")
		}
		return nil
	}
	own := append(append(make([]byte, 0, len(line)+1), line...), '\n')
	if open != nil {
		if h.Method == "session/update" {
			a.noteSubagent(open, line, params)
		}
		if h.Method == "session/update" && !ofSubagent {
			open.applyUpdate(params)
		}
		open.broadcast(nil, own)
		if open.full() != nil {
			return open
		}
		return nil
	}
	for _, c := range a.clients {
		if id == "" { // otherwise it is about a session that was closed since, or that no answer has opened
			c.send(own[:len(line):len(line)])
		}
	}
	return nil
}
