package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/rawjson"
)

// process is a running agent.
type process interface {
	Pipes() (stdin io.WriteCloser, stdout io.ReadCloser)
	ID() int
	Exited() <-chan struct{}
	Kill() error
	// Await returns how it ended, once it and what it started are gone.
	Await() (how string)
}

type childProcess struct{ *subprocess.Process }

func (p childProcess) Pipes() (io.WriteCloser, io.ReadCloser) { return p.Stdin, p.Stdout }

func (p childProcess) Await() string {
	<-p.AllExited()
	exit := p.Exit(relay.DrainTime)
	text := exit.Text
	if n := len(exit.Stderr); n > 0 {
		text += ": " + exit.Stderr[n-1]
	}
	return text
}

// inside is an agent that runs in this process.
type inside struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	exited chan struct{}
	end    func() error // has it end
	how    error        // it ended; nil where it was ended
}

func (i *inside) Pipes() (io.WriteCloser, io.ReadCloser) { return i.in, i.out }
func (i *inside) ID() int                                { return os.Getpid() }
func (i *inside) Exited() <-chan struct{}                { return i.exited }
func (i *inside) Kill() error                            { return i.end() }

func (i *inside) Await() string {
	<-i.exited
	if i.how != nil {
		return i.how.Error()
	}
	return "it was ended"
}

// startLook runs what answers a client that has opened no session.
func (o Options) startLook(h Hello, stderr io.Writer) (process, error) {
	if o.Look == nil {
		return o.start(h, stderr)
	}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	i := &inside{in: stdin, out: stdout, exited: make(chan struct{}), end: sync.OnceValue(in.Close)}
	go func() {
		defer close(i.exited)
		i.how = o.Look(h, in, out)
		_ = out.Close() // a pipe always closes
		_ = i.end()
	}()
	return i, nil
}

func (o Options) startProcess(h Hello, stderr io.Writer) (process, error) {
	p, err := subprocess.Start(subprocess.Command{Path: h.Program, Args: h.Args, Dir: h.Directory, Env: h.Env, Stderr: io.MultiWriter(o.Stderr, stderr)})
	if err != nil {
		return nil, err
	}
	return childProcess{p}, nil
}

// Write tells the agent's clients what it writes to stderr. One that has no room is told nothing.
func (a *agent) Write(text []byte) (int, error) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	for _, c := range a.clients {
		if c.hello.Stderr && c.options.Local && c.out.Full() == nil {
			c.notify(StderrMethod, Words{string(text)})
		}
	}
	return len(text), nil
}

// agent opens sessions for clients that are alike, which may be gone. The server's lock guards it.
type agent struct {
	server  *Server
	kind                     // of the client for which it was started
	looks   bool             // it opens no session, and ends when it has answered
	proc    process          // nil until it was started
	out     *jsonrpc.Outbox  // to it
	calls   map[string]*call // what it was asked and has not answered
	clients []*Client        // that open sessions in it, in the order in which they came
	ending  bool             // it gets nothing more

	subagents map[string]*subagent // that it has announced, by their ids

	doom   chan struct{} // closed by kill
	killed bool
}

// call is a request to an agent.
type call struct {
	id      []byte // the client's
	method  string
	client  *Client  // nil for the server's own, or one whose client is gone
	session *session // that it is about, if it was open when it was asked
	wants   wants    // where it opens one
	deletes string   // the session, where it deletes one
	prompt  []byte   // the params of a steering message
	note    string   // for the client alone, where it joins a session
	before  string   // the id by which the client knew the session that it loads
	done    func(result []byte, err error)
}

// startAgent starts an agent for a client. It may be asked at once.
func (s *Server) startAgent(c *Client, looks bool) *agent {
	a := &agent{server: s, kind: c.kind, looks: looks, out: jsonrpc.NewOutbox(nil, relay.Batch), calls: map[string]*call{}, clients: []*Client{c}, doom: make(chan struct{})}
	s.agents[a] = struct{}{}
	s.change()
	if s.closed {
		a.end()
	}
	s.work.Go(a.live)
	return a
}

// live starts the agent's process and hears it until it ends.
func (a *agent) live() {
	s, start := a.server, a.server.Options.start
	if a.looks {
		start = s.Options.look
	}
	proc, err := start(a.hello, a)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.ended(jsonrpc.InternalError("agent_not_started", fmt.Sprintf("The agent %s does not start: %v.", a.hello.Program, err)))
		return
	}
	s.mu.Lock()
	a.proc = proc
	s.mu.Unlock()
	stdin, stdout := proc.Pipes()
	a.out.SetWriter(stdin)
	go a.out.Run()
	a.run(stdin, stdout)
}

// pid is the id of its process, 0 for none.
func (a *agent) pid() int {
	if a.proc == nil {
		return 0
	}
	return a.proc.ID()
}

// run hears the agent until it ends.
func (a *agent) run(stdin io.WriteCloser, stdout io.ReadCloser) {
	s := a.server
	read, tooLong := make(chan struct{}), false
	go func() {
		defer close(read)
		tooLong = a.read(stdout)
	}()
	select {
	case <-read: // it has ended, or says nothing more
	case <-a.out.Done(): // it is to end: its input does
		_ = stdin.Close()
		select {
		case <-read:
		case <-time.After(endTime):
			s.Log.Warn("an agent does not end, so it is killed", zap.Int("pid", a.pid()))
		case <-a.doom:
		}
	case <-a.doom:
	}
	if !subprocess.WaitTimeout(a.proc.Exited(), relay.DrainTime) {
		_ = a.proc.Kill() // it may have ended
	}
	how := a.proc.Await()
	a.out.Abort()
	_ = stdin.Close()
	if !subprocess.WaitTimeout(read, endTime) {
		_ = stdout.Close() // somebody else holds it open, or nobody takes what it said: this ends the reading
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
	a.ended(agentEnded(how))
}

// read hears lines until there are no more, or one is too long. It reads none while the only client has no room.
func (a *agent) read(in io.Reader) (tooLong bool) {
	lines := jsonrpc.NewLines(in, a.server.maxLine, func([]byte) {})
	for {
		line, err := lines.Next()
		if err != nil {
			return errors.As(err, new(*jsonrpc.TooLongError))
		}
		full := a.hear(line)
		if full != nil {
			select {
			case <-full:
			case <-a.doom:
			}
		}
	}
}

// hear takes one line of the agent. What it returns is closed when there is room for more.
func (a *agent) hear(line []byte) (full <-chan struct{}) {
	if !json.Valid(line) {
		a.server.Log.Warn("an agent wrote a line that is no JSON", zap.Int("bytes", len(line)))
		return nil
	}
	h, ok := jsonrpc.ReadHead(line)
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	switch {
	case !ok:
		a.server.Log.Warn("an agent wrote a line that is no message", zap.Int("bytes", len(line)))
	case h.Method == "":
		return a.answered(line, h)
	case h.Method == cancelRequest:
		a.withdraws(line, h)
	case h.IsRequest():
		a.asks(line, h)
	default:
		return a.tells(line, h)
	}
	return nil
}

const cancelRequest = "$/cancel_request"

// put sends the agent a line. One that is ending gets nothing.
func (a *agent) put(line []byte) { _, _ = a.out.Put(line) }

func (a *agent) notify(method string, params any) {
	if line, err := jsonrpc.EncodeCall(nil, method, params); err == nil {
		a.put(line)
	}
}

// ask sends a request of the server's own. done is called with the lock held.
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
	a.calls[id] = &call{method: method, done: done, session: a.server.sessions[session]}
	a.put(line)
}

var errAgentEnds = errors.New("the agent ends")

// answered takes a response of the agent. What it returns is closed when the next line may be heard.
func (a *agent) answered(line []byte, h jsonrpc.Head) (later <-chan struct{}) {
	id := string(h.ID)
	c := a.calls[id]
	if c == nil {
		return nil
	}
	if h.Result > 0 && c.method == "session/load" && c.session != nil {
		line := bytes.Clone(line)
		h, _ := jsonrpc.ReadHead(line)
		if shown := c.session.showUnfinished(func() { a.answered(line, h) }); shown != nil {
			return shown
		}
	}
	delete(a.calls, id)
	var result []byte
	if h.Result > 0 {
		result = value(line[h.Result:])
	}
	a.took(c, line, result)
	if c.client != nil {
		a.answer(c, line, h, result)
		if c.note != "" && result != nil {
			c.session.sayTo(c.client, c.note) // behind the response that opens the session
		}
	}
	if c.done != nil {
		var err error
		if result == nil {
			err = errorIn(line)
		}
		c.done(result, err)
	}
	if c.session != nil {
		c.session.rest()
	}
	a.rest()
	return nil
}

// answer passes an answer on to the client that waits for it.
func (a *agent) answer(c *call, line []byte, h jsonrpc.Head, result []byte) {
	if c.client.abilities != a.abilities && !c.client.caps.BooleanOptions {
		if fields := protocol.Fields(result); fields["configOptions"] != nil {
			encoded, _ := json.Marshal(withoutSwitches(c.session, c.client, fields)) // raw JSON encodes
			c.client.put(jsonrpc.EncodeResult(c.id, json.RawMessage(forClient(c.client, encoded))))
			return
		}
	}
	c.client.send(forClient(c.client, h.WithID(line, string(c.id))))
}

// asked reports whether a request about a session has no answer.
func (a *agent) asked(o *session) bool {
	for _, c := range a.calls {
		if c.session == o {
			return true
		}
	}
	return false
}

// prompted reports whether a prompt of a session has no answer.
func (a *agent) prompted(o *session) bool {
	for _, c := range a.calls {
		if c.session == o && c.method == "session/prompt" {
			return true
		}
	}
	return false
}

// errorIn is the error of a response.
func errorIn(line []byte) error {
	var r struct{ Error *jsonrpc.Error }
	if json.Unmarshal(line, &r) != nil || r.Error == nil {
		return errors.New("the agent's answer has neither a result nor an error")
	}
	return r.Error
}

// took notes what an answer changes.
func (a *agent) took(c *call, line, result []byte) {
	switch {
	case c.method == "session/prompt" && c.session != nil:
		c.session.promptEnded(c, line, result)
	case c.prompt != nil && result != nil && textAt(result, "outcome") != promptRequired:
		c.session.showPrompt(c.client, c.prompt)
	case opens(c.method):
		a.opened(c, result)
	case c.method == "session/set_config_option" && c.session != nil:
		c.session.optionSet(c.client, result)
	case result == nil && c.session != nil && c.method == "session/close":
		c.session.changed()
	case result != nil && c.session != nil && (c.method == "session/close" || c.method == "session/delete"):
		c.session.deleted = c.method == "session/delete"
		c.session.end()
	}
	if c.method == "session/delete" && result != nil {
		a.server.removeUnfinished(c.deletes)
	}
}

// promptRequired is the outcome of a steering message that the agent has not taken: the client sends it as a prompt.
const promptRequired = "promptRequired"

// opens reports whether a method opens a session for the client that calls it.
func opens(method string) bool {
	switch method {
	case "session/new", "session/load", "session/resume", "session/fork":
		return true
	}
	return false
}

// loadsEnd gives up what a client that has gone loads, unless it ends by itself in time.
func (s *Server) loadsEnd(c *Client) {
	for a := range s.agents {
		for id, asked := range a.calls {
			if asked.client == c && asked.session != nil && opens(asked.method) {
				time.AfterFunc(loadTime, func() { a.giveUp(id) })
			}
		}
	}
}

// giveUp has a load that the agent has not answered be one that failed.
func (a *agent) giveUp(id string) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	if asked := a.calls[id]; asked != nil {
		delete(a.calls, id)
		a.notify(cancelRequest, map[string]json.RawMessage{"requestId": json.RawMessage(id)})
		a.opened(asked, nil)
		asked.session.rest()
		a.rest()
	}
}

// opened registers a session that the agent has opened, or forgets one that it has not.
func (a *agent) opened(c *call, result []byte) {
	open := c.session
	if c.method == "session/new" || c.method == "session/fork" {
		id := textAt(result, "sessionId")
		if id == "" {
			return
		}
		open = a.server.newSession(id, a, c.wants)
		c.session = open
		open.partial = c.method == "session/fork"
	}
	switch {
	case open == nil:
		return
	case result == nil:
		open.loader, open.partial = nil, true // the journal began anew
		c.client.know(open, c.before)
		if open.changing { // else the session is as it was
			open.end()
		} else {
			open.changed()
		}
		return
	}
	open.loader = nil
	open.markWork() // behind what was replayed
	open.markTurn()
	open.result, open.mode, open.model, open.options = bytes.Clone(result), nil, nil, nil
	open.goesOn(c)
	if c.client != nil && !c.client.gone {
		w := open.attach(c.client)
		w.lost = w.lost && c.method != "session/load" // that has told it all
	}
	open.changed()
}

// end has the agent end politely. What it still says is heard.
func (a *agent) end() {
	if !a.ending {
		a.ending = true
		a.out.Close()
	}
}

func (a *agent) kill() {
	if !a.killed {
		a.killed = true
		close(a.doom)
	}
}

// ended is the end of the agent's process, with what is told to those who wait for it.
func (a *agent) ended(e *jsonrpc.Error) {
	s := a.server
	delete(s.agents, a)
	expected := a.ending
	a.ending = true
	if !expected {
		s.Log.Warn("an agent has ended by itself", zap.Error(e), zap.Int("pid", a.pid()))
	}
	for id, q := range s.questions {
		if q.agent == a {
			q.withdraw(nil)
			delete(s.questions, id)
		}
	}
	for _, c := range a.calls {
		if c.client != nil {
			c.client.refuse(c.id, e)
		}
		if c.done != nil {
			c.done(nil, e)
		}
	}
	clear(a.calls)
	for _, open := range s.sessions {
		if open.agent == a {
			if !expected {
				open.say(e.Message, nil)
			}
			open.end()
		}
	}
	for _, c := range a.clients {
		if !expected && !a.looks && a.proc != nil {
			c.out.Close(e.Message)
		}
	}
	s.change()
}

// rest ends the agent when nobody needs it: it has neither a session nor a client that may open another one. The caller calls it whenever
// that may be so.
func (a *agent) rest() {
	if a.ending || len(a.calls) > 0 || !a.looks && len(a.clients) > 0 {
		return
	}
	for _, open := range a.server.sessions {
		if open.agent == a {
			return
		}
	}
	a.end()
}

// tells takes a notification. What it returns is closed when there is room for more.
func (a *agent) tells(line []byte, h jsonrpc.Head) (full <-chan struct{}) {
	params := paramsOf(line, h)
	id := textAt(params, "sessionId")
	open, ofSubagent := a.sessionOf(id)
	if h.Method == protocol.ActivityMethod {
		if open != nil {
			open.works(string(rawjson.Field(params, "working")) == "true")
		}
		return nil
	}
	own := append(append(make([]byte, 0, len(line)+1), line...), '\n')
	if open != nil {
		if h.Method == "session/update" {
			a.noteSubagent(open, line, params)
		}
		if h.Method == "session/update" && !ofSubagent {
			open.note(params)
		}
		open.tellBut(nil, own)
		return open.full()
	}
	for _, c := range a.clients {
		if id == "" { // else of a session that was closed meanwhile, or that no answer has opened
			c.send(own[:len(line):len(line)])
		}
	}
	return nil
}
