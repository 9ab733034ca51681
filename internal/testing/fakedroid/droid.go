// Package fakedroid plays Factory's droid CLI in stream-jsonrpc mode, for tests:
// it writes what the real droid writes (0.225.2, and on
// request 0.99.0 or a version that tells no protocol version), without a model,
// and without touching the machine unless a script has tools that work (Tool.Works).
//
// A Script decides what happens; the methods of Droid are its building blocks.
// Requests that a script does not ask for are answered as droid answers them:
// settings change, unknown methods are refused, messages queue up, an interrupt
// ends the running turn.
package fakedroid

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Script plays a droid. It runs on one goroutine and returns nil or io.EOF
// when it is done, a *Death when droid dies, or another error when the client
// did not do what the script needs.
type Script func(*Droid) error

// errInterrupted ends what runs in a turn after interrupt_session.
var errInterrupted = errors.New("interrupted")

// Droid is the fake as its script sees it.
type Droid struct {
	version  Version
	pace     time.Duration
	out      io.Writer
	stderr   io.Writer
	inbox    <-chan *Message
	later    chan *Message // requests whose time has come, see Later
	stop     <-chan struct{}
	writeErr error

	ids       int
	session   string
	cwd       string
	settings  settings
	sessions  *Sessions
	folds     bool
	late      bool
	trace     string
	answers   map[string]Answer
	hooks     Hooks
	hookTable map[string][]hookEntry // by event
	context   []string               // that hooks added
	parent    string                 // id of the last message
	queue     []Prompt
	turn      *turn               // nil when idle
	early     map[string]*Message // answers that nobody has waited for yet, by the request's id, see Answered
	foreign   map[string]bool     // requests of subagents
	usage     int                 // model calls so far
	ended     int                 // of these, in turns that have ended
}

// Run speaks as droid on in and out until s has returned and in has ended.
// It returns the error of s, or nil for io.EOF. When s fails or dies, Run
// closes in if it can and returns at once.
func Run(in io.Reader, out io.Writer, s Script, options ...Option) error {
	inbox := make(chan *Message)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		readLines(in, inbox, stop)
	}()
	d := &Droid{version: V0225, out: out, stderr: io.Discard, inbox: inbox, later: make(chan *Message), stop: stop, settings: defaultSettings(), sessions: new(Sessions), parent: "root", early: map[string]*Message{}, foreign: map[string]bool{}}
	for _, o := range options {
		o(d)
	}
	if d.hooks.Settings != nil || d.version == V099 {
		_ = d.mcpStatus() // the script finds that it cannot write
	}
	err := s(d)
	if err == nil {
		err = d.serveUntilEOF()
	}
	close(stop)
	if errors.Is(err, io.EOF) {
		<-done
		return nil
	}
	if c, ok := in.(io.Closer); ok {
		_ = c.Close() // the client sees a droid that is gone
	}
	if _, ok := in.(*os.File); !ok { // a read of a terminal or pipe may outlast Close; the process ends anyway
		<-done
	}
	return err
}

// Session is the id of the session that droid works on.
func (d *Droid) Session() string { return d.session }

// Mode is the mode that droid works in.
func (d *Droid) Mode() string { return d.settings.mode() }

// newID returns an id in the form of a UUID. The ids of one run count up, so
// that runs compare.
func (d *Droid) newID() string {
	d.ids++
	return fmt.Sprintf("fa4ed801-0000-4000-8000-%012x", d.ids)
}

// serveUntilEOF answers what the client still sends when the script is done.
func (d *Droid) serveUntilEOF() error {
	for {
		if _, err := d.next(-1); err != nil {
			return err
		}
	}
}

// next returns the next message that the standard behaviour leaves to the
// script: a response, or nothing when wait has passed. A negative wait has no
// end, 0 takes only what is already there. It returns errInterrupted when the
// running turn was interrupted and io.EOF at the end of the input.
func (d *Droid) next(wait time.Duration) (*Message, error) {
	var timeout <-chan time.Time
	if wait >= 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timeout = t.C
	}
	for {
		m, ok, err := d.receive(wait, timeout)
		if err != nil || !ok {
			return nil, err
		}
		if m.isResponse() && m.invalid == "" {
			d.keepAnswer(m)
			return m, nil
		}
		if err := d.serve(m); err != nil {
			return nil, err
		}
		if d.turn == nil && len(d.queue) > 0 {
			return nil, nil // AwaitPrompt takes it
		}
	}
}

// keepAnswer keeps the answer to a request of a subagent's, for which nobody may wait now.
func (d *Droid) keepAnswer(m *Message) {
	if d.foreign[m.ID] {
		d.early[m.ID] = m
	}
}

// receive takes one message from the client; ok is false when timeout fired.
func (d *Droid) receive(wait time.Duration, timeout <-chan time.Time) (m *Message, ok bool, err error) {
	if d.writeErr != nil {
		return nil, false, d.writeErr
	}
	if wait == 0 {
		select {
		case m, ok = <-d.inbox:
		default:
			return nil, false, nil
		}
	} else {
		select {
		case m, ok = <-d.inbox:
		case m = <-d.later:
			ok = true
		case <-timeout:
			return nil, false, nil
		}
	}
	if !ok {
		return nil, false, d.eof()
	}
	return m, true, nil
}

// eof says what droid ≥0.215 says when its stdin ends: idle, also when a turn
// still runs (quirk 3).
func (d *Droid) eof() error {
	if d.version.modern() && d.session != "" {
		if err := d.state("idle"); err != nil {
			return err
		}
	}
	return io.EOF
}

// Prompt is a message of the user.
type Prompt struct {
	RequestID string
	MessageID string // that the client chose, "" when it did not
	Text      string
	Schema    string // that the answer must have the form of, as JSON; "" for none. The script calls Structured
	Hidden    bool   // it is a message of droid's to the model alone
}

// EachPrompt is a script that plays a turn for each message of the user.
func EachPrompt(turn func(*Droid, Prompt) error) Script {
	return func(d *Droid) error {
		for {
			p, err := d.AwaitPrompt()
			if err == nil {
				err = d.Turn(p, func() error { return turn(d, p) })
			}
			if err != nil {
				return err
			}
		}
	}
}

// Start runs a script on two pipes, as a process would, and returns the ends of its client.
func Start(s Script, options ...Option) (stdout *io.PipeReader, stdin *io.PipeWriter) {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	go func() {
		_ = Run(in, out, s, options...)
		_ = in.CloseWithError(io.ErrClosedPipe)
		_ = out.Close()
	}()
	return stdout, stdin
}

// AwaitPrompt answers the client until a message of the user is there. It
// returns io.EOF when the input ends.
func (d *Droid) AwaitPrompt() (Prompt, error) {
	for len(d.queue) == 0 {
		if _, err := d.next(-1); err != nil {
			return Prompt{}, err
		}
	}
	p := d.queue[0]
	d.queue = d.queue[1:]
	return p, nil
}

// serve answers one message as droid does.
func (d *Droid) serve(m *Message) error {
	switch {
	case m.invalid != "":
		return d.ReplyError("", codeParse, m.invalid)
	case m.Type == "notification":
		return nil
	case m.Method == "":
		return d.ReplyError("", codeParse, "Invalid JSON-RPC message")
	}
	var params map[string]any
	answer := d.answers[m.Method]
	if m.then != nil {
		answer = m.then
	}
	if answer != nil {
		_ = json.Unmarshal(m.Params, &params) // the answer judges what it gets
		result, refused := answer(params)
		if l, ok := result.(Later); ok {
			d.serveLater(m, l)
			return nil
		}
		switch {
		case refused != "":
			return d.ReplyError(m.ID, codeInternal, refused)
		case result == NoAnswer{}:
			return nil
		case result != nil:
			return d.Reply(m.ID, result)
		}
	}
	if knownMethod(m.Method) && (json.Unmarshal(m.Params, &params) != nil || params == nil) {
		return d.ReplyError(m.ID, codeParams, "Invalid request for "+m.Method+": params: Required")
	}
	switch m.Method {
	case "droid.initialize_session":
		return d.initialize(m.ID, params)
	case "droid.load_session":
		return d.load(m.ID, params)
	case "droid.add_user_message":
		return d.addUserMessage(m.ID, params)
	case "droid.interrupt_session":
		if d.turn != nil {
			d.turn.interruptID = m.ID
			return errInterrupted
		}
		return d.Reply(m.ID, Fields{})
	case "droid.update_session_settings":
		return d.updateSettings(m.ID, params)
	case "droid.fork_session":
		copied := d.sessions.fork(d.session)
		if !d.version.modern() {
			d.session = copied // it goes on there (quirk 35)
		}
		return d.Reply(m.ID, Fields{"newSessionId": copied})
	case "droid.resolve_queued_user_message":
		if d.version.modern() {
			d.queue = slices.DeleteFunc(d.queue, func(p Prompt) bool { return p.RequestID == params["requestId"] && params["action"] == "delete" })
			return d.Reply(m.ID, Fields{})
		}
	}
	return d.ReplyError(m.ID, codeMethod, "Unknown method: "+m.Method)
}

// serveLater answers a message when its time has come, unless droid has ended by then.
func (d *Droid) serveLater(m *Message, l Later) {
	m.then = l.Then
	time.AfterFunc(l.After, func() {
		select {
		case d.later <- m:
		case <-d.stop:
		}
	})
}

// knownMethod tells the methods that the fake implements.
func knownMethod(method string) bool {
	switch method {
	case "droid.initialize_session", "droid.load_session", "droid.add_user_message",
		"droid.interrupt_session", "droid.update_session_settings", "droid.fork_session", "droid.resolve_queued_user_message":
		return true
	}
	return false
}

// required answers with droid's error when a string param is missing.
func (d *Droid) required(id, method string, params map[string]any, names ...string) (ok bool, err error) {
	for _, name := range names {
		if _, ok := params[name].(string); !ok {
			return false, d.ReplyError(id, codeParams, "Invalid request for "+method+": params."+name+": Required")
		}
	}
	return true, nil
}

func (d *Droid) initialize(id string, params map[string]any) error {
	if ok, err := d.required(id, "droid.initialize_session", params, "machineId", "cwd"); !ok {
		return err
	}
	if err := d.mcpStatus(); err != nil {
		return err
	}
	if why := d.settings.update(d.version, params); why != "" {
		return d.ReplyError(id, codeParams, "Invalid request for droid.initialize_session: "+why)
	}
	d.cwd, _ = params["cwd"].(string)
	d.session, _ = params["sessionId"].(string)
	if d.session == "" {
		d.session = uuid.NewString() // two fakes of one test must not share an id
	}
	d.sessions.create(d.session, d.cwd, d.settings)
	d.readHooks()
	if err := d.notifySettings(""); err != nil {
		return err
	}
	return d.Reply(id, d.sessionInfo(Fields{"messages": []any{}}))
}

// load opens a stored session; its settings come with it.
func (d *Droid) load(id string, params map[string]any) error {
	if ok, err := d.required(id, "droid.load_session", params, "sessionId"); !ok {
		return err
	}
	name, _ := params["sessionId"].(string)
	found, ok := d.sessions.find(name)
	if !ok && d.sessions.TakesAny {
		found, ok = stored{settings: d.settings}, true
	}
	if !ok {
		return d.ReplyError(id, codeNotFound, "Session not found")
	}
	d.session, d.cwd, d.settings = name, found.cwd, found.settings
	d.readHooks()
	d.ids = max(d.ids, d.sessions.ids(1000*(1+len(found.messages))))
	messages, older := found.messages, false
	if d.version.modern() { // the last 100, unless messageLimit says otherwise (quirk 21)
		limit := 100
		if n, ok := params["messageLimit"].(float64); ok {
			limit = int(n)
		}
		if older = len(messages) > limit; older {
			messages = messages[len(messages)-limit:]
		}
	}
	if messages == nil {
		messages = []Fields{}
	}
	info := d.sessionInfo(Fields{"messages": messages, "title": "A fake session"})
	info["cwd"], info["isAgentLoopInProgress"], info["hasOlderMessages"] = d.cwd, d.turn != nil, older
	return d.Reply(id, info)
}

func (d *Droid) sessionInfo(session Fields) Fields {
	info := Fields{
		"sessionId": d.session, "session": session, "settings": d.settings.fields(d.version),
		"availableModels": models(),
	}
	if d.version.modern() {
		info["hostId"] = "fa4ed801-0000-4000-8000-0000000000ff"
	}
	return info
}

// mcpStatus says that there are no MCP servers.
func (d *Droid) mcpStatus() error {
	none := Fields{"total": 0, "connected": 0, "connecting": 0, "failed": 0, "disabled": 0}
	return d.Notify("mcp_status_changed", Fields{"servers": []any{}, "summary": none})
}

// addUserMessage queues the message; RunTools folds it into the running turn
// (WithFolding), or the script plays it when it is free.
func (d *Droid) addUserMessage(id string, params map[string]any) error {
	if ok, err := d.required(id, "droid.add_user_message", params, "text"); !ok {
		return err
	}
	if err := d.Reply(id, Fields{}); err != nil {
		return err
	}
	if d.session == "" { // two responses for one id (quirk 13)
		return d.ReplyError(id, codeInternal, "No active session. Call initialize_session or load_session first.")
	}
	p := Prompt{RequestID: id}
	p.Text, _ = params["text"].(string)
	if d.version.modern() {
		p.MessageID, _ = params["messageId"].(string)
		if format, ok := params["outputFormat"].(map[string]any); ok {
			schema, _ := json.Marshal(format["schema"]) // it was JSON
			p.Schema = string(schema)
		}
	}
	d.queue = append(d.queue, p)
	return nil
}

func (d *Droid) updateSettings(id string, params map[string]any) error {
	if d.session == "" {
		return d.ReplyError(id, codeInternal, "No active session. Call initialize_session or load_session first.")
	}
	before := d.settings
	if why := d.settings.update(d.version, params); why != "" {
		return d.ReplyError(id, codeParams, "Invalid request for droid.update_session_settings: "+why)
	}
	changed := before != d.settings
	if changed {
		if err := d.notifySettings(""); err != nil {
			return err
		}
	}
	if d.version.modern() { // always, with the request's id (quirk 16)
		if err := d.notifySettings(id); err != nil {
			return err
		}
	}
	return d.Reply(id, Fields{})
}

func (d *Droid) notifySettings(requestID string) error {
	d.sessions.keep(d.session, d.settings)
	f := Fields{"settings": d.settings.fields(d.version)}
	if requestID != "" {
		f["requestId"] = requestID
	}
	return d.Notify("settings_updated", f)
}
