package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// asProgram begins a session of a client that gets the kinds of errors; Zed, as which other tests begin,
// gets none.
func asProgram(t *testing.T, start starter) *editor {
	t.Helper()
	e := open(t, start)
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientInfo":{"name":"a program","version":"1"}}`).Error)
	e.beginSession()
	return e
}

func TestModelFailureIsATypedError(t *testing.T) {
	for _, tc := range []struct {
		reason, message, advice string
		want                    []string
	}{
		{"model_authentication_failed", "401 mock 401 error", "BYOK Error: 401 mock 401 error", []string{"-32603 model_authentication_failed: BYOK Error: 401", "API key"}},
		{"model_authentication_failed", `401 {"type":"error","error":{"type":"authentication_error","message":"bad key"},"request_id":"r"}`,
			"BYOK Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"bad key\"},\"request_id\":\"r\"}\n\nCheck it.",
			[]string{"-32603 model_authentication_failed: BYOK Error: 401 bad key Check it. ", "API key"}},
		{"model_rate_limited", "429 slow down", "", []string{"-32603 model_rate_limited: 429", "Wait a little"}},
		{"model_provider_unreachable", "Connection error.", "Check your network", []string{"-32603 model_provider_unreachable: Connection error.", "Check your network", "baseUrl"}},
		{"model_provider_unavailable", "500 mock", "", []string{"-32603 model_provider_unavailable: 500"}},
	} {
		t.Run(tc.message, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				e := asProgram(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					if p.Text == "next" {
						return d.Say("", "recovered")
					}
					return d.Fail(tc.reason, tc.message, tc.advice)
				}), v))
				end := e.run("go")
				for _, part := range tc.want {
					require.Contains(t, end, part)
				}
				require.Equal(t, "end_turn", e.run("next"), "the session works on")
			})
		})
	}
}

// The error for a session file that droid cannot read names the file, and says what to do.
func TestSessionFileThatIsCorrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const id = "6e0b7c1e-0000-4000-8000-000000000001"
		root := filepath.Join(t.TempDir(), "sessions")
		path := filepath.Join(root, "-workspace", id+".jsonl")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(`{"type":"sess`), 0o600))
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		f.options = append(f.options, fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) {
			return nil, "Invalid session file: missing session_start event"
		}))
		e := agentOn(t, f, root)
		answer := e.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[]}`, id))
		require.Contains(t, answer.Error.Message, "droid refused to open the session: Invalid session file: missing session_start event. "+
			"Restore the file "+path+" from a backup, or move it away")
	})
}

// CodeCompanion appends an error to the last text, so an empty line ends that text. Other clients get none, and neither does it if there
// was no text.
func TestErrorsBehindWhatWasSaid(t *testing.T) {
	for client, line := range map[string]bool{"CodeCompanion.nvim": true, "toad": false, "zed": false, "nobody-knows": false} {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
				if p.Text == "say" {
					_ = d.Say("m", "I look.")
				}
				return d.Fail("model_rate_limited", "429 slow down", "")
			})))
			require.Nil(t, e.call("initialize", fmt.Sprintf(`{"protocolVersion":1,"clientInfo":{"name":%q}}`, client)).Error)
			e.beginSession()
			from := len(e.updates())
			e.run("nothing")
			require.NotContains(t, e.updates()[from:], "notice: \n\n", client)
			e.run("say")
			updates := e.updates()[from:]
			require.Equal(t, line, updates[len(updates)-2] == "notice: \n\n", "%s: %q", client, updates)
		})
	}
}

// Toad advises the user to install the agent if a prompt ends with an error. For it, the text describes the error, and the prompt ends
// normally; programs find the error in its _meta.
func TestFailedPromptsEndWithText(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := open(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if p.Text == "next" {
				return d.Say("", "recovered")
			}
			return d.Fail("model_rate_limited", "429 slow down", "")
		}), v))
		require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"toad","version":"0.6.18"}}`).Error)
		e.beginSession()
		for _, text := range []string{"go", "again"} {
			answer := e.await(e.prompt(text))
			require.Equal(t, "end_turn", ended(answer))
			require.Contains(t, string(answer.Result), `"_meta":{"droid-acp":{"error":{"code":-32603,"message":"429 slow down`)
		}
		require.Contains(t, strings.Join(e.updates(), "\n"), "notice: 429 slow down  \n  \nThe provider limits requests")
		answer := e.call("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}`, e.session))
		require.Equal(t, "end_turn", ended(answer), string(answer.Result))
		require.Equal(t, "end_turn", e.run("next"))
	})
}

// A reason that droid gives takes precedence over its text; each known reason has a remedy.
func TestReasonsThatDroidGives(t *testing.T) {
	for reason, remedy := range map[string]string{
		"prompt_rejected": "UserPromptSubmit", "completion_persistence_failed": "room on the disk", "no_approver_available": "Load the session again",
		"structured_output_schema_invalid": "is none that droid takes", "structured_output_invalid": "did not answer in the form",
		"structured_output_missing": "did not answer in the form", "error": "Send the prompt again", "of_a_newer_droid": "500 it failed",
	} {
		synctest.Test(t, func(t *testing.T) {
			e := asProgram(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Fail(reason, "500 it failed", "") })))
			end := e.run("go")
			require.Contains(t, end, "-32603 "+reason+": ")
			require.Contains(t, end, remedy)
		})
	}
}

// refusing is a droid that refuses these methods.
func refusing(methods ...string) (options []fakedroid.Option) {
	for _, m := range methods {
		options = append(options, fakedroid.WithAnswer("droid."+m, func(map[string]any) (any, string) { return nil, "not today" }))
	}
	return options
}

// An error names the request that failed and its progress: an error of a prompt or a copy does not speak of opening a session, and if droid
// was started, no error says that it could not be.
func TestErrorsSayWhatWasAskedFor(t *testing.T) {
	fork := func(e *editor) string { return ended(e.call("session/fork", sessionParamsOf(e.session))) }
	load := func(e *editor) string { return ended(e.call("session/load", sessionParamsOf(e.session))) }
	for name, tc := range map[string]struct {
		options []fakedroid.Option
		stored  bool // the session is not open
		asks    func(e *editor) string
		want    string
	}{
		"a prompt":      {refusing("add_user_message"), false, func(e *editor) string { return e.run("hello") }, "-32603 droid refused the prompt: not today"},
		"a copy":        {refusing("fork_session"), false, fork, "-32603 droid refused to copy the session: not today"},
		"a stored copy": {refusing("fork_session"), true, fork, "-32603 droid refused to copy the session: not today"},
		"a load":        {refusing("load_session"), false, load, "-32603 droid refused to open the session: not today"},
		"a new session": {refusing("initialize_session"), true, func(e *editor) string { return ended(e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)) },
			"-32603 droid refused to open the session: not today"},
		"a prompt of a new process": {refusing("load_session"), false, func(e *editor) string {
			e.inside(func(s *session.Session) { s.Process().Client().Kill() })
			synctest.Wait()
			return e.run("hello")
		}, "-32603 droid was started again for this session and refused to open it: not today. The next prompt tries again."},
		"a copy that hangs": {unansweredBy("fork_session"), false, fork, "-32603 droid did not copy the session: droid did not answer within a minute. Try again."},
		"a setting": {unansweredBy("update_session_settings"), false, func(e *editor) string { return ended(e.set("mode", "spec")) },
			"-32603 droid did not change its mode: droid did not answer within 10 s. Try again."},
		"a command": {refusing("load_session"), false, func(e *editor) string { return e.answerTo("/export") }, // no word for programs in what users read
			"agent: The conversation was not exported: droid refused to tell the conversation: not today.\nend end_turn"},
	} {
		t.Run(name, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				sessions := new(fakedroid.Sessions)
				e := connect(t, playing(says("hi"), append(tc.options, v, fakedroid.WithSessions(sessions))...))
				if e.session = sessions.Add("/workspace"); !tc.stored {
					e.beginSession()
				}
				require.Equal(t, tc.want, tc.asks(e))
			})
		})
	}
	versions(t, func(t *testing.T, v fakedroid.Option) { // the copy is there, whatever else failed
		stored := new(fakedroid.Sessions)
		loads := 0
		e := connect(t, playing(says("hi"), v, fakedroid.WithSessions(stored), answering("fork_session", fakedroid.Fields{"newSessionId": "the-copy"}),
			fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) {
				if loads++; loads == 1 {
					return nil, "" // as usual
				}
				return nil, "not today"
			})))
		e.session = stored.Add("/workspace")
		require.Equal(t, "-32603 droid copied the session, but the copy the-copy was not opened: droid refused to open the session: not today. The copy is among the sessions of session/list.", fork(e))
	})
}

// endingOn starts droids that end when they are asked for a method.
func endingOn(method string, options ...fakedroid.Option) starter {
	return func(int) (client *droid.Client, err error) {
		end := fakedroid.WithAnswer("droid."+method, func(map[string]any) (any, string) {
			client.KillFor("of the test")
			return fakedroid.NoAnswer{}, ""
		})
		client = fakeDroid(says("hi"), append(options, end)...)
		return client, nil
	}
}

// An error describes the session's state truthfully: it names no next prompt for a session that was not opened.
func TestErrorsSayWhatComesNext(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		stored := new(fakedroid.Sessions)
		e := connect(t, endingOn("fork_session", v, fakedroid.WithSessions(stored)))
		end := ended(e.call("session/fork", sessionParamsOf(stored.Add("/workspace"))))
		require.Contains(t, end, "-32603 droid was killed by droid-acp, because of the test")
		require.Contains(t, end, "while it copied the session")
		require.NotContains(t, end, "The next prompt starts droid again")
	})
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, endingOn("load_session", v, fakedroid.WithSessions(new(fakedroid.Sessions))))
		end := ended(e.call("session/load", sessionParamsOf(e.session)))
		require.Regexp(t, "-32603 droid was killed by droid-acp, because of the test", end) // of the next one, which is asked as well
	})
}
