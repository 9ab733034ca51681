package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
)

// A client may say in the request that opens a session which values its options are to have. The response has them.
func TestFirstValues(t *testing.T) {
	const first = `,"configOptions":[{"configId":"reasoning_effort","value":"high"},{"configId":"mode","value":"auto-low"},{"configId":"model","value":"fake-thinker"},` +
		`{"configId":"follow_up","value":"steer"},{"configId":"speed","value":"fast"},{"configId":"spec_model","value":"nonsense"},{"configId":"model","value":3}]`
	versions(t, func(t *testing.T, v fakedroid.Option) {
		f, root := newFleet(t, v, repeats()), filepath.Join(t.TempDir(), "sessions")
		e := agentOn(t, f, root)
		check := func(answer wireMessage) {
			t.Helper()
			require.Nil(t, answer.Error)
			set := optionsOf(t, answer.Result)
			require.Equal(t, "fake-thinker", set["model"].CurrentValue)
			require.Equal(t, "high", set["reasoning_effort"].CurrentValue, "which the model before does not have")
			require.Equal(t, "auto-low", set["mode"].CurrentValue)
			require.Equal(t, "steer", set["follow_up"].CurrentValue)
			require.Equal(t, "same", set["spec_model"].CurrentValue)
		}
		made := e.call("session/new", `{"cwd":"/workspace","mcpServers":[]`+first+`}`)
		check(made)
		e.session = e.sessionOf(made)
		synctest.Wait()
		require.Equal(t, stream.ModeAutoLow, e.current().Mode(), "droid has it")
		require.Equal(t, "fake-thinker", options.OrEmpty(e.current().ModelID))
		require.Nil(t, e.lastUpdate("config_option_update"), "the response said it")
		require.Equal(t, "end_turn", e.run("one"))

		plain := e.sessionOf(e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`))
		withFirst := func(id string) string {
			return fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[]%s}`, id, first)
		}
		check(e.call("session/load", withFirst(plain)))
		other := e.sessionOf(e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`))
		check(e.call("session/resume", withFirst(other)))
		third := e.sessionOf(e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`))
		check(e.call("session/fork", withFirst(third)))
		require.Equal(t, "custom:Fake-0", optionsOf(t, e.call("session/resume", sessionParamsOf(third)).Result)["model"].CurrentValue, "the copy alone")
		for _, method := range []string{"new", "load", "resume", "fork"} {
			answer := e.call("session/"+method, fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[],"configOptions":[{"configId":"model","type":"number","value":1}]}`, third))
			require.Equal(t, -32602, answer.Error.Code)
		}
	})
}

// session/options answers as session/new would, and nothing is stored.
func TestOptionsBeforeASession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var started []droid.Command
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
		e := connect(t, f.start)
		start := e.agent.Config.Start
		e.agent.Config.Start = func(c droid.Command) (*droid.Client, error) {
			started = append(started, c)
			return start(c)
		}
		e.agent.Config.Defaults = options.Defaults{Mode: stream.ModeAutoLow, FollowUp: options.Steer}
		ask := func(params string) wireMessage { return e.call("session/options", params) }

		before := ask(`{"cwd":"/workspace","additionalDirectories":["/lib"],"sessionId":null}`)
		require.Nil(t, before.Error)
		require.Len(t, started, 1)
		require.True(t, started[0].Scratch, "what it stores is nobody's")
		require.True(t, started[0].Alone, "and it runs nothing of anybody's")
		require.Zero(t, f.alive()-1, "it has ended; the spare waits") // started by initialize
		twice := []string{e.request("session/options", `{"cwd":"/workspace"}`), e.request("session/options", `{"cwd":"/workspace"}`)}
		for _, id := range twice {
			answer, ok := e.answered(id)
			require.True(t, ok)
			require.JSONEq(t, string(before.Result), string(answer.Result))
		}
		require.Len(t, started, 1, "droid is asked once while nothing changes")

		made := e.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
		e.session = e.sessionOf(made)
		var options, session struct{ Modes, ConfigOptions json.RawMessage }
		require.NoError(t, json.Unmarshal(before.Result, &options))
		require.NoError(t, json.Unmarshal(made.Result, &session))
		require.JSONEq(t, string(session.ConfigOptions), string(options.ConfigOptions))
		require.JSONEq(t, string(session.Modes), string(options.Modes))

		require.Nil(t, e.set("model", "fake-thinker").Error)
		open := ask(fmt.Sprintf(`{"cwd":"/workspace","sessionId":%q}`, e.session))
		require.Equal(t, "fake-thinker", optionsOf(t, open.Result)["model"].CurrentValue, "an open session's own")
		seen := len(started)
		time.Sleep(time.Hour)
		require.Nil(t, ask(`{"cwd":"/workspace"}`).Error)
		require.Equal(t, seen+1, len(started), "models may have changed")

		for params, code := range map[string]int{`{}`: -32602, `{"cwd":"relative"}`: -32602, `{"cwd":"/w","sessionId":7}`: -32602, `{"cwd":"/w","sessionId":"no-such"}`: -32002} {
			require.Equal(t, code, ask(params).Error.Code, params)
		}
	})
}

// A login counts at once: models that need one are marked only as long as there is none.
func TestOptionsBeforeASessionAfterALogin(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	require.NoError(t, os.Mkdir(filepath.Join(home, ".factory"), 0o700))
	bubble(t, func(t *testing.T) {
		e := connect(t, newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()).start)
		needsLogin := func() bool {
			answer := e.call("session/options", `{"cwd":"/workspace"}`)
			require.Nil(t, answer.Error)
			return strings.Contains(string(answer.Result), "[needs login]")
		}
		require.True(t, needsLogin())
		login := filepath.Join(home, ".factory", "auth.v2.file")
		require.NoError(t, os.WriteFile(login, []byte("x"), 0o600))
		require.False(t, needsLogin())
		require.NoError(t, os.Remove(login))
		require.True(t, needsLogin())
	})
}

// The stored options of a session take precedence over those of a new one, without a load.
func TestOptionsOfAStoredSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		e := agentOn(t, f, root)
		const id = "5de2c0de-0000-4000-8000-000000000001"
		file(t, root, id, "Stored")
		const settings = `{"model":"fake-thinker","reasoningEffort":"high","autonomyMode":"auto-low","interactionMode":"auto","autonomyLevel":"low","tokenUsage":{"inputTokens":1}}`
		require.NoError(t, os.WriteFile(filepath.Join(root, "-workspace", id+".settings.json"), []byte(settings), 0o644))
		answer := e.call("session/options", fmt.Sprintf(`{"cwd":"/workspace","sessionId":%q}`, id))
		require.Nil(t, answer.Error)
		set := optionsOf(t, answer.Result)
		require.Equal(t, "fake-thinker", set["model"].CurrentValue)
		require.Equal(t, "high", set["reasoning_effort"].CurrentValue)
		require.Equal(t, "auto-low", set["mode"].CurrentValue)
	})
}
