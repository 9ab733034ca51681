package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/child"
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

type childProcess struct{ *child.Process }

func (p childProcess) Pipes() (io.WriteCloser, io.ReadCloser) { return p.Stdin, p.Stdout }

func (p childProcess) Await() string {
	<-p.Gone()
	exit := p.Exit(relay.DrainTime)
	text := exit.Text
	if n := len(exit.Stderr); n > 0 {
		text += ": " + exit.Stderr[n-1]
	}
	return text
}

func (o Options) startProcess(h Hello, stderr io.Writer) (process, error) {
	p, err := child.Start(child.Command{Path: h.Program, Args: h.Args, Dir: h.Directory, Env: h.Env, Stderr: io.MultiWriter(o.Stderr, stderr)})
	if err != nil {
		return nil, err
	}
	return childProcess{p}, nil
}

// toldWords tells a client what its agent writes to stderr. While the client has no room it is told nothing.
type toldWords struct{ *Client }

func (w toldWords) Write(text []byte) (int, error) {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if w.hello.Stderr && w.options.Local && w.out.Full() == nil {
		w.notify(StderrMethod, Words{string(text)})
	}
	return len(text), nil
}

// agent is the agent of one client, which may be gone. The server's lock guards it.
type agent struct {
	server *Server
	proc   process
	out    *jsonrpc.Outbox       // to it
	calls  map[string]*call      // what it was asked and has not answered
	owner  *Client               // nil once that is gone
	shows  protocol.ClientTraits // of that: what it asks is made for it
	idle   *time.Timer           // ends it; nil while it is needed
	ending bool                  // it gets nothing more
	doom   chan struct{}         // closed by kill
	killed bool
}

// call is a request to an agent.
type call struct {
	id      []byte // the client's
	method  string
	client  *Client  // nil for the server's own, or one whose client is gone
	session *session // that it is about, if it was open when it was asked
	wants   wants    // where it opens one
	prompt  []byte   // the params of a steering message
	done    func(result []byte, err error)
}

// start runs the agent of a client. It blocks while the process starts; the caller does not hold mu.
func (s *Server) start(h Hello, c *Client) (*agent, error) {
	proc, err := s.Options.start(h, toldWords{c})
	if err != nil {
		return nil, err
	}
	stdin, stdout := proc.Pipes()
	a := &agent{server: s, proc: proc, out: jsonrpc.NewOutbox(stdin, relay.Batch), calls: map[string]*call{}, doom: make(chan struct{})}
	s.mu.Lock()
	s.agents[a] = struct{}{}
	s.change()
	if s.closed {
		a.end()
	}
	s.mu.Unlock()
	go a.out.Run()
	s.work.Go(func() { a.run(stdin, stdout) })
	return a, nil
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
			s.Log.Warn("an agent does not end, so it is killed", zap.Int("pid", a.proc.ID()))
		case <-a.doom:
		}
	case <-a.doom:
	}
	if !child.Within(a.proc.Exited(), relay.DrainTime) {
		_ = a.proc.Kill() // it may have ended
	}
	how := a.proc.Await()
	a.out.Abort()
	_ = stdin.Close()
	if !child.Within(read, endTime) {
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
	a.ended(how)
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
		a.answered(line, h)
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

// answered takes a response of the agent.
func (a *agent) answered(line []byte, h jsonrpc.Head) {
	id := string(h.ID)
	c := a.calls[id]
	if c == nil {
		return
	}
	delete(a.calls, id)
	var result []byte
	if h.Result > 0 {
		result = value(line[h.Result:])
	}
	a.took(c, line, result)
	if c.client != nil && !c.client.gone {
		c.client.send(h.WithID(line, string(c.id)))
	}
	if c.done != nil {
		var err error
		if result == nil {
			err = errorIn(line)
		}
		c.done(result, err)
	}
	a.rest()
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
	case result != nil && c.session != nil && (c.method == "session/close" || c.method == "session/delete"):
		c.session.end()
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
		open.partial = c.method == "session/fork"
	}
	switch {
	case open == nil:
		return
	case result == nil:
		open.loader, open.partial = nil, true // the journal began anew
		if open.changing {                    // else the session is as it was
			open.end()
		} else {
			open.changed()
		}
		return
	}
	open.loader = nil
	open.rests()
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

// ended is the end of the agent's process.
func (a *agent) ended(how string) {
	s := a.server
	delete(s.agents, a)
	if a.idle != nil {
		a.idle.Stop()
	}
	expected := a.ending
	a.ending = true
	e := agentEnded(how)
	if !expected {
		s.Log.Warn("an agent has ended by itself", zap.String("how", how), zap.Int("pid", a.proc.ID()))
	}
	for id, q := range s.questions {
		if q.agent == a {
			q.withdraw(nil)
			delete(s.questions, id)
		}
	}
	for _, c := range a.calls {
		switch {
		case c.done != nil:
			c.done(nil, e)
		case c.client != nil:
			c.client.refuse(c.id, e)
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
	if a.owner != nil {
		a.owner.out.Close(e.Message)
	}
	s.change()
}

// rest ends the agent after a while in which nobody needs it, or at once where it has no session. The
// caller calls it whenever that may have begun or ended.
func (a *agent) rest() {
	needed, sessions := a.ending || a.owner != nil || len(a.calls) > 0, false
	for _, open := range a.server.sessions {
		if open.agent == a {
			sessions = true
			needed = needed || len(open.watchers) > 0 || open.state() != Idle
		}
	}
	switch {
	case !needed && !sessions:
		a.end()
	case needed && a.idle != nil:
		a.idle.Stop()
		a.idle = nil
	case !needed && a.idle == nil:
		var idle *time.Timer
		idle = time.AfterFunc(a.server.KeepIdle, func() {
			a.server.mu.Lock()
			defer a.server.mu.Unlock()
			if a.idle == idle {
				a.server.Log.Info("an agent that nobody needs ends", zap.Int("pid", a.proc.ID()))
				a.end()
			}
		})
		a.idle = idle
	}
}

// tells takes a notification. What it returns is closed when there is room for more.
func (a *agent) tells(line []byte, h jsonrpc.Head) (full <-chan struct{}) {
	params := paramsOf(line, h)
	id := textAt(params, "sessionId")
	open := a.server.sessions[id]
	if open != nil && open.agent != a {
		open = nil
	}
	if h.Method == protocol.ActivityMethod {
		if open != nil {
			open.works(string(rawjson.Field(params, "working")) == "true")
		}
		return nil
	}
	own := append(append(make([]byte, 0, len(line)+1), line...), '\n')
	if open != nil {
		if h.Method == "session/update" {
			open.note(params)
		}
		open.tellBut(nil, own)
		return open.full()
	}
	if a.owner == nil {
		return nil
	}
	a.owner.send(own[:len(line):len(line)])
	return a.owner.out.Full()
}
