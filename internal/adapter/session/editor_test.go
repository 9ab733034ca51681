package session_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/testeditor"
)

// editor is an ACP client for tests. It runs in a synctest bubble: settle waits
// until agent and droid have nothing left to do.
type editor struct {
	t       *testing.T
	agent   *adapter.Agent
	in      *io.PipeWriter // the agent's stdin
	out     *pausedReader  // its stdout
	session string
	ask     func(permission) string                 // picks an option id, "" cancels; nil leaves requests open
	onForm  func(protocol.ElicitationParams) string // the result of elicitation/create; nil leaves it open
	onAsk   func(id, params json.RawMessage) bool   // true when it has dealt with the request itself

	hanging hanging // has a call of the agent's hang

	files *testeditor.Editor // does what fs/ methods want; nil leaves these open

	mu      sync.Mutex
	lines   []wireMessage // all that came, in order
	talk    *acptest.Conversation
	answers map[string]wireMessage
	next    int
	done    chan struct{} // the agent's stdout has ended
	served  chan struct{}
	starts  int      // droid processes started
	added   []string // what each adds to its system prompt
	dirs    []string // where each was started

	customModels [][]droid.CustomModel // that each got

	real chan struct{} // has a token when a line came; set where real time passes, outside a bubble
}

// schemaDir has our copy of ACP's schema.
const schemaDir = "../../../testdata/acp-schema"

// acpSchema checks all that the agent writes in these tests, the conversations of
// the fixtures among it. `make acp-check` gives it another schema.
var acpSchema = sync.OnceValue(func() *acptest.Validator {
	v, err := acptest.Load(cmp.Or(os.Getenv("DROID_ACP_NEWEST_SCHEMA"), schemaDir))
	if err != nil {
		panic(err)
	}
	return v
})

type wireMessage = acptest.Message

type permission = acptest.Permission[protocol.ToolCall]

func allowOnce(p permission) string  { return p.Option("allow_once") }
func rejectOnce(p permission) string { return p.Option("reject_once") }

// starter makes droid processes for an agent under test.
type starter func(n int) (*droid.Client, error)

// playing starts a fake droid with the script for each process.
func playing(script fakedroid.Script, options ...fakedroid.Option) starter {
	return func(int) (*droid.Client, error) { return fakeDroid(script, options...), nil }
}

// fakeDroid runs a script on two pipes, as a process would.
func fakeDroid(script fakedroid.Script, options ...fakedroid.Option) *droid.Client {
	return tappedDroid(nil, script, options...)
}

// tappedDroid is fakeDroid with a copy of everything that it receives, a line for each Write.
func tappedDroid(tap func(line []byte), script fakedroid.Script, options ...fakedroid.Option) *droid.Client {
	stdout, stdin := fakedroid.Start(script, options...)
	return droid.NewClient(stdout, tapped{stdin, tap}, zap.NewNop())
}

type tapped struct {
	io.WriteCloser
	tap func([]byte)
}

func (w tapped) Write(p []byte) (int, error) {
	if w.tap != nil {
		w.tap(p)
	}
	return w.WriteCloser.Write(p)
}

// open serves an agent to an editor without a session.
func open(t *testing.T, start starter, configure ...func(*adapter.Config)) *editor {
	t.Helper()
	return openAt(t, "/workspace", start, zap.NewNop(), configure...)
}

func openLogging(t *testing.T, start starter, log *zap.Logger) *editor {
	t.Helper()
	return openAt(t, "/workspace", start, log)
}

// openAt serves an agent whose own directory is dir.
func openAt(t *testing.T, dir string, start starter, log *zap.Logger, configure ...func(*adapter.Config)) *editor {
	t.Helper()
	in, agentIn := io.Pipe()
	agentOut, out := io.Pipe()
	e := &editor{t: t, in: agentIn, out: &pausedReader{in: agentOut}, talk: acpSchema().NewConversation(), answers: map[string]wireMessage{}, done: make(chan struct{}), served: make(chan struct{}), ask: allowOnce}
	config := adapter.Config{
		Config: session.Config{
			Config: launch.Config{
				Start: func(c droid.Command) (*droid.Client, error) {
					e.mu.Lock()
					e.starts++
					e.added = append(e.added, c.SystemPrompt)
					e.dirs = append(e.dirs, c.Dir)
					e.customModels = append(e.customModels, c.CustomModels)
					n := e.starts
					e.mu.Unlock()
					return start(n)
				},
				Dir: dir,
			},
			Locate:  func() (string, error) { return "/usr/bin/droid", nil },
			Release: func(context.Context, string) (string, error) { return "0.225.2", nil },
			Version: "test",
		},
		Unread: muchText,
		Log:    log,
	}
	for _, change := range configure {
		change(&config)
	}
	e.agent = adapter.New(config)
	e.agent.Launcher.Stat = func(string) (os.FileInfo, error) { return os.Stat(os.TempDir()) }
	e.hanging.revived, e.agent.Calls.BeforeCall = make(chan struct{}), e.hanging.hang
	t.Cleanup(func() { e.hanging.revive(); e.settle() })
	go func() {
		defer close(e.served)
		_ = e.agent.Serve(context.Background(), in, out)
		_ = out.Close()
		_ = in.Close()
	}()
	go e.read(e.out)
	t.Cleanup(e.close)
	return e
}

// asZed is the clientInfo of a client that is known to show options' names.
const asZed = `"clientInfo":{"name":"zed","version":"1"}`

// connect opens and initializes.
func connect(t *testing.T, start starter) *editor {
	t.Helper()
	e := open(t, start)
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":{},`+asZed+`}`).Error)
	return e
}

// begin connects and makes a session in /workspace.
func begin(t *testing.T, start starter) *editor {
	t.Helper()
	e := connect(t, start)
	e.beginSession()
	return e
}

func (e *editor) beginSession() { e.t.Helper(); e.beginSessionIn("/workspace") }

func (e *editor) beginSessionIn(dir string) {
	e.t.Helper()
	e.session = e.sessionOf(e.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir)))
	require.NotEmpty(e.t, e.session)
}

// sessionOf is the id of the session that an answer has made, "" for one to a load.
func (e *editor) sessionOf(answer wireMessage) string {
	e.t.Helper()
	require.Nil(e.t, answer.Error)
	var result struct{ SessionID string }
	require.NoError(e.t, json.Unmarshal(answer.Result, &result))
	return result.SessionID
}

// find finds an open session.
func (e *editor) find(id string) (*session.Session, *jsonrpc.Error) {
	if s, known := e.agent.Sessions.Find(id); known {
		return s, nil
	}
	return nil, acperr.UnknownSession(id)
}

// inside runs f with the session's lock.
func (e *editor) inside(f func(*session.Session)) {
	e.t.Helper()
	s, err := e.find(e.session)
	require.Nil(e.t, err)
	require.Nil(e.t, s.Enter(nil))
	defer func() { s.Exit(&err) }() // which stops no panic of f here
	f(s)
}

// parked reports whether the session has no process.
func (e *editor) parked() (parked bool) {
	synctest.Wait()
	e.inside(func(s *session.Session) { parked = s.State().ProtocolVersion == "" })
	return parked
}

// close ends the agent's input and waits for its end.
func (e *editor) close() {
	e.out.resume()
	_ = e.in.Close()
	<-e.served
	<-e.done
}

func (e *editor) read(out io.Reader) {
	defer close(e.done)
	acptest.Read(out, func(m wireMessage, err error) {
		if err == io.ErrUnexpectedEOF {
			return // it was not read to its end
		}
		e.mu.Lock()
		private := strings.HasPrefix(m.Method, "_factory/") || m.Method == protocol.ActivityMethod // an invented message, which is passed on as it is, or one for a server
		if wrong := e.talk.Agent([]byte(m.Raw)); err == nil && !private {
			err = wrong
		}
		if err = errors.Join(err, strictError(m)); err != nil {
			e.t.Errorf("the agent wrote %s\n%v", m.Raw, err)
		}
		e.lines = append(e.lines, m)
		if e.real != nil {
			select {
			case e.real <- struct{}{}:
			default:
			}
		}
		if m.Method == "" {
			e.answers[string(m.ID)] = m
		}
		ask, onAsk, onForm, files := e.ask, e.onAsk, e.onForm, e.files
		e.mu.Unlock()
		if strings.HasPrefix(m.Method, "fs/") && files != nil {
			go e.serveFile(files, m)
		}
		if m.Method == "elicitation/create" && onForm != nil {
			go e.fill(m.ID, m.Params, onForm)
		}
		if ask == nil && strings.Contains(string(m.Params), `"toolCallId":"compact-`) {
			ask = func(permission) string { return "compact" } // the user means it
		}
		if m.Method == "session/request_permission" && (onAsk == nil || !onAsk(m.ID, m.Params)) && ask != nil {
			go e.answer(m.ID, m.Params, ask)
		}
	})
}

func (e *editor) answer(id, params json.RawMessage, ask func(permission) string) {
	e.send(acptest.Selected(id, ask(acptest.AskedFor[protocol.ToolCall](e.t, wireMessage{ID: id, Params: params}))))
}

func (e *editor) fill(id, params json.RawMessage, onForm func(protocol.ElicitationParams) string) {
	var p protocol.ElicitationParams
	if err := json.Unmarshal(params, &p); err != nil {
		e.t.Errorf("elicitation %s: %v", params, err)
	}
	e.send(acptest.Response(id, onForm(p)))
}

// serveFile answers an fs/ method.
func (e *editor) serveFile(files *testeditor.Editor, m wireMessage) {
	if response, err := acptest.ServeFile(e.t, files, m); !errors.Is(err, testeditor.ErrClosed) { // the editor is there
		e.send(response)
	}
}

func (e *editor) send(line string) {
	e.talk.Client([]byte(line))
	_, err := e.in.Write([]byte(line + "\n"))
	if err != nil && err != io.ErrClosedPipe {
		e.t.Errorf("writing to the agent: %v", err)
	}
}

// request sends a request and returns its id.
func (e *editor) request(method, params string) string {
	e.mu.Lock()
	e.next++
	id := fmt.Sprint(e.next)
	e.mu.Unlock()
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

// call sends a request and returns its answer. Time in the bubble passes until
// there is one.
func (e *editor) call(method, params string) wireMessage {
	e.t.Helper()
	return e.await(e.request(method, params))
}

func (e *editor) notify(method, params string) {
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// answered returns the answer to a request if it has come.
func (e *editor) answered(id string) (wireMessage, bool) {
	e.settle()
	e.mu.Lock()
	defer e.mu.Unlock()
	m, ok := e.answers[id]
	return m, ok
}

// prompt sends a text prompt and returns the request's id.
func (e *editor) prompt(text string) string {
	return e.request("session/prompt", e.promptParams(text))
}

func (e *editor) promptParams(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%s}]}`, e.session, quoted)
}

// run sends a text prompt and returns how it ended: a stop reason, or the error
// as "code message".
func (e *editor) run(text string) string { return ended(e.await(e.prompt(text))) }

func ended(m wireMessage) string {
	if m.Error != nil {
		return fmt.Sprintf("%d %s", m.Error.Code, allOf(m.Error))
	}
	var r struct{ StopReason string }
	_ = json.Unmarshal(m.Result, &r)
	return r.StopReason
}

// allOf returns the kind and all texts of an error in one line.
func allOf(e *acptest.Error) string {
	var data struct{ Kind, Details string }
	_ = json.Unmarshal(e.Data, &data)
	details := strings.Join(strings.Fields(data.Details), " ")
	text := strings.Join(strings.Fields(e.Message), " ")
	if title, sentence, titled := strings.Cut(text, ": "); details != "" && strings.HasPrefix(details, text) {
		text = details
	} else if titled && details != "" && strings.HasPrefix(details, sentence) {
		text = title + ": " + details
	} else {
		text = strings.TrimSpace(text + " " + details)
	}
	if data.Kind != "" {
		text = data.Kind + ": " + text
	}
	return text
}

func (e *editor) cancel() { e.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, e.session)) }

// received returns a copy of all that came so far.
func (e *editor) received() []wireMessage {
	e.settle()
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.lines)
}

// updates returns the updates that came, in short: "agent: text", "tool id
// status title", ….
func (e *editor) updates() []string {
	var out []string
	for _, m := range e.received() {
		switch m.Method {
		case "session/update":
			if ownUpdate(m) {
				continue // their times vary
			}
			out = appendUpdate(out, shortUpdate(m.Params))
		case "session/request_permission":
			out = append(out, "ask")
		case "$/cancel_request":
			out = append(out, "withdrawn")
		case "":
			if r := ended(m); r != "" {
				out = append(out, "end "+r)
			}
		}
	}
	return out
}

// appendUpdate joins text chunks of one message, which may arrive merged or not.
func appendUpdate(out []string, u string) []string {
	if n := len(out); n > 0 {
		for _, kind := range []string{"agent: ", "thought: ", "notice: "} {
			if strings.HasPrefix(u, kind) && strings.HasPrefix(out[n-1], kind) {
				out[n-1] += strings.TrimPrefix(u, kind)
				return out
			}
		}
	}
	return append(out, u)
}

func shortUpdate(params json.RawMessage) string {
	var p struct {
		Update struct {
			SessionUpdate string
			Content       json.RawMessage
			ToolCallID    string
			Status, Title string
			CurrentModeID string
			Meta          struct {
				Own struct{ Notice bool } `json:"droid-acp"`
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err.Error()
	}
	u := p.Update
	switch u.SessionUpdate {
	case "agent_message_chunk", "agent_thought_chunk", "user_message_chunk":
		var c struct{ Text string }
		_ = json.Unmarshal(u.Content, &c)
		if u.Meta.Own.Notice {
			return "notice: " + c.Text
		}
		who, _, _ := strings.Cut(strings.TrimPrefix(u.SessionUpdate, "agent_"), "_")
		return map[string]string{"message": "agent", "thought": "thought", "user": "user"}[who] + ": " + c.Text
	case "tool_call", "tool_call_update":
		return strings.Join(strings.Fields(u.SessionUpdate+" "+u.ToolCallID+" "+u.Status+" "+u.Title), " ")
	case "current_mode_update":
		return "mode " + u.CurrentModeID
	}
	return u.SessionUpdate + " " + u.Title
}

// settle waits until nothing happens by itself, in a bubble.
func (e *editor) settle() {
	if e.real == nil {
		synctest.Wait()
	}
}

// until waits in real time until ok, which is asked again after each line.
func (e *editor) until(what string, ok func() bool) {
	e.t.Helper()
	limit := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-e.real:
		case <-limit:
			e.t.Fatalf("%s did not come", what)
		}
	}
}

// await waits for the answer to a request.
func (e *editor) await(id string) (answer wireMessage) {
	e.t.Helper()
	if e.real != nil {
		e.until("the answer to request "+id, func() (ok bool) { answer, ok = e.answered(id); return ok })
		return answer
	}
	for range 10_000 {
		if m, ok := e.answered(id); ok {
			return m
		}
		// All goroutines wait, so only a timer can go on: let it. This is the
		// bubble's time.
		time.Sleep(10 * time.Millisecond)
	}
	e.t.Fatalf("no answer to request %s", id)
	return wireMessage{}
}

// linking sends a prompt that links a file.
func (e *editor) linking(uri string) string {
	return e.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"resource_link","uri":%q,"name":"x"}]}`, e.session, uri))
}
