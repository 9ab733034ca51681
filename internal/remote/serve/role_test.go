package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestParseRole(t *testing.T) {
	for text, want := range map[string]Role{"full": Full, "answer": Answer, "prompt": Prompt, "watch": Watch, "answer,prompt": Answer | Prompt} {
		got, ok := ParseRole(text)
		require.True(t, ok, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "Full", "admin", "watch,", "watch prompt"} {
		got, ok := ParseRole(text)
		require.False(t, ok, text)
		require.Zero(t, got)
	}
}

// limited runs a test with a session s1 of a client with the role full, and a client of a role that has joined it. It returns what was logged as
// refused.
func limited(t *testing.T, role Role, test func(h *testServer, full *fakeClient, a *fakeAgent, c *fakeClient, refused func() []string)) {
	withServer(t, func(t *testing.T, h *testServer) {
		core, logs := observer.New(zap.WarnLevel)
		h.Log = zap.New(core)
		h.Agent.CommandPrefixes, h.Agent.ReadMethods = "!", []string{"_x/state"}
		full, a := h.client("Zed", everything)
		full.opens(a, "s1")
		c, _ := h.clientOf("Neovim", everything, ClientOptions{From: "10.0.0.1:7", Role: role, Token: "phone", Connection: "c7"})
		c.load("s1")
		require.Contains(t, strings.Join(c.take(), "\n"), "l= ")
		require.Empty(t, logs.TakeAll())
		test(h, full, a, c, func() (lines []string) {
			for _, entry := range logs.TakeAll() {
				fields := entry.ContextMap()
				require.Equal(t, "phone", fields["token"])
				require.Equal(t, "c7", fields["connection"])
				lines = append(lines, fmt.Sprint(fields["reason"]))
			}
			return lines
		})
	})
}

// What a role does not allow is refused and logged, whichever way it comes. The agent gets nothing of it.
func TestWaysRoundARole(t *testing.T) {
	const forbids, noMessage = "the token of this client has the role ", "Invalid request: a message is a JSON object with one method or one id; ACP has no batches"
	for _, row := range []struct {
		name    string
		role    Role
		message string
		answer  string // "" for none
		reason  string // as logged
	}{
		{"a batch", Watch, `[{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1"}}]`, "<nil>! Invalid request", noMessage},
		{"two methods", Watch, `{"jsonrpc":"2.0","id":1,"method":"session/list","Method":"session/set_mode","params":{"sessionId":"s1"}}`, "<nil>! Invalid request", noMessage},
		{"an unknown method", Watch, `{"jsonrpc":"2.0","id":1,"method":"_x/new","params":{"sessionId":"s1"}}`, "1! Not done", forbids + "watch, which does not allow _x/new"},
		{"a method in capitals", Prompt, `{"jsonrpc":"2.0","id":1,"method":"session/SET_MODE","params":{"sessionId":"s1"}}`, "1! Not done", forbids + "prompt, which does not allow session/SET_MODE"},
		{"a notification in place of a request", Watch, `{"jsonrpc":"2.0","method":"session/set_mode","params":{"sessionId":"s1","modeId":"high"}}`, "", forbids + "watch, which does not allow session/set_mode"},
		{"a prompt without an id", Prompt, `{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`, "", forbids + "prompt, which does not allow session/prompt"},
		{"a second initialize", Watch, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`, "1! Not done", forbids + "watch, which does not allow initialize"},
		{"how its agent starts", Watch, `{"jsonrpc":"2.0","id":1,"method":"_droid-acp/hello","params":{"program":"/bin/sh"}}`, "1! Not done", forbids + "watch, which does not allow _droid-acp/hello"},
		{"a new session", Prompt, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, "1! Not done", forbids + "prompt, which does not allow session/new"},
		{"a load of what is not open", Watch, `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s9","cwd":"/","mcpServers":[{"name":"x","command":"/bin/sh"}]}}`, "1! Not opened", "this client only joins sessions that are open here"},
		{"a cancel", Watch, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`, "", forbids + "watch, which does not allow session/cancel"},
		{"a cancel of another's request", Watch, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"n"}}`, "", "it cancels a request that is not its own, or was answered"},
		{"a prompt", Answer, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`, "1! Not done", forbids + "answer, which does not allow session/prompt"},
		{"a command", Prompt, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":" \n/mode high"}]}}`, "1! Not done", forbids + "prompt, which does not allow commands: a prompt may not begin with /"},
		{"a command behind a text", Prompt, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"x"},{"TYPE":"text","text":"x","TEXT":"!ls"}]}}`, "1! Not done", forbids + "prompt, which does not allow commands: a prompt may not begin with !"},
		{"a command that steers", Prompt, `{"jsonrpc":"2.0","id":1,"method":"_session/steering","params":{"sessionId":"s1","prompt":[{"type":"text","text":"/trust yes"}]}}`, "1! Not done", forbids + "prompt, which does not allow commands: a prompt may not begin with /"},
		{"a prompt that is not read", Prompt, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s1","prompt":{"text":"/x"}}}`, "1! Not done", "the prompt cannot be read"},
	} {
		t.Run(row.name, func(t *testing.T) {
			limited(t, row.role, func(h *testServer, _ *fakeClient, a *fakeAgent, c *fakeClient, refused func() []string) {
				c.say("%s", row.message)
				got := strings.Join(c.take(), "\n")
				if row.answer == "" {
					require.Empty(t, got)
				} else {
					require.Contains(t, got, row.answer)
				}
				require.Equal(t, []string{row.reason}, refused())
				a.hearsNothing()
				require.Len(t, h.agents(), 1)
			})
		})
	}
}

// A question goes only to those who may answer it, and an answer of another one counts for nothing.
func TestAnswersOfARole(t *testing.T) {
	for role, answers := range map[Role]bool{Watch: false, Prompt: false, Answer: true} {
		t.Run(role.String(), func(t *testing.T) {
			limited(t, role, func(h *testServer, full *fakeClient, a *fakeAgent, c *fakeClient, refused func() []string) {
				a.asksPermission("s1")
				require.Len(t, full.take(), 1)
				offered := c.take()
				require.Equal(t, answers, len(offered) == 1, offered)
				h.mu.Lock()
				var id string
				for id = range h.questions {
				}
				h.mu.Unlock()
				c.say(`{"jsonrpc":"2.0","id":%q,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}`, id)
				if answers {
					require.NotEmpty(t, a.next().Result)
					require.Empty(t, refused())
					return
				}
				a.hearsNothing()
				require.Equal(t, []string{"it answers what it was not asked"}, refused())
			})
		})
	}
}

// Files, terminals and whatever else an agent asks of an editor go to clients with the role full alone, also while another client has sent the
// last prompt.
func TestFilesOfARole(t *testing.T) {
	limited(t, Answer|Prompt, func(h *testServer, full *fakeClient, a *fakeAgent, c *fakeClient, _ func() []string) {
		c.prompts(a, "s1", "Say hello.")
		full.take()
		for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create"} {
			a.say(`{"jsonrpc":"2.0","id":5,"method":%q,"params":{"sessionId":"s1","path":"/w/x"}}`, method)
			require.Len(t, full.take(), 1, method)
			require.Empty(t, c.take(), method)
		}
		full.Disconnected()
		a.say(`{"jsonrpc":"2.0","id":6,"method":"terminal/create","params":{"sessionId":"s1","command":"ls"}}`)
		require.Empty(t, c.take())
	})
}

// A client that only watches ends nothing: it leaves the session, and a load by it changes nothing.
func TestWatchingEndsNothing(t *testing.T) {
	limited(t, Watch, func(h *testServer, full *fakeClient, a *fakeAgent, c *fakeClient, refused func() []string) {
		full.prompts(a, "s1", "Say hello.")
		full.Disconnected()
		c.say(`{"jsonrpc":"2.0","id":1,"method":"session/close","params":{"sessionId":"s1"}}`)
		require.Contains(t, strings.Join(c.take(), "\n"), "1= {}")
		c.say(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"s1","cwd":"/elsewhere","mcpServers":[{"name":"x","command":"/bin/sh"}],"configOptions":[{"configId":"mode","value":"high"}]}}`)
		require.Contains(t, strings.Join(c.take(), "\n"), "2= ")
		c.say(`{"jsonrpc":"2.0","id":3,"method":"_x/state","params":{"sessionId":"s1"}}`)
		require.Equal(t, "_x/state", a.next().Method)
		a.hearsNothing()
		require.Empty(t, refused())
	})
}

// A client for which the transport names no role may do nothing.
func TestNoRole(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		c, _ := h.clientOf("Zed", everything, ClientOptions{})
		for _, method := range []string{"session/new", "session/list", "session/load"} {
			c.say(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"sessionId":"s1","cwd":"/"}}`, method)
			require.Contains(t, strings.Join(c.take(), "\n"), "1! Not done")
		}
		require.Empty(t, h.agents())
	})
}
