package session_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/text/rawjson"
)

// listing answers droid's questions for commands and skills.
func listing() []fakedroid.Option {
	return []fakedroid.Option{
		answering("list_commands", fakedroid.Fields{"commands": []any{fakedroid.Fields{"name": "usage", "description": "My own usage", "argumentHint": "<x>"}}}),
		fakedroid.WithAnswer("droid.list_skills", func(map[string]any) (any, string) {
			return fakedroid.Fields{"skills": []any{
				fakedroid.Fields{"name": "demo", "description": "Demo", "userInvocable": true},
				fakedroid.Fields{"name": "inner", "description": "Inner", "userInvocable": false},
			}}, ""
		}),
	}
}

func TestCommandsAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error { return d.Say("", "droid: "+p.Text) }), listing()...))
		synctest.Wait()
		var u struct{ AvailableCommands []protocol.AvailableCommand }
		require.NoError(t, json.Unmarshal(e.lastUpdate("available_commands_update"), &u))
		names := map[string]string{}
		for _, c := range u.AvailableCommands {
			require.Empty(t, names[string(c.Name)], "once")
			names[string(c.Name)] = string(c.Description)
		}
		require.Equal(t, "My own usage", names["usage"], "the user's own command wins")
		require.Contains(t, names, "demo")
		require.NotContains(t, names, "inner")
		require.Contains(t, names, "compact")
		for _, text := range []string{"/usage now", "/nothing", "/ help", "see /help", "/demo x"} {
			require.Equal(t, "end_turn", e.run(text))
			require.Contains(t, e.updates(), "agent: droid: "+text, "it is droid's")
		}
		require.Equal(t, "end_turn", e.run("/help"))
		told := strings.Join(e.updates(), "\n")
		require.NotContains(t, told, "droid: /help")
		require.Contains(t, told, "- `/rewind [N [files]]`: Go back to before one of your prompts")
		require.Contains(t, told, "\n\nYour own commands, and skills:\n\n- `/usage <x>`: My own usage\n- `/demo`: Demo")
	})
}

// A command of droid's terminal alone is answered here: droid would pass it to the model. The user's own command of that
// name, and a text that only begins like one, are droid's.
func TestTerminalCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error { return d.Say("", "droid: "+p.Text) }),
			answering("list_commands", fakedroid.Fields{"commands": []any{fakedroid.Fields{"name": "share", "description": "My own"}}})))
		synctest.Wait()
		for text, says := range map[string]string{
			"/login": "Run `" + diagnosis.Program() + " login` in a terminal.", "/clear": "Start a new chat", "/cd ../other": "Start a chat in that directory",
			"/loop 30min go on": "Run `droid` in a terminal", "/logout": "Run `droid` in a terminal",
		} {
			require.Equal(t, "end_turn", e.run(text))
			require.NotContains(t, e.updates(), "agent: droid: "+text)
			require.Contains(t, strings.Join(e.updates(), "\n"), says)
		}
		for _, text := range []string{"/share", "/settings returns 500", "/clearly", "/review"} {
			require.Equal(t, "end_turn", e.run(text))
			require.Contains(t, e.updates(), "agent: droid: "+text)
		}
	})
}

// The list comes when the editor knows the session, never before the response.
func TestCommandsFollowTheResponse(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(says("hi"), v))
		got := e.received()
		answered := false
		for _, m := range got {
			answered = answered || strings.Contains(string(m.Result), "sessionId")
			if strings.Contains(string(m.Params), "available_commands_update") {
				require.True(t, answered)
				return
			}
		}
		require.Fail(t, "no commands")
	})
}

// A command that droid does not answer is cancelled like any prompt. The user is notified of what droid did all the same.
func TestCancelledCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := begin(t, playing(says("hi"), fakedroid.WithAnswer("droid.fork_session", func(map[string]any) (any, string) {
			<-release
			return fakedroid.Fields{"newSessionId": "late"}, ""
		})))
		id := e.prompt("/fork")
		synctest.Wait()
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		close(release) // droid is done with it all the same
		synctest.Wait()
		require.Equal(t, "end_turn", e.run("hello"))
		e.inside(func(s *session.Session) {
			require.Equal(t, e.session, s.State().DroidSessionID, "the thread stays where it is")
		})
		require.Contains(t, strings.Join(e.updates(), "\n"), "Its result is the session late")
	})
}

// unansweredBy makes a droid that never answers these questions.
func unansweredBy(methods ...string) (options []fakedroid.Option) {
	for _, m := range methods {
		options = append(options, fakedroid.WithAnswer("droid."+m, func(map[string]any) (any, string) { return fakedroid.NoAnswer{}, "" }))
	}
	return options
}

// A request that droid does not answer delays no prompt once it is cancelled, even where calls wait for each other (0.99).
func TestPromptAfterACancelledCommand(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		options := unansweredBy("list_mcp_servers", "compact_session", "fork_session", "authenticate_mcp_server")
		options = append(options, v, answering("cancel_mcp_auth", fakedroid.Fields{}))
		options = append(options, fakedroid.WithSessions(new(fakedroid.Sessions)))
		e := begin(t, playing(says("hi"), options...))
		for _, command := range []string{"/mcp", "/compact", "/fork", "/mcp login x"} {
			id := e.prompt(command)
			synctest.Wait()
			began := time.Now()
			e.cancel()
			require.Equal(t, "cancelled", ended(e.await(id)), command)
			require.Equal(t, "end_turn", e.run("hello"), command)
			require.Less(t, time.Since(began), time.Second, command)
		}
	})
}

// A compaction that hangs ends after ten minutes, one that is cancelled at once.
// droid does not stop it, so its process goes and the next prompt has another.
func TestCompactionIsBounded(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(says("hi"), append(unansweredBy("compact_session"), v, fakedroid.WithSessions(new(fakedroid.Sessions)))...))
		id := e.prompt("/compact")
		time.Sleep(9 * time.Minute)
		_, over := e.answered(id)
		require.False(t, over)
		time.Sleep(time.Minute + time.Second)
		require.Equal(t, "end_turn", ended(e.await(id)))
		require.Contains(t, strings.Join(e.updates(), "\n"), "droid did not answer within 10 minutes")
		require.True(t, e.parked())
		require.Equal(t, "end_turn", e.run("hello"))

		id = e.prompt("/compact")
		synctest.Wait()
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.Contains(t, strings.Join(e.updates(), "\n"), "notice: droid compacts the conversation. It was cancelled.\nend cancelled", "no full context window, and before the response")
		require.True(t, e.parked())
		require.Equal(t, "end_turn", e.run("hello"))
		require.Equal(t, 3, e.starts)
	})
}

// A compaction whose droid dies while the disk is read has failed for that, not because droid did not answer in time.
func TestDroidDiesInACompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{declares: `{"session":{"compaction":{}}}`}
		d.open(t, fakedroid.WithVersion(fakedroid.V0225), says("hi"))
		d.beginSessionIn(d.own)
		require.Equal(t, "end_turn", d.run("hello"))
		d.hanging.begin("Store.Title")
		id := d.prompt("/compact")
		d.settle()
		require.True(t, d.hanging.wasReached())
		d.inside(func(s *session.Session) { s.KillDroid() })
		require.Contains(t, ended(d.await(id)), "droid was killed")
		require.JSONEq(t, `"failed"`, string(rawjson.Field(d.lastUpdate("compaction_update"), "status")))
		require.NotContains(t, string(d.lastUpdate("compaction_update")), "did not answer")
	})
}

func TestUsageIsToldWhereDroidTells(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(says("hi"), v, answering("get_context_stats", fakedroid.Fields{"used": 14087, "limit": 250000, "accuracy": "estimated"})))
		require.Equal(t, "end_turn", e.run("hello"))
		time.Sleep(50 * time.Millisecond)
		require.Equal(t, "end_turn", e.run("hello again"))
		require.Nil(t, e.lastUpdate("usage_update"), "a prompt right behind a turn does not wait for droid's count")
		time.Sleep(150 * time.Millisecond)
		synctest.Wait()
		if strings.Contains(t.Name(), string(fakedroid.V099)) {
			require.Nil(t, e.lastUpdate("usage_update"), "0.99 does not tell, and nothing is invented")
			return
		}
		require.JSONEq(t, `{"sessionUpdate":"usage_update","used":14087,"size":250000}`, string(e.lastUpdate("usage_update")))
	})
}

// The status names droid's version, and an id that two things have once.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := agentOn(t, f, filepath.Join(t.TempDir(), "sessions"))
		e.beginSession()
		status := func() string {
			before := len(e.updates())
			require.Equal(t, "end_turn", e.run("/status"))
			return strings.Join(e.updates()[before:], "\n")
		}
		text := status()
		require.Contains(t, text, "droid 0.225.2: /usr/bin/droid, protocol ")
		require.Equal(t, 1, strings.Count(text, e.session))
		require.Equal(t, "end_turn", e.run("one"))
		require.Equal(t, "end_turn", e.run("/compact"))
		text = status()
		require.Contains(t, text, "- session "+e.session+"\n- droid's session "+f.made()+"\n")
	})
}
