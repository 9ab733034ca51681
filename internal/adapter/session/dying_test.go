package session_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// mortal starts droids that can be ended from outside, as a crash does.
type mortal struct {
	script  fakedroid.Script
	options []fakedroid.Option

	mu    sync.Mutex
	stdin io.Closer // of the last one
}

func (m *mortal) start(int) (*droid.Client, error) {
	stdout, stdin := fakedroid.Start(m.script, m.options...)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stdin = stdin
	return droid.NewClient(stdout, stdin, zap.NewNop()), nil
}

func (m *mortal) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.stdin.Close() // a pipe's
}

// diesOver is an answer that never comes: droid dies over it.
func diesOver(method string, die func()) fakedroid.Option {
	return fakedroid.WithAnswer("droid."+method, func(map[string]any) (any, string) {
		time.AfterFunc(time.Second, die)
		return fakedroid.NoAnswer{}, ""
	})
}

// answersOnce checks that a command is answered once, and that the session continues. It returns the text and then the end.
func (e *editor) answersOnce(id string) (said string) {
	e.t.Helper()
	end := ended(e.await(id))
	time.Sleep(time.Minute)
	said = strings.Join(e.updates(), "\n") + "\n" + end
	require.Equal(e.t, "end_turn", e.run("more"))
	require.Regexp(e.t, `(re:|droid got) more`, strings.Join(e.updates(), "\n"))
	answers := 0
	for _, m := range e.received() {
		if m.Method == "" && string(m.ID) == id {
			answers++
		}
	}
	require.Equal(e.t, 1, answers)
	return said
}

// droidIsGone is the error of a prompt whose droid has died before it did anything.
const droidIsGone = "-32603 droid is gone. The next prompt starts droid again and continues this session."

// TestDroidDiesOverARewind checks a droid that dies during a rewind: if the user is being asked about files, nothing has happened, and the
// question is withdrawn; if droid is restoring them, the outcome is unknown.
func TestDroidDiesOverARewind(t *testing.T) {
	for name, over := range map[string]string{
		"while it tells the files": "get_rewind_info", "while the question stands": "", "while it restores the files": "execute_rewind",
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				m := &mortal{script: repeats()}
				m.options = []fakedroid.Option{v, fakedroid.WithSessions(new(fakedroid.Sessions)),
					answering("get_rewind_info", fakedroid.Fields{"availableFiles": []any{fakedroid.Fields{"filePath": "/workspace/a"}}})}
				if over != "" {
					m.options = append(m.options, diesOver(over, m.die))
				}
				e := begin(t, m.start)
				require.Equal(t, "end_turn", e.run("one"))
				e.onAsk = func(json.RawMessage, json.RawMessage) bool {
					if over == "" {
						time.AfterFunc(time.Second, m.die)
					}
					return over == ""
				}
				said := e.answersOnce(e.prompt("/rewind 1 files"))
				require.NotContains(t, said, "This thread is back")
				if over != "execute_rewind" {
					require.Contains(t, said, droidIsGone)
					require.NotContains(t, said, "not known")
					require.Equal(t, over == "", strings.Contains(said, "ask\nwithdrawn"), said)
					require.Equal(t, over == "", strings.Contains(fmt.Sprint(e.shownCalls()), "Not rewound"), e.shownCalls())
					return
				}
				require.Contains(t, said, "The session goes on as it was. Whether files were restored is not known: droid is gone.")
			})
		})
	}
}

// TestQuestionEndsBeforeItsPrompt: the end of a call that the user was asked about is sent before the response, behind which some clients
// ignore updates. Without care either may come first.
func TestQuestionEndsBeforeItsPrompt(t *testing.T) {
	for name, end := range map[string]func(e *editor, m *mortal){"cancel": func(e *editor, _ *mortal) { e.cancel() }, "crash": func(_ *editor, m *mortal) { m.die() }} {
		t.Run(name, func(t *testing.T) {
			for range 30 {
				synctest.Test(t, func(t *testing.T) {
					m := &mortal{script: repeats(), options: []fakedroid.Option{fakedroid.WithVersion(fakedroid.V0225), fakedroid.WithSessions(new(fakedroid.Sessions)),
						answering("get_rewind_info", fakedroid.Fields{"availableFiles": []any{fakedroid.Fields{"filePath": "/workspace/a"}}})}}
					e := begin(t, m.start)
					require.Equal(t, "end_turn", e.run("one"))
					e.ask = nil
					rewind := e.prompt("/rewind 1 files")
					time.Sleep(time.Second)
					end(e, m)
					e.await(rewind)
					time.Sleep(time.Second)
					told := e.updates()
					require.Regexp(t, `^end (cancelled|-32603 )`, told[len(told)-1], strings.Join(told, "\n"))
				})
			}
		})
	}
}

// TestDroidDiesOverStructuredOutput checks that the prompt fails, and that droid's output until then does not become the output of the next
// prompt, in this agent or another one that loads the session.
func TestDroidDiesOverStructuredOutput(t *testing.T) {
	for name, early := range map[string]bool{"before the output": true, "behind it": false} {
		t.Run(name, inBubble(func(t *testing.T) {
			f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
				switch {
				case p.Schema == "":
					return d.Say("", "re: "+p.Text)
				case early:
					return inTurn(func() error { return d.Say("", `{"n":`) }, func() error { return d.Die(137, "") })
				}
				return inTurn(func() error { return d.Say("", `{"n":4}`) }, func() error { return d.Structured(fakedroid.Fields{"n": 4}) },
					func() error { return d.Die(137, "") })
			}))
			e := asProgram(t, f.start)
			end := e.await(e.promptIn("count", countsFormat))
			require.NotNil(t, end.Error)
			require.Contains(t, ended(end), "droid_crashed")
			require.NotContains(t, end.Raw, "structuredOutput")
			answer := e.await(e.prompt("more"))
			require.Equal(t, "end_turn", ended(answer))
			require.NotContains(t, answer.Raw, "structuredOutput")
			session := e.session
			e.close()
			other := connect(t, f.start)
			other.session = session
			require.Nil(t, other.call("session/load", other.inSession(`,"cwd":"/workspace","mcpServers":[]`)).Error)
			answer = other.await(other.prompt("more"))
			require.Equal(t, "end_turn", ended(answer))
			require.NotContains(t, answer.Raw, "structuredOutput")
		}))
	}
}

// TestDroidDiesOverASwitch checks that the answer says what to do, and that nothing has changed if droid died before the request, or that
// the outcome is unknown if it died after it.
func TestDroidDiesOverASwitch(t *testing.T) {
	for _, tc := range []struct {
		command  string
		switched int // so many times before droid dies
		unknown  string
	}{
		{"/mcp disable mine", 0, "Whether mine is off now is not known: "},
		{"/mcp enable mine", 0, "Whether mine is on now is not known: "},
		{"/mcp logout mine", 0, "Whether droid has forgotten the login to mine is not known: "},
		{"/mcp reconnect mine", 0, "Whether mine is on now is not known: "},
		{"/mcp reconnect mine", 1, "Whether mine is on now is not known: "},
		{"/skills disable deploy", 0, "Whether deploy is off now is not known: "},
		{"/skills enable deploy", 0, "Whether deploy is on now is not known: "},
	} {
		for _, listing := range []bool{true, false} {
			t.Run(fmt.Sprint(tc.command, tc.switched, listing), inBubble(func(t *testing.T) {
				var r *trustRoom
				die, asked := func() { r.die() }, 0
				mine := fakedroid.Fields{"name": "mine", "status": "connected", "source": "user", "serverType": "http"}
				options := []fakedroid.Option{answering("list_mcp_servers", fakedroid.Fields{"servers": []any{mine}}),
					answering("list_skills", fakedroid.Fields{"skills": []any{fakedroid.Fields{"name": "deploy", "location": "personal"}}})}
				for _, method := range []string{"list_mcp_servers", "list_skills"} {
					if listing && strings.Contains(method, strings.Fields(tc.command)[0][1:]) {
						options = append(options, diesOver(method, die))
					}
				}
				for _, method := range []string{"toggle_mcp_server", "set_skill_disabled", "clear_mcp_auth"} {
					options = append(options, fakedroid.WithAnswer("droid."+method, func(map[string]any) (any, string) {
						if asked++; asked <= tc.switched {
							return fakedroid.Fields{"success": true}, ""
						}
						time.AfterFunc(time.Second, die)
						return fakedroid.NoAnswer{}, ""
					}))
				}
				r = inProject(t, fakedroid.V0225, map[string]string{"~/.factory/mcp.json": `{"mcpServers":{"mine":{"url":"http://127.0.0.1:1","type":"http"}}}`}, options...)
				require.Nil(t, r.newSession().Error)
				time.Sleep(time.Minute)
				said := r.answersOnce(r.prompt(tc.command))
				t.Log(said)
				require.Equal(t, listing, asked == 0)
				if listing {
					require.Contains(t, said, droidIsGone)
					require.NotContains(t, said, "Whether")
					return
				}
				require.Contains(t, said, tc.unknown)
				require.Contains(t, said, "Send `"+tc.command+"` once more to be sure.")
			}))
		}
	}
}

// TestDroidDiesTwiceOverSettings: a prompt that no droid was given goes to the third one, which takes the settings from before.
func TestDroidDiesTwiceOverSettings(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		m, deaths := &mortal{script: repeats()}, -1
		m.options = []fakedroid.Option{v, fakedroid.WithSessions(new(fakedroid.Sessions)), fakedroid.WithAnswer("droid.update_session_settings", func(map[string]any) (any, string) {
			if deaths < 0 || deaths == 2 {
				return nil, ""
			}
			deaths++
			time.AfterFunc(time.Second, m.die)
			return fakedroid.NoAnswer{}, ""
		})}
		e := begin(t, m.start)
		require.Equal(t, "end_turn", e.run("one"))
		require.Nil(t, e.set("mode", "auto-high").Error)
		e.inside(func(s *session.Session) {
			settings, normal := s.OptionState().Settings(), "normal" // another one than droid has stored
			settings.AutonomyMode, settings.AutonomyLevel = &normal, nil
			s.OptionState().Reported(settings)
			s.ReplaceDroid()
		})
		deaths = 0
		require.Equal(t, "end_turn", e.run("two"))
		require.Equal(t, 2, deaths)
		require.Contains(t, strings.Join(e.updates(), "\n"), "re: two")
	})
}

// TestCrashMidTurn: the prompt ends with the cause and droid's last words, and
// the next prompt finds a droid that has loaded the session.
func TestCrashMidTurn(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		store := fakedroid.WithSessions(new(fakedroid.Sessions))
		e := begin(t, func(n int) (*droid.Client, error) {
			if n > 1 {
				return fakeDroid(uses(touch), v, store), nil
			}
			return fakeDroid(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
				if err := d.Use("", "half a sen", touch); err != nil {
					return err
				}
				return d.Die(1, "")
			}), v, store), nil
		})
		require.Contains(t, e.run("go"), "-32603 ")
		require.Equal(t, "end_turn", e.run("again"))
		got := e.updates()
		require.Contains(t, got, "agent: \n\nDone.")
		require.Contains(t, got, "thought: droid had ended and was started again; the session continues.")
		require.Contains(t, got, "tool_call t1 pending touch a")
		require.Contains(t, got, "tool_call t1~2 pending touch a", "the new process uses the same id for another call")
	})
}
