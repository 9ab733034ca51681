//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/acptest"
)

// line is one line of the agent's stdout.
type line struct {
	acptest.Message
	at  time.Time
	raw string
}

type rpcError = acptest.Error

// permission is a session/request_permission.
type permission struct {
	acptest.Permission[json.RawMessage]
}

// Answers to permission requests.
func allowOnce(p permission) string  { return p.Option("allow_once") }
func rejectOnce(p permission) string { return p.Option("reject_once") }

// noAnswer leaves a permission request open.
func noAnswer(permission) string { return "none" }

// failure answers a permission request with an error.
func failure(permission) string { return "error" }

// acpSchema checks all messages of the agent in these tests.
var acpSchema = sync.OnceValue(func() *acptest.Validator {
	v, err := acptest.Load("../testdata/acp-schema")
	if err != nil {
		panic(err)
	}
	return v
})

// client is an ACP client without a library: it sends lines, keeps all lines of the agent, and checks that each is a JSON-RPC message.
type client struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Closer
	stderr *bytes.Buffer // read it only after the end
	exited chan struct{}

	mu          sync.Mutex
	changed     chan struct{} // closed and replaced at each line
	lines       []line
	permissions []permission
	permit      func(permission) string      // returns an option id, "" for cancelled, "none" or "error"
	form        func(json.RawMessage) string // returns the result of elicitation/create, "" for none; nil: not supported
	editor      acptest.TextFiles            // answers fs/read_text_file and fs/write_text_file; nil: not supported
	answering   sync.WaitGroup               // these answers
	ended       bool                         // stdout is closed
	ids         int
	talk        *acptest.Conversation
	far         string // a directory name that only the far side knows, see viaEnv
}

// startAgent runs the agent with the droid of h.
func startAgent(t testing.TB, h home, args ...string) *client {
	t.Helper()
	return startAgentReading(t, h, func(stdout io.Reader) io.Reader { return stdout }, args...)
}

// startAgentReading is startAgent with a client that reads the agent's stdout through reading.
func startAgentReading(t testing.TB, h home, reading func(io.Reader) io.Reader, args ...string) *client {
	t.Helper()
	return startCommand(t, h, h.agent(append([]string{"--droid", h.droid}, args...)...), reading)
}

// startCommand starts a client of the agent that a command runs.
func startCommand(t testing.TB, h home, cmd *exec.Cmd, reading func(io.Reader) io.Reader) *client {
	t.Helper()
	c := &client{t: t, cmd: cmd, stderr: &bytes.Buffer{}, exited: make(chan struct{}), changed: make(chan struct{}), permit: rejectOnce, talk: acpSchema().NewConversation(), far: h.far}
	c.cmd.Stderr = c.stderr
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.stdout = stdout
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.exited)
		c.read(reading(stdout))
		_ = c.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() { c.end(h) })
	return c
}

// end closes the agent's stdin and checks that it and its droid exit.
func (c *client) end(h home) {
	_ = c.stdin.Close()
	defer c.answering.Wait()
	select {
	case <-c.exited:
	case <-time.After(20 * time.Second):
		c.t.Error("the agent does not end after its stdin was closed")
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
	h.awaitNoDroid(c.t, 10*time.Second)
	h.checkFarSide(c.t)
	if c.t.Failed() {
		c.t.Logf("stdout of the agent:\n%s\nstderr of the agent:\n%s", c.transcript(), c.stderr)
	}
}

// transcript returns the end of the agent's output, for a failed test.
func (c *client) transcript() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, l := range c.lines[max(0, len(c.lines)-60):] {
		fmt.Fprintf(&b, "%s %.600s\n", l.at.Format("05.000"), l.raw)
	}
	return b.String()
}

// read reads the agent's stdout to its end.
func (c *client) read(stdout io.Reader) {
	acptest.Read(stdout, c.take)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	close(c.changed)
	c.changed = make(chan struct{})
}

// take records one line and answers a permission request.
func (c *client) take(m acptest.Message, err error) {
	l, raw := line{m, time.Now(), m.Raw}, m.Raw
	if err != nil {
		c.t.Errorf("this line on stdout is no JSON-RPC message: %.300q: %v", raw, err)
	}
	var answer string
	c.mu.Lock()
	if err := c.talk.Agent([]byte(raw)); err != nil {
		c.t.Errorf("this line does not follow the schema: %.600s\n%v", raw, err)
	}
	if err := strictError(raw); err != nil {
		c.t.Errorf("strict clients do not take this line: %.600s\n%v", raw, err)
	}
	if found := typedPath(raw, c.far); found != "" {
		c.t.Errorf("this line names a path of the far side (%s): %.600s", found, raw)
	}
	c.lines = append(c.lines, l)
	if l.Method == "session/request_permission" {
		if p := (permission{acptest.AskedFor[json.RawMessage](c.t, m)}); strings.Contains(string(l.Params), `"toolCallId":"compact-`) {
			answer = "compact" // the user means it
		} else {
			c.permissions = append(c.permissions, p)
			answer = c.permit(p)
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
	form, editor := c.form, c.editor
	c.mu.Unlock()
	switch {
	case strings.HasPrefix(l.Method, "fs/") && editor != nil:
		c.answering.Go(func() {
			response, _ := acptest.ServeFile(c.t, editor, m) // the response contains the error
			c.send(response)
		})
	case l.Method == "elicitation/create" && form != nil:
		if result := form(l.Params); result != "" {
			c.send(acptest.Response(l.ID, result))
		}
	case answer == "none":
	case answer == "error":
		c.write(map[string]any{"jsonrpc": "2.0", "id": l.ID, "error": map[string]any{"code": -32603, "message": "no dialog"}})
	case l.Method == "session/request_permission":
		c.answer(l.ID, answer)
	case l.Method != "" && l.ID != nil:
		c.write(map[string]any{"jsonrpc": "2.0", "id": l.ID, "error": map[string]any{"code": -32601, "message": "no such method"}})
	}
}

// answer answers a permission request with an option, or cancels for "".
func (c *client) answer(request json.RawMessage, option string) {
	c.send(acptest.Selected(request, option))
}

func (c *client) write(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		c.t.Errorf("encoding: %v", err)
	}
	c.send(string(data))
}

// send sends lines in one write.
func (c *client) send(lines ...string) {
	for _, line := range lines {
		c.talk.Client([]byte(line))
	}
	_, _ = io.WriteString(c.stdin, strings.Join(lines, "\n")+"\n") // an agent that has exited is noticed by missing answers
}

// request sends a request and returns its id.
func (c *client) request(method string, params any) int {
	c.mu.Lock()
	c.ids++
	id := c.ids
	c.mu.Unlock()
	m := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	c.write(m)
	return id
}

func (c *client) notify(method string, params any) {
	c.write(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// await waits for a line that ok accepts, from line number from on, and returns its number.
func (c *client) await(what string, from int, limit time.Duration, ok func(line) bool) (int, line) {
	c.t.Helper()
	timeout := time.After(limit)
	for {
		c.mu.Lock()
		lines, changed, ended := c.lines, c.changed, c.ended
		c.mu.Unlock()
		for ; from < len(lines); from++ {
			if ok(lines[from]) {
				return from, lines[from]
			}
		}
		if ended {
			require.Fail(c.t, "the agent closed stdout", "waiting for %s", what)
		}
		select {
		case <-changed:
		case <-timeout:
			require.Fail(c.t, "timeout", "waiting %v for %s", limit, what)
		}
	}
}

// response waits for the response to a request.
func (c *client) response(id int, limit time.Duration) (number int, l line) {
	c.t.Helper()
	want := fmt.Sprint(id)
	return c.await("the response to request "+want, 0, limit, func(l line) bool { return l.Method == "" && string(l.ID) == want })
}

// answerLimit limits the wait for answers: an old droid takes half a minute to open a session on two cores with a load of 20.
const answerLimit = 90 * time.Second

// call sends a request and returns its result.
func (c *client) call(method string, params any) (json.RawMessage, *rpcError) {
	c.t.Helper()
	_, l := c.response(c.request(method, params), answerLimit)
	return l.Result, l.Error
}

// mustCall is call for requests that succeed.
func (c *client) mustCall(method string, params, result any) {
	c.t.Helper()
	data, err := c.call(method, params)
	require.Nil(c.t, err, "%s", method)
	if result != nil {
		require.NoError(c.t, json.Unmarshal(data, result))
	}
}

// seen returns the number of lines the agent has written so far.
func (c *client) seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lines)
}

// asked returns the permission requests so far.
func (c *client) asked() []permission {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]permission(nil), c.permissions...)
}

// onPermission sets how permission requests are answered.
func (c *client) onPermission(permit func(permission) string) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.permit = permit
	return c
}

// signal sends the agent a signal.
func (c *client) signal(s syscall.Signal) {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(s))
}

// session is one open session of a client.
type session struct {
	*client
	id string
}

type newSession struct {
	SessionID string `json:"sessionId"`
	Modes     struct {
		CurrentModeID  string `json:"currentModeId"`
		AvailableModes []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
}

// knownEditor is the clientInfo of these tests: a client that is known to show the names of options.
var knownEditor = map[string]any{"name": "zed", "version": "1"}

func (c *client) initialize() *client {
	c.t.Helper()
	c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}, "clientInfo": knownEditor}, nil)
	return c
}

// open initializes the agent and opens a session in h.
func (c *client) open(h home) session {
	c.t.Helper()
	c.initialize()
	return c.openSession(h)
}

// openSession opens a session in h.
func (c *client) openSession(h home) session {
	c.t.Helper()
	var result newSession
	c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &result)
	require.NotEmpty(c.t, result.SessionID)
	return session{c, result.SessionID}
}

// prompt begins a turn.
func (s session) prompt(text string) turn {
	s.t.Helper()
	from := s.seen()
	id := s.request("session/prompt", map[string]any{
		"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": text}},
	})
	return turn{s, id, from}
}

// promptBoth sends two prompts in one write, so that the agent reads the second one before the first can have ended.
func (s session) promptBoth(one, two string) (first, second turn) {
	s.t.Helper()
	from := s.seen()
	s.mu.Lock()
	id := s.ids + 1
	s.ids += 2
	s.mu.Unlock()
	var lines []string
	for i, text := range []string{one, two} {
		data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id + i, "method": "session/prompt", "params": map[string]any{
			"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": text}},
		}})
		require.NoError(s.t, err)
		lines = append(lines, string(data))
	}
	s.client.send(lines...)
	return turn{s, id, from}, turn{s, id + 1, from}
}

// turn is a prompt that was sent.
type turn struct {
	session
	request int
	from    int // number of the first line of the turn
}

// update is one session/update, as far as the tests inspect it.
type update struct {
	at            time.Time
	SessionUpdate string          `json:"sessionUpdate"`
	Content       json.RawMessage `json:"content"`
	ToolCallID    string          `json:"toolCallId"`
	Title         string          `json:"title"`
	Status        string          `json:"status"`
	CurrentModeID string          `json:"currentModeId"`
	MessageID     string          `json:"messageId"`
	raw           string
}

// text returns the text of a message chunk.
func (u update) text() string {
	var block struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(u.Content, &block) // content of tools has another form and no text
	return block.Text
}

// isNotice reports whether the update is a notice of the agent itself.
func (u update) isNotice() bool {
	return strings.Contains(u.raw, `"_meta":{"droid-acp":{"notice":true}}`)
}

// asUpdate decodes a line; ok is false for other lines.
func asUpdate(l line) (u update, ok bool) {
	if l.Method != "session/update" {
		return u, false
	}
	var params struct {
		Update json.RawMessage `json:"update"`
	}
	if json.Unmarshal(l.Params, &params) != nil || json.Unmarshal(params.Update, &u) != nil {
		return u, false
	}
	u.at, u.raw = l.at, string(params.Update)
	return u, true
}

// awaitUpdate waits for an update of the turn that ok accepts.
func (t turn) awaitUpdate(what string, ok func(update) bool) update {
	t.t.Helper()
	var found update
	t.await(what, t.from, answerLimit, func(l line) bool {
		u, isUpdate := asUpdate(l)
		if !isUpdate || !ok(u) {
			return false
		}
		found = u
		return true
	})
	return found
}

// ending is how a turn ended.
type ending struct {
	Stop    string
	Err     *rpcError
	At      time.Time
	Updates []update // of the turn, in order
	number  int
}

// end waits for the turn's response.
func (t turn) end(limit time.Duration) ending {
	t.t.Helper()
	number, l := t.response(t.request, limit)
	e := ending{Err: l.Error, At: l.at, number: number}
	var result struct {
		StopReason string `json:"stopReason"`
	}
	if l.Error == nil {
		require.NoError(t.t, json.Unmarshal(l.Result, &result))
	}
	e.Stop = result.StopReason
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines[t.from:number] {
		if u, ok := asUpdate(l); ok {
			e.Updates = append(e.Updates, u)
		}
	}
	return e
}

// done waits for the end of a turn that must end normally.
func (t turn) done() ending {
	t.t.Helper()
	e := t.end(turnLimit)
	require.Nil(t.t, e.Err)
	require.Equal(t.t, "end_turn", e.Stop)
	return e
}

// say sends a prompt whose turn must end normally, and returns the assistant's text.
func (s session) say(text string) string {
	s.t.Helper()
	return s.prompt(text).done().text()
}

// text returns the assistant's text of the turn.
func (e ending) text() string {
	var b strings.Builder
	for _, u := range e.chunks() {
		b.WriteString(u.text())
	}
	return b.String()
}

func (e ending) chunks() []update {
	var out []update
	for _, u := range e.Updates {
		if u.SessionUpdate == "agent_message_chunk" {
			out = append(out, u)
		}
	}
	return out
}

// tools returns the last statuses of the turn's tool calls, in the order in which the calls appeared.
func (e ending) tools() []string {
	var order []string
	last := map[string]string{}
	for _, u := range e.Updates {
		if u.ToolCallID == "" {
			continue
		}
		if _, ok := last[u.ToolCallID]; !ok {
			order = append(order, u.ToolCallID)
		}
		if u.Status != "" {
			last[u.ToolCallID] = u.Status
		}
	}
	statuses := []string{}
	for _, id := range order {
		statuses = append(statuses, last[id])
	}
	return statuses
}

// noUpdateAfter checks that the agent sends no update for a while after the turn's response. A new session's commands and title are not
// part of a turn: droid lists the commands when it can, and requests the title from the model.
func (t turn) noUpdateAfter(e ending, wait time.Duration) {
	t.t.Helper()
	select {
	case <-time.After(wait):
	case <-t.exited:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines[e.number+1:] {
		if u, ok := asUpdate(l); ok && u.SessionUpdate != "available_commands_update" && u.SessionUpdate != "session_info_update" {
			t.t.Errorf("update after the response: %.300s", l.raw)
		}
	}
}
