package serve

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const providerKey = "s3cr3t"

func (c *fakeClient) setsProvider(url string) {
	c.say(`{"jsonrpc":"2.0","id":"s","method":"providers/set","params":{"providerId":"main","apiType":"openai","baseUrl":%q,"headers":{"Authorization":%q}}}`, url, providerKey)
}

// set has a client set its provider, of which this agent hears.
func (c *fakeClient) set(a *fakeAgent, url string) {
	c.t.Helper()
	c.setsProvider(url)
	m := a.next()
	require.Equal(c.t, "providers/set", m.Method)
	require.Equal(c.t, url, m.Params["baseUrl"])
	a.answer(m, `{}`)
	require.Equal(c.t, []string{`s= {}`}, c.take())
}

// Windows with different providers never share an agent, those with the same one do, and one without keeps its own.
func TestProvidersDivideAgents(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		none, own := h.client("Zed", everything)
		none.opens(own, "s0")
		one, a := h.client("Zed", everything)
		one.set(a, "https://a")
		two, b := h.client("Zed", everything)
		two.set(b, "https://b")
		three, _ := h.client("Zed", everything)
		three.set(a, "https://a")
		require.Len(t, h.agents(), 3)
		one.opens(a, "s1")
		two.opens(b, "s2")
		three.opens(a, "s3")
		own.hearsNothing()

		// one cannot take the provider from under the third window, or leave its session there
		one.setsProvider("https://c")
		require.Len(t, one.take(), 1)
		one.say(`{"jsonrpc":"2.0","id":"d","method":"providers/disable","params":{"providerId":"main"}}`)
		require.Contains(t, strings.Join(one.take(), ""), "d! Not done: another window uses the agent")
		a.hearsNothing()

		// the second, which is alone there, can
		two.set(b, "https://c")
		two.say(`{"jsonrpc":"2.0","id":"d","method":"providers/disable","params":{"providerId":"other"}}`)
		b.answer(b.next(), `{}`)
		two.take()
		two.load("s0")
		require.Contains(t, strings.Join(two.take(), ""), "l! The session cannot be opened", "its own provider is still set")
		four, d := h.client("Zed", everything)
		four.set(d, "https://b")
		require.Len(t, h.agents(), 4, "what the second had before is not its agent's any more")
		for _, c := range []*fakeClient{none, one, three, four} {
			require.Empty(t, c.take(), "nobody hears of another window's provider")
		}

		// no key is in a file of the server
		require.NoError(t, filepath.WalkDir(h.Journals, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			require.NotContains(t, string(text), providerKey)
			return err
		}))
	})
}

// A provider that is refused leaves the window where it was.
func TestRefusedProvider(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, b := h.client("Zed", everything)
		two.opens(a, "s2")
		two.say(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s2"}}`)
		a.closes("s2")
		two.take()
		two.setsProvider("https://b")
		m := b.next()
		b.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32602,"message":"no"}}`, m.ID)
		require.Equal(t, []string{"s! no"}, two.take())
		two.opens(b, "s3") // as its agent is without the provider
		two.load("s1")
		require.NotContains(t, strings.Join(two.take(), ""), "l!", "it has none")
		four, d := h.client("Zed", everything)
		four.set(d, "https://b")
		three, _ := h.client("Zed", everything)
		three.opens(a, "s4")
		require.Len(t, h.agents(), 3)

		// alone in its agent, it stays there
		two.say(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s1"}}`)
		two.take()
		two.setsProvider("https://b")
		m = b.next()
		b.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32602,"message":"no"}}`, m.ID)
		require.Equal(t, []string{"s! no"}, two.take())
		two.opens(b, "s5")
	})
}

// Another agent that is started for a window gets its provider before anything else, and opens no session without it.
func TestProviderOfTheNextAgent(t *testing.T) {
	for _, takes := range []bool{true, false} {
		t.Run(fmt.Sprint(takes), func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("Zed", everything)
				one.set(a, "https://a")
				one.opens(a, "s1")
				two, b := h.client("Zed", everything)
				two.set(a, "https://a")
				two.load("s1")
				two.take()
				one.prompts(a, "s1", "go")
				two.take()
				two.say(`{"jsonrpc":"2.0","id":"f","method":"session/fork","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`)
				m := b.next()
				require.Equal(t, "providers/set", m.Method)
				require.Equal(t, map[string]any{"Authorization": providerKey}, m.Params["headers"])
				require.Equal(t, "session/fork", b.next().Method)
				if takes {
					b.answer(m, `{}`)
					require.Empty(t, two.take(), "it works on session/fork")
					return
				}
				b.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"no"}}`, m.ID)
				require.Contains(t, strings.Join(two.take(), ""), "f! The agent of this session has ended")
			})
		})
	}
}

// A session whose agent has not the provider of the window that opens it goes to another agent, if nothing runs there and no other window
// has it open. A window without a provider joins it.
func TestSessionOfAnotherProvider(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.set(a, "https://a")
		one.opens(a, "s1")
		prompt := one.prompts(a, "s1", "go")
		two, b := h.client("Zed", everything)
		two.set(b, "https://b")
		two.load("s1")
		require.Contains(t, strings.Join(two.take(), ""), "l! The session cannot be opened: its agent has not the provider that this window has set")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		a.works("s1", false)
		one.take()
		two.load("s1")
		require.Contains(t, strings.Join(two.take(), ""), "l! The session cannot be opened", "the first window has it")
		three, _ := h.client("Zed", everything)
		three.load("s1")
		require.Contains(t, strings.Join(three.take(), "\n"), "no provider, as the editor that opened it has set one")
		three.Disconnected()
		one.Disconnected()
		two.load("s1")
		require.Empty(t, two.take())
		a.closes("s1")
		m := b.next()
		require.Equal(t, "session/load", m.Method)
	})
}

// A gateway that is set by authenticate divides agents as well; an ordinary login does not.
func TestGatewayByAuthenticateDividesAgents(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		two, b := h.client("Zed", everything)
		for c, own := range map[*fakeClient]*fakeAgent{one: a, two: b} {
			c.say(`{"jsonrpc":"2.0","id":"a","method":"authenticate","params":{"methodId":"gateway","_meta":{"gateway":{"baseUrl":"https://%p"}}}}`, c)
			own.answer(own.next(), `{}`)
			c.take()
		}
		three, d := h.client("Zed", everything)
		three.say(`{"jsonrpc":"2.0","id":"a","method":"authenticate","params":{"methodId":"device-pairing"}}`)
		d.answer(d.next(), `{}`)
		three.take()
		four, _ := h.client("Zed", everything)
		four.opens(d, "s1")
		require.Len(t, h.agents(), 3)
		one.say(`{"jsonrpc":"2.0","id":"o","method":"logout","params":{}}`)
		a.answer(a.next(), `{}`)
		one.take()
		one.opens(a, "s2")
	})
}

// Of two changes at once the last one that the agent made counts, also for the agents that follow.
func TestTwoChangesOfAProvider(t *testing.T) {
	const disable = `{"jsonrpc":"2.0","id":"d","method":"providers/disable","params":{"providerId":"main"}}`
	set := func(url string) func(*fakeClient) { return func(c *fakeClient) { c.setsProvider(url) } }
	for name, tt := range map[string]struct {
		first, second func(*fakeClient)
		done          [2]bool // which the agent makes
		want          string  // the provider then
	}{
		"none behind a wrong one":    {set("https://typo"), func(c *fakeClient) { c.say(disable) }, [2]bool{false, true}, ""},
		"another behind a wrong one": {set("https://typo"), set("https://b"), [2]bool{false, true}, "https://b"},
		"a wrong one behind another": {set("https://b"), set("https://typo"), [2]bool{true, false}, "https://b"},
		"two wrong ones":             {set("https://typo"), set("https://typo2"), [2]bool{false, false}, "https://a"},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("Zed", everything)
				one.set(a, "https://a")
				tt.first(one)
				tt.second(one)
				requests := []rpcMessage{a.next(), a.next()}
				for i, m := range requests {
					if tt.done[i] {
						a.answer(m, `{}`)
					} else {
						a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"no"}}`, m.ID)
					}
				}
				one.take()
				require.Equal(t, tt.want != "", one.Client.provider.set.isSet())
				require.Contains(t, string(one.Client.provider.set.params), tt.want)
				require.Equal(t, one.Client.provider.kind(), one.Client.agent.provider.kind())
			})
		})
	}
}

const (
	logsOut     = `{"jsonrpc":"2.0","id":"o","method":"logout","params":{}}`
	refusesThat = `{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"no"}}`
)

// An editor that was restarted logs out of the provider of the session that it has loaded.
func TestLogoutOfAnEditorThatReturns(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		before, a := h.client("Zed", everything)
		before.set(a, "https://a")
		for _, id := range []string{"s1", "s2"} {
			before.opens(a, id)
			a.answer(before.prompts(a, id, "go"), `{"stopReason":"end_turn"}`)
			a.works(id, false)
			before.take()
		}
		before.Disconnected()
		after, _ := h.client("Zed", everything)
		after.load("s1")
		a.answer(a.next(), `{}`)
		after.take()
		after.say(logsOut)
		m := a.next()
		require.Equal(t, "logout", m.Method)
		a.answer(m, `{}`)
		require.Equal(t, []string{`o= {}`}, after.take())
		after.opens(a, "s3") // which has no provider now
		require.Len(t, h.agents(), 1)
	})
}

// A change of the provider reaches each agent that has a session of the window, and is answered when all have answered. The window's own
// agent decides: one that did otherwise ends.
func TestProviderOfAllAgents(t *testing.T) {
	for name, tt := range map[string]struct {
		own, other string // their answers
		want       string // for the window
		ends       bool
	}{
		"both do it":    {`{}`, `{}`, `o= {}`, false},
		"neither does":  {"", "", `o! no`, false},
		"the own alone": {`{}`, "", `o= {}`, true},
		"the other":     {"", `{}`, `o! no`, true},
	} {
		for _, otherFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, other first %v", name, otherFirst), func(t *testing.T) {
				withServer(t, func(t *testing.T, h *testServer) {
					program := filepath.Join(t.TempDir(), "droid-acp")
					require.NoError(t, os.WriteFile(program, nil, 0o700))
					w := h.attached(everything, AttachParams{Program: program})
					own, other := newFakeAgent(t, AttachParams{}), newFakeAgent(t, AttachParams{})
					t.Cleanup(own.exit)
					t.Cleanup(other.exit)
					w.house, w.own = h, other
					w.set(other, "https://a")
					w.opens(other, "s1")
					require.NoError(t, os.WriteFile(program, []byte("updated"), 0o700))
					w.own = own
					w.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
					own.answer(own.next(), `{}`) // the provider
					own.answer(own.next(), `{"sessionId":"s2"}`)
					w.take()

					w.say(logsOut)
					agents, answers := []*fakeAgent{own, other}, []string{tt.own, tt.other}
					if otherFirst {
						slices.Reverse(agents)
						slices.Reverse(answers)
					}
					for i, a := range agents {
						require.Empty(t, w.take(), "not all have answered")
						m := a.next()
						require.Equal(t, "logout", m.Method)
						if answers[i] != "" {
							a.answer(m, answers[i])
						} else {
							a.say(refusesThat, m.ID)
						}
					}
					heard := w.take()
					require.Contains(t, heard, tt.want)
					if tt.ends {
						require.Contains(t, heard[0], "agent: The agent of this session was ended, since it has another provider than")
						require.Len(t, h.Status().Sessions, 1)
					} else {
						require.Len(t, heard, 1)
						w.say(`{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`)
						require.Equal(t, "session/prompt", other.next().Method)
					}
					w.say(`{"jsonrpc":"2.0","id":"p2","method":"session/prompt","params":{"sessionId":"s2","prompt":[]}}`)
					require.Equal(t, "session/prompt", own.next().Method)
				})
			})
		}
	}
}

// A window does not change the provider of a session that another window uses, too, nor that of a turn that no window shows.
func TestProviderInUseElsewhere(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.set(a, "https://a")
		one.opens(a, "s1")
		one.prompts(a, "s1", "go")
		two, _ := h.client("Zed", everything)
		two.load("s1")
		two.take()
		two.say(logsOut)
		require.Contains(t, strings.Join(two.take(), ""), "o! Not done")
		one.opens(a, "s2")
		prompt := one.prompts(a, "s2", "go")
		one.Disconnected()
		two.take()
		two.say(logsOut)
		require.Contains(t, strings.Join(two.take(), ""), "o! Not done", "s2 works, with no window")
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		a.works("s2", false)
		two.say(logsOut)
		require.Equal(t, "logout", a.next().Method, "the turn is shown here, and the idle session nowhere")
	})
}
