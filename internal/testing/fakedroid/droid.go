// Package fakedroid imitates Factory's droid CLI in stream-jsonrpc mode, for tests: it writes what the real droid writes (0.225.2, or
// optionally 0.99.0 or a version without a protocol version), without a model, and without touching the machine unless a script has tools
// that work (Tool.Works).
//
// Its main types are Script, which determines what happens, and Droid, whose methods are the building blocks of scripts. Requests that a
// script does not handle are answered as droid answers them: settings change, unknown methods are refused, messages are queued, an
// interrupt ends the running turn.
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

// Script plays a droid. It runs on one goroutine and returns nil or io.EOF when it is done, a *Death if droid dies, or another error if the
// client's behaviour was unexpected.
type Script func(*Droid) error

// errInterrupted ends the steps of a turn after interrupt_session.
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
	context   []string               // added by hooks
	parent    string                 // ID of the last message
	queue     []Prompt
	turn      *turn               // nil if idle
	early     map[string]*Message // answers that were not awaited yet, by request ID, see Answered
	foreign   map[string]bool     // requests of subagents
	usage     int                 // model calls so far
	ended     int                 // those in completed turns
}

// Run speaks as droid on in and out until s has returned and in has ended. It returns the error of s, or nil for io.EOF. If s fails or
// dies, Run closes in if possible, and returns at once.
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
		_ = d.mcpStatus() // the script notices a failed write
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
		_ = c.Close() // the client sees that droid has exited
	}
	if _, ok := in.(*os.File); !ok { // a read of a terminal or pipe may outlast Close; the process exits anyway
		<-done
	}
	return err
}

// Session returns the ID of droid's session.
func (d *Droid) Session() string { return d.session }

// Mode returns droid's mode.
func (d *Droid) Mode() string { return d.settings.mode() }

// newID returns an ID in the form of a UUID. The IDs of one run are consecutive, so that runs can be compared.
func (d *Droid) newID() string {
	d.ids++
	return fmt.Sprintf("fa4ed801-0000-4000-8000-%012x", d.ids)
}

// serveUntilEOF answers the client after the end of the script.
func (d *Droid) serveUntilEOF() error {
	for {
		if _, err := d.next(-1); err != nil {
			return err
		}
	}
}

// next returns the next message that the default behaviour leaves to the script: a response, or nil after wait. A negative wait is
// unlimited, 0 returns only a message that has already arrived. It returns errInterrupted if the running turn was interrupted, and io.EOF
// at the end of the input.
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
			return nil, nil // AwaitPrompt returns it
		}
	}
}

// keepAnswer keeps the answer to a request of a subagent, which may not be awaited yet.
func (d *Droid) keepAnswer(m *Message) {
	if d.foreign[m.ID] {
		d.early[m.ID] = m
	}
}

// receive handles one message from the client; ok is false after timeout.
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

// eof writes what droid ≥0.215 writes at the end of its stdin: idle, even during a turn (quirk 3).
func (d *Droid) eof() error {
	if d.version.modern() && d.session != "" {
		if err := d.state("idle"); err != nil {
			return err
		}
	}
	return io.EOF
}

// Prompt is a user message.
type Prompt struct {
	RequestID string
	MessageID string // chosen by the client, "" if it did not
	Text      string
	Schema    string // JSON schema that the answer must match; "" for none. The script calls Structured
	Hidden    bool   // it is a message of droid to the model alone
}

// EachPrompt returns a script that plays a turn for each user message.
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

// Start runs a script on two pipes, as a process would, and returns the client's ends.
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

// AwaitPrompt answers the client until there is a user message. It returns io.EOF at the end of the input.
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
		_ = json.Unmarshal(m.Params, &params) // the answer validates them
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
			d.session = copied // it continues there (quirk 35)
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

// knownMethod reports whether the fake implements a method.
func knownMethod(method string) bool {
	switch method {
	case "droid.initialize_session", "droid.load_session", "droid.add_user_message",
		"droid.interrupt_session", "droid.update_session_settings", "droid.fork_session", "droid.resolve_queued_user_message":
		return true
	}
	return false
}

// required answers with droid's error if a string param is missing.
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
		d.session = uuid.NewString() // two fakes in one test must not have the same ID
	}
	d.sessions.create(d.session, d.cwd, d.settings)
	d.readHooks()
	if err := d.notifySettings(""); err != nil {
		return err
	}
	return d.Reply(id, d.sessionInfo(Fields{"messages": []any{}}))
}

// load opens a stored session with its settings.
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
	if d.version.modern() { // the last 100, unless messageLimit is set (quirk 21)
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

// mcpStatus reports that there are no MCP servers.
func (d *Droid) mcpStatus() error {
	none := Fields{"total": 0, "connected": 0, "connecting": 0, "failed": 0, "disabled": 0}
	return d.Notify("mcp_status_changed", Fields{"servers": []any{}, "summary": none})
}

// addUserMessage queues the message; RunTools folds it into the running turn (WithFolding), or the script plays it later.
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
	if d.version.modern() { // always, with the request's ID (quirk 16)
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
