package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A request about a session that the client has not loaded is answered as by an agent that does not have it, without starting one; only a
// request that needs an agent starts one.
func TestMethodsOfClientThatDidNotLoad(t *testing.T) {
	const session = `"sessionId":"s1"`
	for method, c := range map[string]struct {
		params string
		starts bool
	}{
		"initialize": {`"protocolVersion":1`, false}, "session/list": {"", false}, "session/prompt": {session + `,"prompt":[]`, false}, "session/set_mode": {session + `,"modeId":"spec"`, false},
		"session/set_model": {session + `,"modelId":"m"`, false}, "session/set_config_option": {session + `,"configId":"c","value":"v"`, false},
		"session/close": {session, false}, "_session/steering": {session, false}, "_session/async_task/stop": {session + `,"asyncTaskId":"x"`, false},
		"_droid-acp/unknown": {session, false}, "authenticate": {`"methodId":"x"`, true},
		"session/options": {`"cwd":"/w"`, true}, "session/new": {`"cwd":"/w","mcpServers":[]`, true}, "session/fork": {session + `,"cwd":"/w","mcpServers":[]`, true},
	} {
		t.Run(method, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("Zed", everything)
				one.opens(a, "s1")
				prompt := one.prompts(a, "s1", "go")
				two, own := h.client("agent-shell", everything)
				two.say(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
				two.say(`{"jsonrpc":"2.0","id":"x","method":%q,"params":{%s}}`, method, c.params)
				if !c.starts {
					require.Len(t, h.agents(), 1)
					own = h.lastQueryAgent()
				}
				asked := own.next()
				require.Equal(t, method, asked.Method)
				a.hearsNothing()
				own.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32602,"message":"as its agent says"}}`, asked.ID)
				require.Equal(t, []string{"x! as its agent says"}, two.take())
				a.answer(prompt, `{"stopReason":"end_turn"}`)
				require.Equal(t, []string{`p= {"stopReason":"end_turn"}`}, one.take(), "and the turn there is as it was")
			})
		})
	}
	for method, c := range map[string]struct{ params, result string }{
		"session/set_title": {`,"title":"T"`, `{"title":"T"}`},
		"session/status":    {"", `{"status":"open"}`},
	} {
		t.Run(method, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("Zed", everything)
				one.opens(a, "s1")
				two, own := h.client("Emacs", everything)
				two.say(`{"jsonrpc":"2.0","id":"x","method":%q,"params":{"sessionId":"s1"%s}}`, method, c.params)
				asked := a.next()
				require.Equal(t, method, asked.Method, "which the agent that has it can do")
				own.hearsNothing()
				a.answer(asked, c.result)
				require.Equal(t, []string{`x= ` + c.result}, two.take())
			})
		})
	}
}

// A working session is forked for another client from its stored state, by an agent that does not have it open, even if the client has
// joined it. If its own prompt runs, or no other client has it open, the agent that has it is asked.
func TestForkOfWorkingSession(t *testing.T) {
	fork := func(c *fakeClient) {
		c.say(`{"jsonrpc":"2.0","id":"f","method":"session/fork","params":{"sessionId":"s1","cwd":"/w","mcpServers":[]}}`)
	}
	for name, joined := range map[string]bool{"from elsewhere": false, "from a window that joined": true} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("Zed", everything)
				one.opens(a, "s1")
				two, own := h.client("Zed", everything)
				two.opens(a, "s2") // in the agent that has both
				if joined {
					two.load("s1")
					two.take()
				}
				fork(two)
				require.Equal(t, "session/fork", a.next().Method, "it rests")
				prompt := one.prompts(a, "s1", "go")
				fork(two)
				a.hearsNothing()
				forking := own.next()
				require.Equal(t, "session/fork", forking.Method)
				own.answer(forking, `{"sessionId":"s3"}`)
				require.Contains(t, two.take(), `f= {"sessionId":"s3"}`)
				two.prompts(own, "s3", "on")
				two.prompts(a, "s2", "on")
				fork(one)
				require.Equal(t, "session/fork", a.next().Method, "it is behind its own prompt")
				a.answer(prompt, `{"stopReason":"end_turn"}`)
			})
		})
	}
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		a.works("s1", true)
		fork(one)
		require.Equal(t, "session/fork", a.next().Method)
	})
}

// A session is deleted if no other client has it, and nothing runs in it.
func TestDeleteSession(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		remove := func(c *fakeClient) {
			c.say(`{"jsonrpc":"2.0","id":"d","method":"session/delete","params":{"sessionId":"s1"}}`)
		}
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, own := h.client("Emacs", everything)
		two.load("s1")
		two.take()
		for _, c := range []*fakeClient{one, two} {
			remove(c)
			require.Equal(t, []string{"d! The session could not be deleted: deleting session s1: it is open in another window or program of yours; close it there first"}, c.take())
			a.hearsNothing()
		}
		two.say(`{"jsonrpc":"2.0","id":"c","method":"session/close","params":{"sessionId":"s1"}}`)
		two.take()
		prompt := one.prompts(a, "s1", "go")
		one.Disconnected()
		remove(two)
		require.Equal(t, []string{"d! The session could not be deleted: deleting session s1: something runs in it, which no window shows; open the session and stop that, or end it where the server runs: <stop s1>"}, two.take())
		own.hearsNothing()
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		remove(two)
		deleting := a.next()
		require.Equal(t, "session/delete", deleting.Method, "the agent that has it does it")
		own.hearsNothing()
		a.answer(deleting, `{}`)
		require.Equal(t, []string{"d= {}"}, two.take())
		require.Empty(t, h.Status().Sessions)
	})
}

// An agent may still have the droid of a session that it has closed: it deletes the session itself, by any of its IDs, and if it is ending,
// the session is deleted when it has ended.
func TestDeleteClosedSession(t *testing.T) {
	for _, method := range []string{"session/close", "session/archive"} {
		for _, ending := range []bool{false, true} {
			for _, id := range []string{"s1", "s2"} {
				t.Run(fmt.Sprintf("%s, ending %v, by %s", method, ending, id), func(t *testing.T) {
					inThread(t, func(t *testing.T, h *testServer, one *fakeClient, a *fakeAgent) {
						two, own := h.client("Emacs", everything)
						one.asks(method, "s1")
						a.answer(a.next(), `{}`)
						if ending {
							a.stubborn = true
							one.Disconnected()
						}
						two.asks("session/delete", id)
						if ending {
							own.hearsNothing()
							a.exit()
							synctest.Wait()
							a = h.lastQueryAgent()
						}
						deleting := a.next()
						require.Equal(t, "session/delete", deleting.Method)
						require.Equal(t, id, deleting.Params["sessionId"])
						a.answer(deleting, `{}`)
						require.Equal(t, []string{"x= {}"}, two.take())
					})
				})
			}
		}
	}
}

// Requests behind a load wait for it, as in an agent.
func TestRequestsBehindALoad(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.load("s1")
		one.prompt()
		loading := a.next()
		a.hearsNothing()
		a.answer(loading, `{}`)
		a.answer(a.next(), `{"stopReason":"end_turn"}`)
		require.Equal(t, []string{"l= {}", `p= {"stopReason":"end_turn"}`}, one.take())
		one.Disconnected()
		two, own := h.client("Emacs", everything)
		two.load("s1")
		two.prompt()
		a.answer(a.next(), `{}`)
		require.Equal(t, "session/prompt", a.next().Method)
		own.hearsNothing()
	})
}

func (c *fakeClient) loads(session, directory, servers string) {
	c.say(`{"jsonrpc":"2.0","id":"l","method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[%s]}}`, session, directory, servers)
}

// One droid cannot be in two directories, or have two sets of MCP servers: a client that loads a session with others is refused during a
// turn, and otherwise the agent loads it with these.
func TestLoadInOtherDirectory(t *testing.T) {
	const server, other = `{"name":"one","command":"/bin/one","args":[],"env":[]}`, `{"name":"two","command":"/bin/two","args":[],"env":[]}`
	for name, c := range map[string]struct{ directory, servers, refused, told string }{
		"directory": {"/v", server, "a prompt runs in it in /w, so it cannot be opened in /v now; wait for its end, or stop it, then load it again",
			"\n\nEmacs has opened this session in `/v`, where it goes on.\n\n"},
		"servers": {"/w/", other + "," + server, "a prompt runs in it without the MCP server two, so it cannot be opened with that now; wait for its end, or stop it, then load it again",
			"\n\nEmacs has opened this session with the MCP server `two`.\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("Zed", everything)
				one.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[%s]}}`, server)
				a.answer(a.next(), `{"sessionId":"s1"}`)
				one.take()
				two, own := h.client("Emacs", everything)
				prompt := one.prompts(a, "s1", "go")
				two.loads("s1", c.directory, c.servers)
				require.Equal(t, []string{"l! The session cannot be opened: " + c.refused}, two.take())
				two.loads("s1", "/w", "")
				require.Equal(t, []string{"user: go", "l= {}"}, two.take(), "who asks for nothing else joins")
				a.answer(prompt, `{"stopReason":"end_turn"}`)
				one.take()
				two.take()

				two.loads("s1", c.directory, c.servers)
				loading := a.next()
				require.Equal(t, "session/load", loading.Method)
				require.Equal(t, c.directory, loading.Params["cwd"])
				three, _ := h.client("Zed", everything)
				three.loads("s1", c.directory, c.servers)
				require.Empty(t, three.take(), "it waits")
				a.chunk("s1", "history")
				a.answer(loading, `{}`)
				require.Equal(t, []string{"agent: history", "l= {}"}, two.take())
				require.Equal(t, []string{"agent: " + c.told}, one.take())
				require.Equal(t, []string{"agent: history", "agent: " + c.told, "l= {}"}, three.take())
				require.Equal(t, strings.TrimSuffix(c.directory, "/"), h.Status().Sessions[0].Directory)
				own.hearsNothing()
			})
		})
	}
}

// An editor that returns without an MCP server, which its user has removed, loads the idle session without it.
func TestServerRemovedInTheEditor(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		before, a := h.client("Zed", everything)
		before.loads("s1", "/w", `{"name":"one","command":"/bin/one","args":[],"env":[]}`)
		a.answer(a.next(), `{}`)
		a.answer(before.prompts(a, "s1", "go"), `{"stopReason":"end_turn"}`)
		a.works("s1", false)
		before.Disconnected()
		after, _ := h.client("Zed", everything)
		after.loads("s1", "/w", "")
		m := a.next()
		require.Equal(t, "session/load", m.Method)
		require.Empty(t, m.Params["mcpServers"])
	})
}

// The updates of a load go only to its client, even if that has left before the end.
func TestLoadInOtherDirectoryByLeavingClient(t *testing.T) {
	for name, c := range map[string]struct{ ends, directory string }{
		"loaded": {`"result":{}`, "/v"}, "failed": {`"error":{"code":-32602,"message":"no such directory"}`, "/w"},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("Zed", everything)
				one.opens(a, "s1")
				two, _ := h.client("Emacs", everything)
				two.loads("s1", "/v", "")
				loading := a.next()
				a.chunk("s1", "old")
				require.Equal(t, []string{"agent: old"}, two.take())
				two.Disconnected()
				a.chunk("s1", "older")
				require.Empty(t, one.take(), "it has seen that")
				three, _ := h.client("Zed", everything)
				three.loads("s1", c.directory, "")
				require.Empty(t, three.take(), "it waits")
				a.say(`{"jsonrpc":"2.0","id":%v,%s}`, loading.ID, c.ends)
				one.take()
				a.chunk("s1", "new")
				require.Equal(t, []string{"agent: new"}, one.take())
				require.Contains(t, strings.Join(three.take(), "\n"), "agent: old\nagent: older\n")
			})
		})
	}
}

// A load that its agent never answers ends some time after its client has left: others can use the session again, and waiting requests
// continue.
func TestUnansweredLoadOfLeavingClient(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("Emacs", everything)
		two.loads("s1", "/v", "")
		loading := a.next()
		two.Disconnected()
		three, _ := h.client("Zed", everything)
		three.load("s1")
		a.hearsNothing()
		time.Sleep(loadTime)
		require.Equal(t, loading.ID, a.next().Params["requestId"])
		require.Equal(t, []string{"agent: What was said before this session was opened here is not shown. Load it again when it rests: droid has all of it.",
			`l= {"modes":{"currentModeId":"off","availableModes":[]}}`}, three.take())
		a.chunk("s1", "new")
		a.answer(loading, "{}")
		a.chunk("s1", "newer")
		for _, c := range []*fakeClient{one, three} {
			require.Equal(t, []string{"agent: new", "agent: newer"}, c.take())
		}
		require.Equal(t, "/w", h.Status().Sessions[0].Directory)
	})
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.load("s1")
		a.next()
		one.Disconnected()
		two, own := h.client("Emacs", everything)
		two.load("s1")
		own.hearsNothing()
		time.Sleep(loadTime)
		own.answer(own.next(), "{}")
		require.Equal(t, []string{"l= {}"}, two.take())
		<-a.exited
	})
}

// A client that missed updates when another client loads the session gets a notice that they cannot be shown, and what followed; a client
// that loads it itself has missed nothing.
func TestMissedBeforeLoadInOtherDirectory(t *testing.T) {
	const lost = "What was said here since your last prompt is not all shown: this session was loaded anew. " +
		"Load it again when it rests: droid has all of it."
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("CodeCompanion.nvim", "{}")
		two.load("s1")
		two.take()
		a.chunk("s1", "seen")
		a.answer(two.prompts(a, "s1", "go"), `{"stopReason":"end_turn"}`)
		two.take()
		load := func(c *fakeClient, directory, ends string) {
			a.chunk("s1", "missed")
			c.loads("s1", directory, "")
			loading := a.next()
			for _, text := range []string{"go", "seen", "missed, and more than was said here before: " + strings.Repeat(".", 1000)} {
				a.chunk("s1", text)
			}
			a.say(`{"jsonrpc":"2.0","id":%v,%s}`, loading.ID, ends)
			c.take()
		}
		load(one, "/v", `"result":{}`)
		a.chunk("s1", "new")
		prompt := two.prompts(a, "s1", "more")
		const moved = "agent: \n\nZed has opened this session in `/v`, where it goes on.\n\n"
		require.Equal(t, []string{"agent: " + lost, moved, "agent: new", "agent: \n\n---\n\n"}, two.take())
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		two.take()

		load(one, "/none", `"error":{"code":-32602,"message":"no such directory"}`)
		prompt = two.prompts(a, "s1", "more")
		require.Equal(t, []string{"agent: " + lost, "agent: \n\n---\n\n"}, two.take())
		a.answer(prompt, `{"stopReason":"end_turn"}`)
		two.take()

		load(two, "/u", `"result":{}`)
		two.prompts(a, "s1", "more")
		require.Empty(t, two.take())
	})
}

// A client that returns to its turn gets it, whatever servers the editor has now, with a note.
func TestBackWithOtherServers(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		one.prompts(a, "s1", "go")
		one.Disconnected()
		two, _ := h.client("Zed", everything)
		two.loads("s1", "/w", `{"name":"new","type":"http","url":"http://127.0.0.1:1","headers":[]}`)
		require.Equal(t, []string{"user: go", "agent: \n\nThe turn that runs here does not have the MCP server `new` of this window. Load the session again when it has ended.\n\n",
			`l= {"modes":{"currentModeId":"off","availableModes":[]}}`}, two.take())
	})
}

// A failed load leaves the others unchanged, and releases waiting requests.
func TestFailedLoadInOtherDirectory(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.opens(a, "s1")
		two, _ := h.client("Emacs", everything)
		two.loads("s1", "/v", "")
		loading := a.next()
		three, _ := h.client("Zed", everything)
		three.load("s1")
		a.say(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32602,"message":"no such directory"}}`, loading.ID)
		require.Equal(t, []string{"l! no such directory"}, two.take())
		require.Empty(t, one.take())
		require.Contains(t, strings.Join(three.take(), "\n"), "l= ")
		require.Equal(t, "/w", h.Status().Sessions[0].Directory)
	})
}

// A joining client gets the current mode, options and model, whichever method another client has set them with; the others get them at
// once.
func TestJoinerGetsCurrentOptions(t *testing.T) {
	const options = `[{"id":"mode","category":"mode","type":"select","currentValue":"spec"},{"id":"model","category":"model","type":"select","currentValue":"b"}]`
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", everything)
		one.say(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		a.answer(a.next(), `{"sessionId":"s1","modes":{"currentModeId":"off"},"models":{"currentModelId":"a"},"configOptions":[]}`)
		two, _ := h.client("Zed", everything)
		two.load("s1")
		two.take()
		one.take()
		one.say(`{"jsonrpc":"2.0","id":"o","method":"session/set_config_option","params":{"sessionId":"s1","configId":"model","value":"b"}}`)
		a.answer(a.next(), fmt.Sprintf(`{"configOptions":%s}`, options))
		require.Len(t, one.take(), 1)
		require.Equal(t, []string{"config_option_update null"}, two.take())
		three, _ := h.client("Zed", everything)
		three.load("s1")
		synctest.Wait()
		require.Len(t, three.heard, 2)
		var m rpcMessage
		require.NoError(t, json.Unmarshal([]byte(three.heard[1]), &m))
		require.JSONEq(t, fmt.Sprintf(`{"modes":{"currentModeId":"spec"},"models":{"currentModelId":"b"},"configOptions":%s}`, options), string(m.Result))
	})
}

// A client routes a question by the request that it concerns, which it knows by its own ID.
func TestQuestionAboutARequest(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		one, a := h.client("Zed", `{"elicitation":{"url":{}}}`)
		one.say(`{"jsonrpc":"2.0","id":"mine","method":"authenticate","params":{"methodId":"x"}}`)
		login := a.next()
		a.say(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"requestId":%v,"mode":"url","url":"https://x.test/","message":"log in"}}`, login.ID)
		synctest.Wait()
		require.Len(t, one.heard, 1)
		var m rpcMessage
		require.NoError(t, json.Unmarshal([]byte(one.heard[0]), &m))
		require.Equal(t, map[string]any{"requestId": "mine", "mode": "url", "url": "https://x.test/", "message": "log in"}, m.Params)
		one.say(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept"}}`, m.ID)
		require.JSONEq(t, `{"action":"accept"}`, string(a.next().Result))
	})
}

// An agent's stderr reaches the bridge of its editor, which has asked for it.
func TestStderrOfAnAgent(t *testing.T) {
	withServer(t, func(t *testing.T, h *testServer) {
		for _, local := range []bool{true, false} {
			c := &fakeClient{t: t}
			c.Client = h.Join(c, ClientOptions{Local: local, Role: Full})
			c.say(`{"jsonrpc":"2.0","method":%q,"params":{"program":"/p","stderr":true}}`, AttachMethod)
			c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
			c.say(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w"}}`)
			a := h.agents()[len(h.agents())-1]
			a.answer(a.next(), fmt.Sprintf(`{"sessionId":"s%v"}`, local))
			c.take()
			_, err := a.stderr.Write([]byte("open https://x.test/\n"))
			require.NoError(t, err)
			c.mu.Lock()
			heard := strings.Join(c.heard, "")
			c.mu.Unlock()
			if local {
				require.JSONEq(t, `{"jsonrpc":"2.0","method":"_droid-acp/stderr","params":{"text":"open https://x.test/\n"}}`, heard)
			} else {
				require.Empty(t, heard)
			}
			c.full = make(chan struct{})
			_, err = a.stderr.Write([]byte("more"))
			require.NoError(t, err)
			c.take()
			close(c.full)
		}
		one, a := h.client("Zed", everything)
		one.opens(a, "s2")
		_, err := a.stderr.Write([]byte("x"))
		require.NoError(t, err)
		require.Empty(t, one.take())
	})
}

// A session is archived, and with that closed, in the agent that has it, whoever asks; its other windows learn who did it.
func TestArchiveOfSessionOfAnotherWindow(t *testing.T) {
	for name, result := range map[string]string{"done": `"result":{}`, "refused": `"error":{"code":-32603,"message":"no disk"}`} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(t *testing.T, h *testServer) {
				one, a := h.client("Zed", everything)
				one.opens(a, "s1")
				prompt := one.prompts(a, "s1", "go")
				two, own := h.client("Emacs", everything)
				two.say(`{"jsonrpc":"2.0","id":"x","method":"session/archive","params":{"sessionId":"s1"}}`)
				asked := a.next()
				require.Equal(t, "session/archive", asked.Method)
				own.hearsNothing()
				a.answer(prompt, `{"stopReason":"cancelled"}`)
				a.say(`{"jsonrpc":"2.0","id":%v,%s}`, asked.ID, result)
				said := strings.Join(one.take(), "\n")
				require.Contains(t, said, `p= {"stopReason":"cancelled"}`)
				if name == "refused" {
					require.Equal(t, []string{"x! no disk"}, two.take())
					require.NotContains(t, said, "archived")
					one.prompts(a, "s1", "more")
					return
				}
				require.Equal(t, []string{"x= {}"}, two.take())
				require.Contains(t, said, "Emacs has archived this session")
				require.Empty(t, h.Status().Sessions)
			})
		})
	}
}
