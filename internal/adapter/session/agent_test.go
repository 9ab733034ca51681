package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/workspace/trust"
)

func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func TestInitialize(t *testing.T) {
	for _, version := range []string{"1", "2", "0", "65535", `"draft"`} {
		bubble(t, func(t *testing.T) {
			e := open(t, playing(says("hi")))
			answer := e.call("initialize", `{"protocolVersion":`+version+`,"clientCapabilities":{"fs":"nonsense"},"clientInfo":7}`)
			require.Nil(t, answer.Error)
			var r struct {
				ProtocolVersion   int
				AgentCapabilities struct {
					LoadSession        bool
					PromptCapabilities struct{ Image, Audio, EmbeddedContext bool }

					SessionCapabilities map[string]json.RawMessage
				}
				AuthMethods []struct{ ID, Name string }
				AgentInfo   struct{ Name, Title, Version string }
			}
			require.NoError(t, json.Unmarshal(answer.Result, &r))
			require.Equal(t, 1, r.ProtocolVersion, "whatever is offered")
			require.True(t, r.AgentCapabilities.PromptCapabilities.Image)
			require.True(t, r.AgentCapabilities.PromptCapabilities.EmbeddedContext)
			require.False(t, r.AgentCapabilities.PromptCapabilities.Audio)
			for _, name := range []string{"additionalDirectories", "systemPrompt", "title"} {
				require.Equal(t, "{}", string(r.AgentCapabilities.SessionCapabilities[name]), "of the modes of a system prompt append alone")
			}
			require.NotEmpty(t, r.AuthMethods, "the ACP registry wants one")
			require.Equal(t, "droid-acp", r.AgentInfo.Name)
			require.Contains(t, r.AgentInfo.Title, "droid-acp", "not the name of Factory's own agent")
		})
	}
}

// TestInitializeDoesNotWaitForDroid: no time passes in the bubble although the
// process takes ten seconds to start.
func TestInitializeDoesNotWaitForDroid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := open(t, func(int) (*droid.Client, error) {
			time.Sleep(10 * time.Second)
			return fakeDroid(says("hi")), nil
		})
		began := time.Now()
		id := e.request("initialize", `{"protocolVersion":1}`)
		answer, ok := e.answered(id)
		require.True(t, ok)
		require.Nil(t, answer.Error)
		require.Zero(t, time.Since(began))
	})
}

// TestBadInput checks that each malformed message gets a fitting error that says what is correct, and that the connection continues to
// work.
func TestBadInput(t *testing.T) {
	for line, says := range map[string]string{
		`{"jsonrpc":`: "-32700 not valid JSON",
		`[{"jsonrpc":"2.0","id":"x","method":"initialize"}]`:                                                        "-32600 no batches",
		`{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"a":"` + strings.Repeat("a", 20<<20) + `"}}`: "-32600 10 MiB",
	} {
		badInput(t, line, says)
	}
	const session = `{"sessionId":"SESSION",`
	for _, c := range []struct{ method, params, says string }{
		{"session/juggle", `{}`, "-32601 session/juggle"},
		{"_other/thing", `{}`, "-32601 _other/thing"},
		{"session/new", ``, "-32602 params are missing"},
		{"session/new", `null`, "-32602 params are missing"},
		{"session/new", `[1]`, "-32602 the params are of the JSON type array"},
		{"session/load", `[]`, "-32602 the params are of the JSON type array"},
		{"session/new", `{"mcpServers":[]}`, "-32602 cwd is missing"},
		{"session/new", `{"cwd":"/w","mcpServers":[{"type":"sse","name":"a"}]}`, "-32602 needs a url"},
		{"session/prompt", `{"sessionId":"nope","prompt":[{"type":"text","text":"hi"}]}`, "-32002 nope"},
		{"session/set_mode", `{"sessionId":"nope","modeId":"spec"}`, "-32002 nope"},
		{"session/set_model", `{"sessionId":"nope","modelId":"y"}`, "-32002 nope"},
		{"session/prompt", `{"prompt":[]}`, "-32602 sessionId is missing"},
		{"session/set_model", `{"sessionId":1}`, "-32602"},
		{"initialize", `{"protocolVersion":1}`, "-32600 called once"},
		{"authenticate", `{"methodId":"magic"}`, "-32602 magic"},
		{"session/prompt", session + `"prompt":[]}`, "-32602 prompt is empty"},
		{"session/prompt", `{"sessionId":"SESSION"}`, "-32602 prompt"},
		{"session/prompt", session + `"prompt":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`, "-32602 audio"},
		{"session/prompt", session + `"prompt":"hi"}`, "-32602 prompt must be a list of content blocks; it is of the JSON type string"},
		{"session/prompt", session + `"prompt":[{"type":"text","text":["hi"]}]}`, "-32602 prompt must be a list of content blocks; the text of one is of the JSON type array"},
		{"session/set_mode", session + `"modeId":"bypassPermissions"}`, `-32602 "bypassPermissions" is no value of mode; the values are normal, spec, auto-low, auto-medium, auto-high`},
		{"session/set_mode", session + `"modeId":null}`, `-32602 "" is no value of mode; the values are`},
		{"session/set_mode", session + `"modeId":5}`, "-32602 modeId is of the JSON type number"},
		{"session/set_config_option", session + `"configId":[],"value":"x"}`, "-32602 configId is of the JSON type array"},
		{"session/set_model", session + `"modelId":"no-such-model"}`, "-32602 the values are custom:Fake-0, fake-thinker, fake-old"},
		{"session/set_model", session + `"modelId":"fake-disabled"}`, "-32602 disabled"},
		{"session/set_model", session + `"modelId":""}`, "-32602 modelId is missing"},
		{"_session/steering", session + `"prompt":[]}`, "-32602 prompt is empty"},
		{"_session/steering", `{"sessionId":"SESSION"}`, "-32602 prompt"},
		{"_session/steering", session + `"prompt":[{"type":"text","text":"x"}],"_meta":{"steering":{"idleBehavior":"other"}}}`, "-32602 idleBehavior"},
		{"_session/steering", `{"sessionId":"nobody","prompt":[{"type":"text","text":"x"}]}`, "-32002 nobody"},
		{"_session/steering", `{"prompt":[{"type":"text","text":"x"}]}`, "-32602 sessionId is missing"},
	} {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q}`, c.method)
		if c.params != "" {
			line = strings.TrimSuffix(line, "}") + `,"params":` + c.params + `}`
		}
		badInput(t, line, c.says)
	}
}

// badInput sends a line, in which SESSION is replaced by the session's id, and expects an error with this code and text.
func badInput(t *testing.T, line, want string) {
	t.Run(fmt.Sprintf("%.100s", line), inBubble(func(t *testing.T) {
		e := begin(t, playing(says("still here")))
		before := len(e.received())
		e.send(strings.ReplaceAll(line, "SESSION", e.session))
		got := e.received()
		require.Len(t, got, before+1)
		require.NotNil(t, got[before].Error)
		code, words, _ := strings.Cut(want, " ")
		require.Equal(t, code, fmt.Sprint(got[before].Error.Code))
		require.Contains(t, got[before].Error.Message+string(got[before].Error.Data), words)
		require.NotContains(t, got[before].Error.Message, "Go ")
		require.Equal(t, "end_turn", e.run("go on"))
		require.Contains(t, e.updates(), "agent: still here")
		require.Equal(t, "custom:Fake-0", *e.current().ModelID, "droid was not asked")
	}))
}

func TestMethodsBeforeInitialize(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := open(t, playing(says("hi")))
		for _, method := range []string{"session/new", "session/prompt", "authenticate"} {
			answer := e.call(method, `{"sessionId":"x","cwd":"/w","prompt":[]}`)
			require.Equal(t, -32600, answer.Error.Code)
			require.Contains(t, answer.Error.Message, "initialize first")
		}
	})
}

func TestCheckDirectory(t *testing.T) {
	a := adapter.New(adapter.Config{Log: zap.NewNop()})
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	w, err := instructions.Params{CWD: dir + "/."}.Read(t.Context(), a.Launcher)
	require.NoError(t, err)
	require.Equal(t, dir, w.CWD)
	for cwd, says := range map[string]string{
		"":                           "cwd is missing",
		"src/app":                    "absolute path",
		"./":                         "absolute path",
		t.TempDir() + "/no/such/dir": "cannot be used",
		dir + "\x00":                 "cannot be used",
		file:                         "is not a directory",
	} {
		_, err := instructions.Params{CWD: cwd}.Read(t.Context(), a.Launcher)
		require.ErrorContains(t, err, says)
	}
}

// TestDroidThatOpensNoSession: session/new says why, whether droid is to have words for its system prompt or not, and works once
// droid does.
func TestDroidThatOpensNoSession(t *testing.T) {
	for name, c := range map[string]struct {
		start starter
		says  string
	}{
		"cannot start":      {func(int) (*droid.Client, error) { return nil, errors.New("no more processes") }, "droid could not be started: no more processes"},
		"dies at its start": {playing(func(d *fakedroid.Droid) error { return d.Die(1, "") }), "droid is gone before it said anything"},
		"is mute":           {muteDroid, "droid did not open the session: droid did not answer within a minute"},
	} {
		for _, words := range []string{"", beBrief} {
			t.Run(name+words, inBubble(func(t *testing.T) {
				var works atomic.Bool
				e := connect(t, func(n int) (*droid.Client, error) {
					if works.Load() {
						return fakeDroid(says("hi")), nil
					}
					return c.start(n)
				})
				began := time.Now()
				answer := e.call("session/new", `{"cwd":"/w","mcpServers":[]`+words+`}`)
				require.NotNil(t, answer.Error)
				require.Equal(t, -32603, answer.Error.Code)
				require.Contains(t, answer.Error.Message, c.says)
				require.Less(t, time.Since(began), launch.Time+time.Second)
				works.Store(true)
				require.Nil(t, e.call("session/new", `{"cwd":"/w","mcpServers":[]`+words+`}`).Error)
			}))
		}
	}
}

// Without a droid, a session still opens, and its first prompt says what to do. A droid that is installed later creates the session under
// the id that the editor knows.
func TestSessionsWithoutDroid(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		installed, stored := new(atomic.Bool), new(fakedroid.Sessions)
		e := connect(t, func(int) (*droid.Client, error) {
			if !installed.Load() {
				return nil, &droid.NotFoundError{}
			}
			return fakeDroid(says("hi"), v, fakedroid.WithSessions(stored)), nil
		})
		answer := e.call("session/new", `{"cwd":"/workspace","mcpServers":[],"_meta":{"systemPrompt":{"append":"Be kind."}}}`)
		e.session = e.sessionOf(answer)
		require.JSONEq(t, fmt.Sprintf(`{"sessionId":%q}`, e.session), string(answer.Result), "nothing is said of options that nobody knows")
		for range 2 {
			end := e.run("hello")
			require.Contains(t, end, "-32603 droid not found")
			require.Contains(t, end, "npm")
		}
		for method, params := range map[string]string{
			"session/load": sessionParamsOf(e.session), "session/resume": sessionParamsOf(e.session), "session/fork": sessionParamsOf(e.session),
			"session/set_mode": fmt.Sprintf(`{"sessionId":%q,"modeId":"spec"}`, e.session),
		} {
			require.Contains(t, ended(e.call(method, params)), "-32603 droid not found", method)
		}
		require.Equal(t, "end_turn", e.run("/status"))

		installed.Store(true)
		tries := len(e.added)
		require.Equal(t, "end_turn", e.run("hello"))
		e.inside(func(s *session.Session) { require.Equal(t, e.session, s.State().DroidSessionID) })
		require.Contains(t, e.updates(), "mode normal")
		old := 0 // droids from before 0.215 get the words when they load the session
		for _, words := range e.added[tries:] {
			old += strings.Count(words, "Be kind.")
		}
		require.Equal(t, strings.HasPrefix(t.Name(), "TestSessionsWithoutDroid/1.15"), old == 1, e.added)
		require.Equal(t, "end_turn", e.run("again"))
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		require.Nil(t, e.call("session/close", sessionParamsOf(e.session)).Error)
	})
}

// TestOptionWithoutDroid: the first prompt of such a session may set an option, or show one.
func TestOptionWithoutDroid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var installed atomic.Bool
		e := begin(t, func(int) (*droid.Client, error) {
			if !installed.Load() {
				return nil, &droid.NotFoundError{}
			}
			return fakeDroid(says("hi")), nil
		})
		require.Contains(t, e.run("/mode"), "droid not found")
		set := e.prompt("/mode spec")
		behind := e.prompt("go on")
		require.Equal(t, "end_turn", ended(e.await(set)))
		require.Contains(t, strings.Join(e.updates(), "\n"), "droid not found")
		require.Contains(t, ended(e.await(behind)), "droid not found")
		installed.Store(true)
		require.Equal(t, "end_turn", e.run("/mode spec"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "Mode: Spec.")
		e.inside(func(s *session.Session) { require.Equal(t, stream.ModeSpec, s.State().Mode) })
		require.Equal(t, "end_turn", e.run("/spec-model"))
	})
}

// TestDroidThatDiesAsItOpens: one that dies each time in the moment in which it has made the session is given up.
func TestDroidThatDiesAsItOpens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var e *editor
		var starts int
		e = begin(t, func(int) (*droid.Client, error) {
			if e == nil || starts > 50 {
				return nil, &droid.NotFoundError{}
			}
			starts++
			client := fakeDroid(says("hi"))
			s, err := e.find(e.session)
			require.Nil(t, err)
			s.Lock().Post(func() { time.Sleep(time.Second) }) // the session is busy until droid is dead
			time.AfterFunc(500*time.Millisecond, client.Kill)
			return client, nil
		})
		require.Contains(t, e.run("go"), "-32603")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.LessOrEqual(t, starts, turns.MaxCrashes+1)
	})
}

// A session that is closed before there is a droid leaves nothing behind.
func TestSessionsWithoutDroidEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, func(int) (*droid.Client, error) { return nil, &droid.NotFoundError{} })
		require.Nil(t, e.call("session/close", sessionParamsOf(e.session)).Error)
		require.Equal(t, -32002, e.await(e.prompt("hello")).Error.Code)
		require.Equal(t, -32603, e.call("session/load", sessionParamsOf(e.session)).Error.Code)
	})
}

// muteDroid reads all and says nothing.
func muteDroid(int) (*droid.Client, error) {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = out.Close()
	}()
	return droid.NewClient(stdout, stdin, nil), nil
}

// TestCancelledSessionNew: $/cancel_request ends session/new with −32800 and the
// process with it.
func TestCancelledSessionNew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := connect(t, muteDroid)
		id := e.request("session/new", `{"cwd":"/w","mcpServers":[]}`)
		synctest.Wait()
		e.notify("$/cancel_request", fmt.Sprintf(`{"requestId":%s}`, id))
		require.Equal(t, -32800, e.await(id).Error.Code)
	})
}

// TestQuirk34_HangsAtItsStart: another process opens the session. If that hangs, too, the error says so.
func TestQuirk34_HangsAtItsStart(t *testing.T) {
	for name, looks := range map[string]bool{"all is trusted": false, "the project is looked at": true} {
		t.Run(name, inBubble(func(t *testing.T) {
			mute := 1
			if looks {
				mute = 2 // the first was started ahead, and without a look
			}
			e := connect(t, func(n int) (*droid.Client, error) {
				if n <= mute {
					return muteDroid(n)
				}
				return fakeDroid(says("hi")), nil
			})
			if looks {
				home := t.TempDir()
				e.agent.Config.Trust = trust.New(trust.Options{Home: home, File: filepath.Join(home, "trust.json")})
			}
			began := time.Now()
			require.Nil(t, e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`).Error)
			require.Equal(t, 20*time.Second, time.Since(began))
			require.Equal(t, mute+1, e.starts)
			mute = 100
			require.Contains(t, e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`).Error.Message, "droid did not answer within a minute")
		}))
	}
}

// TestPanicEndsTheRequestAlone: a handler that panics answers with an error.
func TestPanicEndsTheRequestAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		e.agent.Launcher.Stat = func(string) (os.FileInfo, error) { panic("test") }
		answer := e.call("session/new", `{"cwd":"/w","mcpServers":[]}`)
		require.Equal(t, -32603, answer.Error.Code)
		require.Contains(t, answer.Error.Message, "droid-acp failed while handling session/new: test.")
		require.JSONEq(t, `{"kind":"internal_error"}`, string(answer.Error.Data))
		require.Equal(t, "end_turn", e.run("go on"))
	})
}

// The user is notified with the first prompt of the session.
func TestQuirk24_IgnoredMCPServersAreTold(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := connect(t, playing(says("hi"), v))
		answer := e.call("session/new", `{"cwd":"/w","mcpServers":[{"name":"files","command":"mcp-files","args":[],"env":[{"name":"A","value":"b"}]}]}`)
		e.session = e.sessionOf(answer)
		require.Equal(t, "end_turn", e.run("go"))
		told := strings.Contains(strings.Join(e.updates(), "\n"), "ignores MCP servers that an editor passes: files")
		require.Equal(t, strings.Contains(t.Name(), string(fakedroid.V099)), told)
	})
}

// TestLogOfSessions: the log has one line for each session that is opened or ends, with its ID.
func TestLogOfSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		e := openLogging(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Say("", "Hello.") })), zap.New(core))
		require.Nil(t, e.call("initialize", `{"protocolVersion":1,`+asZed+`}`).Error)
		e.beginSession()
		require.Equal(t, "end_turn", e.run("hello"))
		require.Nil(t, e.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[]}`, e.session)).Error)
		require.Nil(t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
		e.close()
		<-e.served
		var told []string
		for _, l := range logs.All() {
			if l.Message != "droid speaks" {
				told = append(told, fmt.Sprint(l.Message, " ", l.ContextMap()["session"]))
			}
		}
		require.Equal(t, []string{"a client has connected <nil>", "session opened " + e.session, "turn ended " + e.session, "session opened " + e.session, "session ended " + e.session}, told)
	})
}

// What clients send where a request needs no params, or has a field of another form.
func TestLenientParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi"), fakedroid.WithSessions(new(fakedroid.Sessions))))
		e.agent.Config.Store = store.New(t.TempDir(), e.agent.Log)
		for _, params := range []string{`null`, `[]`, `{}`, ` { } `, `{"cwd":null,"cursor":null,"limit":5,"_meta":null}`, `{"cwd":"","cursor":""}`} {
			answer := e.call("session/list", params)
			require.Nil(t, answer.Error, params)
			require.JSONEq(t, `{"sessions":[]}`, string(answer.Result), params)
		}
		require.Equal(t, -32602, e.call("session/list", `{"cursor":"bogus"}`).Error.Code)
		for _, params := range []string{
			`{"cwd":"/workspace"}`, `{"cwd":"/workspace","mcpServers":null}`, `{"cwd":"/workspace","mcpServers":{},"_meta":null}`,
			`{"cwd":"/workspace","mcpServers":[],"_meta":{"anything":{"else":[1]}},"modeId":null,"unknown":1}`,
			`{"cwd":"/workspace","mcpServers":[{"name":"a","command":"sh","args":null,"env":null}]}`,
			`{"cwd":"/workspace","mcpServers":[{"name":"a","command":"sh","args":[],"env":{"KEY":"value"}}]}`, // CodeCompanion
		} {
			require.Nil(t, e.call("session/new", params).Error, params)
		}
	})
}

// Unknown notifications of a client have no effect.
func TestUnknownNotificationsDisturbNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(says("hi")))
		before := len(e.received())
		for _, n := range [][2]string{
			{"session/cancel", `{"sessionId":"nobody"}`}, {"session/cancel", `{}`}, {"session/cancel", `null`},
			{"$/cancel_request", `{"requestId":"nothing"}`}, {"$/cancel_request", `{"requestId":null}`}, {"$/cancel_request", `{}`},
			{"notifications/initialized", `{}`}, {"initialized", `{}`}, {"$/progress", `{}`}, {"_unknown/thing", `{"x":1}`},
			{"session/update", `{"sessionId":"nobody","update":{}}`}, {"exit", `null`}, {"document/didOpen", `{}`},
		} {
			e.notify(n[0], n[1])
			synctest.Wait()
		}
		require.Len(t, e.received(), before, "nobody answers a notification")
		// JetBrains' library puts the name of its type into each message.
		e.send(`{"type":"com.agentclientprotocol.rpc.JsonRpcRequest","id":"jb","method":"session/list","params":{"cwd":"relative"},"jsonrpc":"2.0"}`)
		require.Equal(t, -32602, e.await(`"jb"`).Error.Code)
		e.send(`{"jsonrpc":"2.0","id":"late","result":{"outcome":{"outcome":"cancelled"}}}`)
		require.Equal(t, "end_turn", e.run("hello"))
	})
}
