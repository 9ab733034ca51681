package serve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/jsonrpc"
)

// attached returns a client that says how its agent is run.
func (h *testServer) attached(capabilities string, hello AttachParams) *fakeClient {
	h.t.Helper()
	c := &fakeClient{t: h.t}
	c.Client = h.Join(c, ClientOptions{Local: true})
	c.attaches(hello)
	c.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"zed"},"clientCapabilities":%s}}`, capabilities)
	require.Equal(h.t, []string{`i= {"protocolVersion":1}`}, c.take())
	return c
}

func (c *fakeClient) attaches(hello AttachParams) {
	line, err := jsonrpc.EncodeCall(nil, AttachMethod, hello)
	require.NoError(c.t, err)
	c.Receive(line)
}

func (c *fakeClient) begins() {
	c.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
}

// Clients share an agent if their own agents would be alike; a different program, flags, environment or declaration requires another. A
// replaced program serves new sessions only.
func TestAgentSharing(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("old"), 0o600))
	first := AttachParams{Program: program, Args: []string{"--mode=spec"}, Env: []string{"A=1", "SHLVL=1", "PWD=/x"}, Directory: "/x"}
	with := func(change func(*AttachParams)) AttachParams {
		h := first
		change(&h)
		return h
	}
	for name, c := range map[string]struct {
		hello        AttachParams
		capabilities string
		shares       bool
	}{
		"alike": {first, everything, true},
		"in another shell": {with(func(h *AttachParams) {
			h.Env = []string{"SHLVL=3", "A=1", "_=/bin/x", "WINDOWID=7", "OLDPWD=/"}
			h.Directory = "/y"
		}), everything, true},
		"another program":     {with(func(h *AttachParams) { h.Program += "2" }), everything, false},
		"other flags":         {with(func(h *AttachParams) { h.Args = nil }), everything, false},
		"another environment": {with(func(h *AttachParams) { h.Env = []string{"A=2"} }), everything, false},
		"one variable more":   {with(func(h *AttachParams) { h.Env = append(h.Env[:1:1], "B=") }), everything, false},
		"other capabilities":  {first, "{}", false},
		"in another order":    {first, `{"elicitation":{"form":{}},"fs":{"writeTextFile":true,"readTextFile":true}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				h.attached(everything, first).begins()
				h.attached(c.capabilities, c.hello).begins()
				require.Equal(t, c.shares, len(h.agents()) == 1)
			})
		})
	}
	withServer(t, func(t *testing.T, h *testServer) {
		one := h.attached(everything, first)
		one.say(`{"jsonrpc":"2.0","id":"a","method":"authenticate","params":{"methodId":"x"}}`)
		require.Equal(t, "authenticate", h.agents()[0].next().Method)
		one.begins()
		require.Len(t, h.agents(), 1, "who has logged in opens sessions there")
		old := h.agents()[0]
		old.answer(old.next(), `{"sessionId":"s1"}`)
		one.take()
		require.NoError(t, os.WriteFile(program, []byte("newer"), 0o600))
		one.begins()
		require.Len(t, h.agents(), 2)
		one.prompts(old, "s1", "go")
	})
}

// Clients that share an agent get no updates of each other's sessions, such as one for a closed session; notifications without a session go
// to all of them.
func TestSharedAgentUpdates(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("Zed", everything)
		two.begins()
		asked := a.next()
		one.Disconnected()
		a.closes("s1")
		a.chunk("s1", "late")
		a.answer(asked, `{"sessionId":"s2"}`)
		require.Equal(t, []string{`n= {"sessionId":"s2"}`}, two.take())
		a.say(`{"jsonrpc":"2.0","method":"auth/status","params":{}}`)
		require.Equal(t, []string{"<nil>? auth/status"}, two.take())
	})
}

// A client that leaves does not affect others, and nothing remains: neither of one that only queried nor of one that opened a session
// without using it.
func TestQueriesLeaveNothingRunning(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		for range 100 {
			c, _ := h.client("Zed", everything)
			c.say(`{"jsonrpc":"2.0","id":"l","method":"session/list","params":{}}`)
			look := h.lastQueryAgent()
			look.answer(look.next(), `{"sessions":[]}`)
			c.load("s1")
			require.Len(t, c.take(), 2)
			c.Disconnected()
		}
		require.Len(t, h.agents(), 1)
		require.Equal(t, 1, h.Status().Agents)
		for i := range 6 {
			c, _ := h.client("Zed", everything)
			c.opens(a, string(rune('a'+i)))
			c.Disconnected()
			a.closes(string(rune('a' + i)))
		}
		require.Len(t, h.Status().Sessions, 1)
		require.Len(t, h.agents(), 1)
		h.Server.mu.Lock()
		require.Len(t, h.Server.agents, 1, "no look is left")
		h.Server.mu.Unlock()
	})
}

// A client that joins a session gets a note about its settings that are not used, and is refused if its own agent would allow less.
func TestJoinSessionOfDifferentAgent(t *testing.T) {
	first := AttachParams{Program: "/p", Args: []string{"--a"}, Env: []string{"A=1", "SHLVL=1"}}
	for name, c := range map[string]struct {
		hello        AttachParams
		capabilities string
		want         string // the text that it gets before the answer, or instead of it
	}{
		"alike":     {first, "{}", "l= {}"},
		"attach":    {AttachParams{Program: "/q", Joins: true}, everything, "l= {}"},
		"variables": {AttachParams{Program: "/p", Args: []string{"--a"}, Env: []string{"B=1", "SHLVL=2"}}, "{}", use("`$A`, `$B`")},
		"many": {AttachParams{Program: "/q", Args: []string{"--b"}, Env: []string{"A=1", "B=", "C=", "D=", "E=", "F=", "G="}}, everything,
			use("`--b`, another version of the program, `$B`, `$C`, `$D`, `$E`, `$F`, 1 more variables, files in the editor, forms")},
		"stricter": {AttachParams{Program: "/p", Args: []string{"--strict"}}, "{}",
			"l! The session cannot be opened: its agent was not started with `--strict`, as this window's would be; close the session in each window, or end it by <stop s1>, then open it here"},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				h.Compare = func(has, joiner AttachParams) (stricter string, settings []string) {
					require.Equal(t, first.Args, has.Args)
					switch joiner.Args[0] {
					case "--strict":
						return "`--strict`", nil
					case "--b":
						return "", []string{"`--b`"}
					}
					return "", nil
				}
				h.attached("{}", first).begins()
				a := h.agents()[0]
				a.answer(a.next(), `{"sessionId":"s1"}`)
				c2 := h.attached(c.capabilities, c.hello)
				c2.load("s1")
				require.Equal(t, c.want, c2.take()[0])
				if c.want[0] == 'a' {
					c2.load("s1")
					require.Equal(t, []string{"l= {}"}, c2.take(), "it is told once")
				}
				require.Len(t, h.agents(), 1)
			})
		})
	}
}

// The note about unused settings follows the response to a resume, which opens the session for the client: in the agent, and when it joins
// another client or a turn. The turn follows the note.
func TestNoteBehindResume(t *testing.T) {
	first, other := AttachParams{Program: "/p", Env: []string{"A=1"}}, AttachParams{Program: "/p", Env: []string{"A=2"}}
	const opened = `r= {"modes":{"currentModeId":"off","availableModes":[]}}`
	for name, c := range map[string]struct {
		leaves, works bool // the client that has it
		want          []string
	}{
		"resumed by the agent": {true, false, []string{"r= {}", use("`$A`")}},
		"beside a window":      {false, false, []string{opened, use("`$A`")}},
		"in a turn":            {true, true, []string{opened, use("`$A`"), "user: go"}},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one := h.attached("{}", first)
				one.begins()
				a := h.agents()[0]
				a.answer(a.next(), `{"sessionId":"s1","modes":{"currentModeId":"off","availableModes":[]}}`)
				prompt := one.prompts(a, "s1", "go")
				if !c.works {
					a.answer(prompt, `{"stopReason":"end_turn"}`)
				}
				if c.leaves {
					one.Disconnected()
				}
				two := h.attached("{}", other)
				two.say(`{"jsonrpc":"2.0","id":"r","method":"session/resume","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`)
				if c.leaves && !c.works {
					a.answer(a.next(), `{}`)
				}
				require.Equal(t, c.want, two.take())
			})
		})
	}
}

func use(what string) string {
	return "agent: \n\nThe agent of this session was started otherwise, and does not use of this window: " + what + ". To change that, close the session in each window, then open it here.\n\n"
}
