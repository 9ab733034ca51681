package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
)

// fakeAgent is an agent whose ends are both played by the test.
type fakeAgent struct {
	t        *testing.T
	hello    AttachParams
	in       *io.PipeReader
	stdin    *io.PipeWriter
	out      *io.PipeWriter
	stdout   *io.PipeReader
	lines    chan string // the lines it got, except initialize, which it answers
	hellos   chan rpcMessage
	exited   chan struct{}
	exit     func()
	stubborn bool
	stderr   io.Writer
}

func (a *fakeAgent) Pipes() (io.WriteCloser, io.ReadCloser) { return a.stdin, a.stdout }
func (a *fakeAgent) ID() int                                { return 4711 }
func (a *fakeAgent) Exited() <-chan struct{}                { return a.exited }
func (a *fakeAgent) Kill() error                            { a.exit(); return nil }
func (a *fakeAgent) Await() string                          { <-a.exited; return "exit status 3" }

func newFakeAgent(t *testing.T, h AttachParams) *fakeAgent {
	a := &fakeAgent{t: t, hello: h, lines: make(chan string, 100), hellos: make(chan rpcMessage, 1), exited: make(chan struct{})}
	a.in, a.stdin = io.Pipe()
	a.stdout, a.out = io.Pipe()
	a.exit = sync.OnceFunc(func() {
		close(a.exited)
		_ = a.in.Close()
		_ = a.out.Close()
	})
	go func() {
		lines, known := bufio.NewScanner(a.in), false
		for lines.Scan() {
			var m rpcMessage
			if json.Unmarshal(lines.Bytes(), &m) == nil && m.Method == "initialize" && !known {
				known = true
				a.hellos <- m
				_, _ = fmt.Fprintf(a.out, `{"jsonrpc":"2.0","id":%v,"result":{"protocolVersion":1}}`+"\n", m.ID)
				continue
			}
			a.lines <- lines.Text()
		}
		if !a.stubborn {
			a.exit() // at the end of its input
		}
	}()
	return a
}

// rpcMessage is any JSON-RPC message.
type rpcMessage struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
	} `json:"error"`
}

func (a *fakeAgent) next() (m rpcMessage) {
	a.t.Helper()
	synctest.Wait()
	select {
	case line := <-a.lines:
		require.NoError(a.t, json.Unmarshal([]byte(line), &m), line)
	default:
		require.Fail(a.t, "the agent heard nothing")
	}
	return m
}

// greeted returns the initialize request that it got.
func (a *fakeAgent) greeted() rpcMessage {
	a.t.Helper()
	synctest.Wait()
	require.Len(a.t, a.hellos, 1)
	return <-a.hellos
}

func (a *fakeAgent) hearsNothing() {
	a.t.Helper()
	synctest.Wait()
	require.Empty(a.t, a.lines)
}

func (a *fakeAgent) say(format string, args ...any) {
	_, err := fmt.Fprintf(a.out, format+"\n", args...)
	require.NoError(a.t, err)
	synctest.Wait()
}

// answer answers a request. A session whose prompt has ended is idle.
func (a *fakeAgent) answer(m rpcMessage, result string) {
	a.say(`{"jsonrpc":"2.0","id":%v,"result":%s}`, m.ID, result)
	if m.Method == "session/prompt" {
		a.works(m.Params["sessionId"].(string), false)
	}
}

// closes expects a request to close a session, and answers it.
func (a *fakeAgent) closes(session string) {
	a.t.Helper()
	m := a.next()
	require.Equal(a.t, "session/close", m.Method)
	require.Equal(a.t, session, m.Params["sessionId"])
	a.answer(m, `{}`)
}

// works reports whether a session works, unless the agent has ended.
func (a *fakeAgent) works(session string, working bool) {
	_, _ = fmt.Fprintf(a.out, `{"jsonrpc":"2.0","method":%q,"params":{"sessionId":%q,"working":%v}}`+"\n", protocol.ActivityMethod, session, working)
	synctest.Wait()
}

// chunk sends a message chunk in a session.
func (a *fakeAgent) chunk(session, text string) {
	a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`, session, text)
}

// fakeClient is a client whose transport is the test.
type fakeClient struct {
	*Client
	t     *testing.T
	house *testServer
	own   *fakeAgent // the agent started for it, if one is

	mu     sync.Mutex
	heard  []string
	closed string
	full   chan struct{}
	// waiting is added to what Waiting returns.
	waiting int
}

func (c *fakeClient) Send(m []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Contains(string(m), "\n") {
		c.t.Errorf("more than one line: %s", m)
	}
	c.heard = append(c.heard, string(m))
}

func (c *fakeClient) Close(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = reason
	go c.Disconnected()
}

func (c *fakeClient) Full() <-chan struct{} { return c.full }

func (c *fakeClient) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 7 + c.waiting
}

// take returns what the client got since the last call, in short: texts, answers, questions.
func (c *fakeClient) take() (short []string) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.heard {
		var m rpcMessage
		require.NoError(c.t, json.Unmarshal([]byte(line), &m), line)
		short = append(short, m.short())
	}
	c.heard = nil
	return short
}

func (m rpcMessage) short() string {
	update, _ := m.Params["update"].(map[string]any)
	content, _ := update["content"].(map[string]any)
	switch {
	case m.Method == "session/update" && content != nil:
		kind, _, _ := strings.Cut(update["sessionUpdate"].(string), "_")
		return fmt.Sprintf("%s: %v", kind, content["text"])
	case m.Method == "session/update":
		meta, _ := json.Marshal(update["_meta"])
		return fmt.Sprintf("%v %s", update["sessionUpdate"], meta)
	case m.Method == cancelRequest:
		return fmt.Sprintf("cancel %v", m.Params["requestId"])
	case m.Method != "":
		return fmt.Sprintf("%v? %v", m.ID, m.Method)
	case m.Error != nil:
		return fmt.Sprintf("%v! %v", m.ID, m.Error.Message)
	}
	return fmt.Sprintf("%v= %s", m.ID, m.Result)
}

// testServer is a server with agents of the test.
type testServer struct {
	*Server
	t    *testing.T
	fail error

	starting <-chan struct{} // agents start when it is closed, nil for at once

	starts      sync.Mutex
	began       []*fakeAgent
	queryAgents []*fakeAgent // those that answer clients without a session
	next        *fakeAgent   // the one to be started
}

// agents returns those that were started for sessions.
func (h *testServer) agents() []*fakeAgent {
	h.starts.Lock()
	defer h.starts.Unlock()
	return slices.Clone(h.began)
}

// lastQueryAgent returns the last agent for a client without a session.
func (h *testServer) lastQueryAgent() *fakeAgent {
	synctest.Wait()
	h.starts.Lock()
	defer h.starts.Unlock()
	return h.queryAgents[len(h.queryAgents)-1]
}

// all returns all agents that were started.
func (h *testServer) all() []*fakeAgent {
	h.starts.Lock()
	defer h.starts.Unlock()
	return slices.Concat(h.began, h.queryAgents)
}

func withServer(t *testing.T, test func(t *testing.T, h *testServer)) {
	synctest.Test(t, func(t *testing.T) {
		h := &testServer{t: t}
		var err error
		h.Server, err = New(Options{
			Agent: relay.Agent{HistoryOwner: "droid", Provider: "main", Activity: true, Client: protocol.ParseCapabilities}, Program: "/bin/droid-acp", Journals: filepath.Join(t.TempDir(), "journals"), AnswerFor: time.Hour, KeepIdle: 5 * time.Minute,
			Version: "1", Log: zap.NewNop(), Command: func(words ...string) string { return "<" + strings.Join(words, " ") + ">" },
			start:           h.start,
			startQueryAgent: h.startQueryAgent,
		})
		require.NoError(t, err)
		defer func() {
			h.Server.Close(context.Background())
			require.NoError(t, os.RemoveAll(filepath.Join(h.Journals, unfinishedDir))) // a turn may still run
			_ = os.Remove(h.Journals)
			require.NoDirExists(t, h.Journals)
		}()
		test(t, h)
	})
}

// startQueryAgent starts an agent for a client without a session.
func (h *testServer) startQueryAgent(hello AttachParams, _ io.Writer) (agentProcess, error) {
	h.starts.Lock()
	defer h.starts.Unlock()
	a := newFakeAgent(h.t, hello)
	h.queryAgents = append(h.queryAgents, a)
	return a, nil
}

// start starts an agent.
func (h *testServer) start(hello AttachParams, stderr io.Writer) (agentProcess, error) {
	if h.fail != nil {
		return nil, h.fail
	}
	if h.starting != nil {
		<-h.starting
	}
	h.starts.Lock()
	defer h.starts.Unlock()
	a := h.next
	if a == nil || slices.Contains(h.began, a) {
		a = newFakeAgent(h.t, hello)
	}
	a.hello, a.stderr = hello, stderr
	h.began = append(h.began, a)
	return a, nil
}

const everything = `{"fs":{"readTextFile":true,"writeTextFile":true},"elicitation":{"form":{}}}`

// client adds an initialized client. The agent is the one that is started if the client opens the first session of its kind.
func (h *testServer) client(name, capabilities string) (*fakeClient, *fakeAgent) {
	h.t.Helper()
	return h.clientOf(name, capabilities, ClientOptions{Local: true, From: "socket"})
}

// clientOf is client for one of which the transport knows this.
func (h *testServer) clientOf(name, capabilities string, o ClientOptions) (*fakeClient, *fakeAgent) {
	h.t.Helper()
	c := &fakeClient{t: h.t, house: h, own: newFakeAgent(h.t, AttachParams{})}
	h.t.Cleanup(c.own.exit)
	c.Client = h.Join(c, o)
	c.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":%q,"version":"1"},"clientCapabilities":%s}}`, name, capabilities)
	require.Equal(h.t, []string{`i= {"protocolVersion":1}`}, c.take())
	return c, c.own
}

func (c *fakeClient) say(format string, args ...any) {
	if c.house != nil {
		c.house.starts.Lock()
		c.house.next = c.own
		c.house.starts.Unlock()
	}
	c.Receive(fmt.Appendf(nil, format, args...))
	synctest.Wait()
}

// opens makes a client open a new session.
func (c *fakeClient) opens(a *fakeAgent, id string) {
	c.t.Helper()
	c.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	a.answer(a.next(), fmt.Sprintf(`{"sessionId":%q,"modes":{"currentModeId":"off","availableModes":[]}}`, id))
	require.Len(c.t, c.take(), 1)
}

// prompts makes a client send a prompt, and returns the agent's request.
func (c *fakeClient) prompts(a *fakeAgent, session, text string) rpcMessage {
	c.t.Helper()
	c.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, session, text)
	m := a.next()
	require.Equal(c.t, "session/prompt", m.Method)
	a.works(session, true)
	return m
}

func (c *fakeClient) load(session string) {
	c.say(`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":%q,"cwd":"/w","mcpServers":[]}}`, session)
}

func (a *fakeAgent) asksPermission(session string) {
	a.say(`{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"t","title":"make"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`, session)
}

const allowed = `{"outcome":{"outcome":"selected","optionId":"yes"}}`

// A load waits for a close that the same client sent before it, even if that fails.
func TestLoadBehindAClose(t *testing.T) {
	for _, closed := range []bool{true, false} {
		withServer(t, func(t *testing.T, h *testServer) {
			c, a := h.client("Zed", everything)
			c.opens(a, "s1")
			c.say(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s1"}}`)
			c.load("s1")
			closing := a.next()
			require.Equal(t, "session/close", closing.Method)
			synctest.Wait()
			require.Empty(t, a.lines)
			if closed {
				a.answer(closing, `{}`)
			} else {
				a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"no"}}`, closing.ID)
			}
			loading := a.next()
			require.Equal(t, "session/load", loading.Method)
			a.chunk("s1", "history")
			a.answer(loading, `{}`)
			got := c.take()
			require.Equal(t, []string{"agent: history", `l= {}`}, got[len(got)-2:])
		})
	}
}

// A client sees no difference to an agent that it starts itself.
func TestOneClient(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		prompt := c.prompts(a, "s1", "go")
		a.chunk("s1", "hello")
		a.asksPermission("s1")
		got := c.take()
		require.Equal(t, "agent: hello", got[0])
		id, _, _ := strings.Cut(got[1], "?")
		require.Equal(t, Asking, h.Status().Sessions[0].State)
		require.Equal(t, "make", h.Status().Sessions[0].Question)
		c.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, allowed)
		answer := a.next()
		require.EqualValues(t, 77, answer.ID)
		require.JSONEq(t, allowed, string(answer.Result))
		c.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}`)
		require.Equal(t, prompt.ID, a.next().Params["requestId"], "by the id that the agent knows")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{`p= {"stopReason":"end_turn"}`}, c.take())
		require.Equal(t, Idle, h.Status().Sessions[0].State)
	})
}

// If the editor leaves during a turn, the turn continues, and a returning client sees all of it.
func TestTurnOutlivesItsClient(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		prompt := c.prompts(a, "s1", "go")
		a.chunk("s1", "one")
		c.Disconnected()
		a.chunk("s1", "two")
		a.asksPermission("s1")
		a.hearsNothing()
		time.Sleep(5 * time.Second)

		again, own := h.client("Zed", everything)
		again.load("s1")
		got := again.take()
		require.Equal(t, []string{"user: go", "agent: one", "agent: two", `l= {"modes":{"currentModeId":"off","availableModes":[]}}`}, got[:4])
		id, question, _ := strings.Cut(got[4], "? ")
		require.Equal(t, "session/request_permission", question)
		again.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, allowed)
		require.JSONEq(t, allowed, string(a.next().Result))
		a.chunk("s1", "three")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{"agent: three", `session_info_update {"droid-acp":{"stopReason":"end_turn"}}`}, again.take())
		second := again.prompts(a, "s1", "more")
		a.answer(second, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{`p= {"stopReason":"end_turn"}`}, again.take())
		own.hearsNothing()
	})
}

// An idle session stays in the agent of a client that has left, and the next client joins it there.
func TestRestingSessionStays(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		prompt := c.prompts(a, "s1", "go")
		a.chunk("s1", "before")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		c.Disconnected()
		again, own := h.client("agent-shell", "{}")
		again.load("s1")
		own.hearsNothing()
		loading := a.next()
		require.Equal(t, "session/load", loading.Method)
		a.chunk("s1", "as it is now")
		a.answer(loading, `{}`)
		require.Equal(t, []string{"agent: as it is now", `l= {}`}, again.take())
		again.prompts(a, "s1", "more")
		two, _ := h.client("Zed", everything)
		two.load("s1")
		require.Equal(t, []string{"agent: as it is now", "user: more", `l= {}`}, two.take())
		a.hearsNothing()
	})
}

// Two clients see the same in the same order. The first answer counts, and is shown to the other.
func TestTwoClients(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("Zed", everything)
		two.load("s1")
		require.Equal(t, []string{`l= {"modes":{"currentModeId":"off","availableModes":[]}}`}, two.take())
		prompt := one.prompts(a, "s1", "go")
		a.chunk("s1", "hello")
		a.asksPermission("s1")
		question := one.take()
		require.Equal(t, append([]string{"user: go"}, question...), two.take())
		id, _, _ := strings.Cut(question[1], "?")
		two.say(`{"jsonrpc":"2.0","id":%q,"result":%s}`, id, allowed)
		require.EqualValues(t, 77, a.next().ID)
		one.say(`{"jsonrpc":"2.0","id":%q,"result":{"outcome":{"outcome":"cancelled"}}}`, id)
		a.hearsNothing()
		require.Equal(t, []string{"agent: \n\nAnswered in Zed: Yes\n\n", "cancel " + id}, one.take())
		require.Empty(t, two.take(), "it has answered")
		one.Disconnected()
		a.chunk("s1", "more")
		a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"no model"}}`, prompt.ID)
		require.Equal(t, []string{"agent: more", "agent: The prompt failed: no model", `session_info_update {"droid-acp":{"error":"no model"}}`}, two.take())
		two.say(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s1"}}`)
		require.Equal(t, "session/close", a.next().Method, "it was the last one")
	})
}

// A client that only watches is not asked and changes nothing; a program that decides by policy does not answer if there is a person.
func TestAnswerRights(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		program, _ := h.client("acpx", "{}")
		program.load("s1")
		watching := &fakeClient{t: t}
		watching.Client = h.Join(watching, ClientOptions{Local: true})
		watching.say(`{"jsonrpc":"2.0","method":%q,"params":{"program":"/other","args":["--x"],"watchOnly":true}}`, AttachMethod)
		watching.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
		require.Equal(t, AttachParams{Program: "/other", Args: []string{"--x"}, WatchOnly: true}, h.lastQueryAgent().hello)
		watching.load("s1")
		require.Len(t, watching.take(), 2)
		program.take()
		a.asksPermission("s1")
		require.Len(t, one.take(), 1)
		require.Empty(t, program.take())
		require.Empty(t, watching.take())
		watching.prompt()
		watching.load("s2")
		require.Equal(t, []string{`p! Not done: this client only watches`, `l! Not opened: this client only joins sessions that are open here, which <ps> shows`}, watching.take())
		a.hearsNothing()
		require.Len(t, h.agents(), 1)
		one.Disconnected()
		require.Len(t, program.take(), 1, "else nobody would answer")
	})
}

func (c *fakeClient) prompt() {
	c.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
}

// Files are the editor's while it is connected, and the disk's afterwards, including those with unanswered requests.
func TestFilesWithoutAnEditor(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		path := filepath.Join(t.TempDir(), "a b.txt")
		require.NoError(t, os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o600))
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		a.say(`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"s1","path":%q,"line":2,"limit":1}}`, path)
		require.Len(t, c.take(), 1)
		c.prompts(a, "s1", "go")
		c.Disconnected()
		require.JSONEq(t, `{"content":"two\n"}`, string(a.next().Result))
		a.say(`{"jsonrpc":"2.0","id":2,"method":"fs/write_text_file","params":{"sessionId":"s1","path":%q,"content":"new"}}`, path)
		require.JSONEq(t, `{}`, string(a.next().Result))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "new", string(text))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
		for _, bad := range []string{"relative", path + "/below", filepath.Dir(path)} {
			a.say(`{"jsonrpc":"2.0","id":3,"method":"fs/write_text_file","params":{"sessionId":"s1","path":%q,"content":"new"}}`, bad)
			require.NotNil(t, a.next().Error, bad)
		}
		a.say(`{"jsonrpc":"2.0","id":4,"method":"terminal/create","params":{"sessionId":"s1","command":"x"}}`)
		require.Equal(t, jsonrpc.CodeMethodNotFound, a.next().Error.Code)
	})
}

// A question that nobody answers is refused after a while; then the turn can end, and with it the agent.
func TestUnansweredQuestion(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		prompt := c.prompts(a, "s1", "go")
		a.asksPermission("s1")
		c.Disconnected()
		time.Sleep(time.Hour - time.Second)
		a.hearsNothing()
		time.Sleep(time.Second)
		require.JSONEq(t, `{"outcome":{"outcome":"cancelled"}}`, string(a.next().Result))
		time.Sleep(time.Hour)
		require.Len(t, h.Status().Sessions, 1, "the turn runs")
		later, _ := h.client("Zed", everything)
		later.load("s1")
		require.Contains(t, later.take(), "agent: \n\nRefused, since nobody was there for 1h who could answer it: `make`\n\n")
		later.Disconnected()
		a.answer(prompt, `{"stopReason":"cancelled"}`)
		time.Sleep(5*time.Minute - time.Second)
		require.Len(t, h.Status().Sessions, 1)
		time.Sleep(time.Second)
		a.closes("s1")
		<-a.exited
		require.NoError(t, h.Idle(context.Background(), time.Minute))
		require.Empty(t, h.Status().Sessions)
	})
}

// The unexpected end of an agent is reported to all clients that wait for it, or see its sessions.
func TestAgentEnds(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		two, own := h.client("Zed", everything)
		two.load("s1")
		two.take()
		c.prompts(a, "s1", "go")
		two.take()
		a.asksPermission("s1")
		c.take()
		asked := two.last().ID
		a.exit()
		const ended = "The agent of this session has ended (exit status 3). Open the session again to go on."
		got := c.take()
		require.Contains(t, got, "p! "+ended)
		require.Equal(t, ended, c.closed)
		got = two.take()
		require.Equal(t, fmt.Sprint("cancel ", asked), got[0])
		require.Equal(t, "agent: "+ended, got[1])
		two.load("s1")
		require.Equal(t, "session/load", own.next().Method, "by its own agent")
	})
}

// A message that is too long ends the agent, and waiting requests get an error with the limit.
func TestAgentMessageTooLong(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		h.maxLine = 10 << 10
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		c.prompts(a, "s1", "go")
		a.chunk("s1", strings.Repeat("x", 10<<10))
		time.Sleep(relay.DrainTime)
		const ended = "The agent of this session has ended (it wrote a message of more than 256 MiB). Open the session again to go on."
		require.Contains(t, c.take(), "p! "+ended)
		require.Equal(t, ended, c.closed)
	})
}

// A message of several lines reaches an agent as one.
func TestMessageOfSeveralLines(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		c.say(" {\r\n\t\"method\": \"_x\",\n\"params\": {\"sessionId\": \"s1\"}\n}\n")
		require.Equal(t, "_x", a.next().Method)
	})
}

func TestAgentDoesNotStart(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		h.fail = os.ErrPermission
		c := &fakeClient{t: t}
		c.Client = h.Join(c, ClientOptions{Role: Full})
		c.say(`{"jsonrpc":"2.0","method":%q,"params":{"program":"/evil"}}`, AttachMethod)
		c.say(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`)
		c.say(`[]`)
		c.say(`nonsense`)
		c.say("{\"method\":\"\xff\"}")
		c.say(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}`)
		c.say(`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{}}`)
		require.Equal(t, []string{
			"1! Invalid request: the first request is initialize; an agent that was started again has no session open",
			"<nil>! Invalid request: a message is a JSON object with one method or one id; ACP has no batches", "<nil>! Parse error: the message is not JSON in UTF-8; send one JSON object",
			"<nil>! Parse error: the message is not JSON in UTF-8; send one JSON object",
			`2= {"protocolVersion":1}`,
			"3! The agent /bin/droid-acp does not start: permission denied.",
		}, c.take(), "and a client from elsewhere does not say what runs")
	})
}

// Concurrent requests for a session that is being opened, or moved, wait for that.
func TestTwoLoadsAtOnce(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		two, b := h.client("agent-shell", "{}")
		one.load("s1")
		loading := a.next()
		two.load("s1")
		b.hearsNothing()
		a.chunk("s1", "before")
		a.answer(loading, `{}`)
		require.Equal(t, []string{"agent: before", `l= {}`}, one.take())
		require.Equal(t, []string{"agent: before", `l= {}`}, two.take())
		b.hearsNothing()

		one.load("s2")
		loading = a.next()
		two.load("s2")
		a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32002,"message":"no such session"}}`, loading.ID)
		require.Equal(t, []string{"l! no such session"}, one.take())
		require.Equal(t, "session/load", b.next().Method, "its own agent says so, too")
	})
}

// A client gets a notice about messages that are no longer kept, or cannot be read.
func TestJournalLosesTheOldest(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		h.journalSize = 4000
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		c.prompts(a, "s1", "go")
		for i := range 100 {
			a.chunk("s1", fmt.Sprintf("%03d %s", i, strings.Repeat("x", 100)))
		}
		two, _ := h.client("Zed", everything)
		two.load("s1")
		got := two.take()
		require.Contains(t, got[0], " kB of what was said here are no longer kept.")
		require.Greater(t, len(got), 10)
		require.Less(t, len(got), 30)
		for i, text := range got[1 : len(got)-1] {
			require.Contains(t, text, fmt.Sprintf("agent: %03d", 100-len(got)+2+i))
		}

		require.NoError(t, os.RemoveAll(h.Journals))
		three, other := h.client("agent-shell", everything)
		three.opens(other, "s2")
		three.prompts(other, "s2", "go")
		four, _ := h.client("Zed", everything)
		four.load("s2")
		got = four.take()
		require.Contains(t, got[0], "What was said here before cannot be shown: open ")
		require.Contains(t, got[1], "l= ")
		require.NoError(t, os.MkdirAll(h.Journals, 0o700))
	})
}

// An agent is not read while its only client has no room.
func TestSlowClient(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		c.mu.Lock()
		c.full = make(chan struct{})
		c.mu.Unlock()
		a.chunk("s1", "one")
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			_, _ = fmt.Fprintf(a.out, "%s\n%s\n", strings.Repeat(" ", 100<<10), `{"jsonrpc":"2.0","method":"x"}`)
		}()
		synctest.Wait()
		select {
		case <-wrote:
			require.Fail(t, "it was read")
		default:
		}
		close(c.full)
		<-wrote
	})
}

// A window that does not read holds up no other one that uses its agent, whether that was there before or comes later.
func TestSlowClientBesideAnother(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				slow, a := h.client("Zed", everything)
				slow.opens(a, "s1")
				other, _ := h.client("Zed", everything)
				if before {
					other.opens(a, "s2")
				}
				slow.prompts(a, "s1", "go")
				slow.mu.Lock()
				slow.full = make(chan struct{})
				slow.mu.Unlock()
				a.chunk("s1", "one")
				go func() { _, _ = fmt.Fprintln(a.out, strings.Repeat(" ", 100<<10)) }()
				synctest.Wait()
				if !before {
					other.opens(a, "s2")
				}
				a.answer(other.prompts(a, "s2", "go"), `{"stopReason":"end_turn"}`)
				require.Equal(t, []string{`p= {"stopReason":"end_turn"}`}, other.take())
			})
		})
	}
}

// Nor does one that reads nothing while it loads a session. One that reads slowly is waited for.
func TestStoppedLoaderBesideAnother(t *testing.T) {
	for _, reads := range []bool{true, false} {
		t.Run(fmt.Sprint(reads), func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				slow, a := h.client("Zed", everything)
				slow.opens(a, "s0")
				other, _ := h.client("Zed", everything)
				other.opens(a, "s2")
				slow.load("s1")
				loading := a.next()
				require.Equal(t, "session/load", loading.Method)
				slow.mu.Lock()
				slow.full = make(chan struct{})
				slow.mu.Unlock()
				a.chunk("s1", "one")
				other.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s2","prompt":[]}}`)
				prompted := a.next()
				go func() {
					_, _ = fmt.Fprintf(a.out, `{"jsonrpc":"2.0","id":%v,"result":{"stopReason":"end_turn"}}`+"\n", prompted.ID)
				}()
				synctest.Wait()
				require.Empty(t, other.take())
				for range 10 {
					time.Sleep(stallTime / 2)
					if reads {
						slow.mu.Lock()
						slow.waiting--
						slow.mu.Unlock()
					}
				}
				want := []string{`p= {"stopReason":"end_turn"}`}
				if reads {
					want = nil
				}
				require.Equal(t, want, other.take())
				close(slow.full)
				slow.mu.Lock()
				slow.full = nil
				slow.mu.Unlock()
				synctest.Wait()
				a.chunk("s1", "two")
				slow.mu.Lock()
				slow.full = make(chan struct{})
				slow.mu.Unlock()
				a.chunk("s1", "three")
				go func() { _, _ = fmt.Fprintf(a.out, `{"jsonrpc":"2.0","id":%v,"result":{}}`+"\n", loading.ID) }()
				require.Equal(t, []string{"agent: one", "agent: two", "agent: three"}, slow.take(), "it is waited for again")
				close(slow.full)
				require.Equal(t, []string{"l= {}"}, slow.take())
			})
		})
	}
}

func TestEndOfASession(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		require.ErrorContains(t, h.End(context.Background(), "s9"), "no session s9 is open here; <ps> lists those that are")
		ended := make(chan error)
		go func() { ended <- h.End(context.Background(), "s1") }()
		require.Equal(t, "session/cancel", a.next().Method)
		a.answer(a.next(), `{}`)
		require.NoError(t, <-ended)
		require.Empty(t, h.Status().Sessions)
	})
}

// An agent that does not end at the end of its input is killed.
func TestStubbornAgent(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		a.stubborn = true
		begin := time.Now()
		c.Disconnected()
		a.closes("s1")
		<-a.exited
		require.Equal(t, endTime+relay.DrainTime, time.Since(begin))
	})
}

// Messages before a session was resumed are not in its journal, and a joining client gets a notice; once the session is loaded, all of them
// are.
func TestJoinedAfterResume(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w"}}`)
		a.answer(a.next(), `{}`)
		one.take()
		joins := func() []string {
			prompt := one.prompts(a, "s1", "go")
			other, _ := h.client("Zed", everything)
			other.load("s1")
			got := other.take()
			a.answer(prompt, `{"stopReason":"end_turn"}`)
			other.Disconnected()
			one.take()
			return got
		}
		const notShown = "agent: What was said before this session was opened here is not shown. Load it again when it rests: droid has all of it."
		require.Equal(t, []string{notShown, "user: go", `l= {}`}, joins())
		one.load("s1")
		loading := a.next()
		a.chunk("s1", "before")
		a.answer(loading, `{}`)
		require.Equal(t, []string{"agent: before", "user: go", `l= {}`}, joins())
		one.load("s1")
		a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-1,"message":"no"}}`, a.next().ID)
		require.Equal(t, []string{notShown, "user: go", `l= {}`}, joins())
	})
}

// A full disk only affects the journal: the turn continues, and a joining client gets a notice.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	withServer(t, func(t *testing.T, h *testServer) {
		require.NoError(t, os.Symlink("/dev/full", filepath.Join(h.Journals, fmt.Sprintf("%s-%019d-000001.jsonl", journalKey("s1"), h.begun.UnixNano()))))
		c, a := h.client("Zed", everything)
		c.opens(a, "s1")
		prompt := c.prompts(a, "s1", "go")
		a.chunk("s1", "one")
		c.Disconnected()
		a.chunk("s1", "two")
		again, _ := h.client("Zed", everything)
		again.load("s1")
		got := again.take()
		require.Len(t, got, 2)
		require.Regexp(t, `^agent: What was said here before cannot be shown: write .*: no space left on device. Load the session again when it rests: droid has all of it.$`, got[0])
		a.chunk("s1", "three")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{"agent: three", `session_info_update {"droid-acp":{"stopReason":"end_turn"}}`}, again.take())
	})
}
