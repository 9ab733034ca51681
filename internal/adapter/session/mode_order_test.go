package session_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/workspace/trust"
)

// preparing is an editor whose user has answered "always" in a mode, while the look at the project hangs that comes before droid gets the answer.
func preparing(t *testing.T, tool fakedroid.Tool, mode string, v fakedroid.Option) (e *editor, running string) {
	t.Helper()
	e = connect(t, playing(uses(tool), v))
	home := t.TempDir()
	e.agent.Config.Trust = trust.New(trust.Options{Home: home, File: filepath.Join(home, "trust.json")})
	e.beginSession()
	require.Nil(t, e.set("mode", mode).Error)
	var asked, request json.RawMessage
	e.onAsk = func(id, params json.RawMessage) bool { asked, request = id, params; return true }
	running = e.prompt("go")
	e.settle()
	e.hanging.begin("Trust.Look")
	e.answer(asked, request, func(p permission) string { return p.Option("allow_always") })
	e.settle()
	require.True(t, e.hanging.wasReached())
	return e, running
}

// TestModeBehindAnAnswer checks that an answer which is being prepared does not replace a mode that the user has chosen behind it.
func TestModeBehindAnAnswer(t *testing.T) {
	for _, tc := range []struct {
		before, mode string
		tool         fakedroid.Tool
	}{{"normal", "normal", touch}, {"normal", "spec", touch}, {"spec", "spec", plan}} {
		t.Run(tc.before+" "+tc.mode, func(t *testing.T) {
			versions(t, func(t *testing.T, v fakedroid.Option) {
				e, running := preparing(t, tc.tool, tc.before, v)
				require.Nil(t, e.set("mode", tc.mode).Error)
				e.hanging.revive()
				require.Equal(t, "end_turn", ended(e.await(running)))
				require.Contains(t, strings.Join(e.updates(), "\n"), "so this was not allowed")
				e.inside(func(s *session.Session) { require.EqualValues(t, tc.mode, s.OptionState().Mode()) })
			})
		})
	}
}

// A mode that does not exist takes no answer away.
func TestUnknownModeBehindAnAnswer(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e, running := preparing(t, touch, "normal", v)
		require.NotNil(t, e.call("session/set_mode", e.inSession(`,"modeId":"garbage"`)).Error)
		e.hanging.revive()
		require.Equal(t, "end_turn", ended(e.await(running)))
		require.Contains(t, e.updates(), "tool_call_update t1 completed")
	})
}

// A mode waits for that of an answer no longer than for the droid that had the answer.
func TestModeBehindADeadDroid(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		m := &mortal{script: uses(touch), options: []fakedroid.Option{v, fakedroid.WithSessions(new(fakedroid.Sessions))}}
		e := begin(t, m.start)
		var asked, request json.RawMessage
		e.onAsk = func(id, params json.RawMessage) bool { asked, request = id, params; return true }
		running := e.prompt("go")
		e.settle()
		e.answer(asked, request, func(p permission) string { defer m.die(); return p.Option("allow_always") })
		e.await(running)
		began := time.Now()
		require.Nil(t, e.set("mode", "spec").Error)
		require.Less(t, time.Since(began), time.Second)
	})
}

// TestModeRightBehindAnAnswer checks that a mode is set when droid has the mode of the answer before it, also where it reports another one,
// for a request before the answer, in the meantime.
func TestModeRightBehindAnAnswer(t *testing.T) {
	for _, before := range []string{"", "auto-low"} {
		versions(t, func(t *testing.T, v fakedroid.Option) {
			e := begin(t, func(int) (*droid.Client, error) {
				return tappedDroid(slowSettings, uses(touch), v, fakedroid.WithPace(time.Second)), nil
			})
			var asked [2]json.RawMessage
			e.onAsk = func(id, params json.RawMessage) bool { asked = [2]json.RawMessage{id, params}; return true }
			running := e.prompt("go")
			time.Sleep(time.Minute)
			e.settle()
			if before != "" {
				e.request("session/set_mode", e.inSession(`,"modeId":`+quoted(before)))
				e.settle()
			}
			e.answer(asked[0], asked[1], func(p permission) string { return p.Option("allow_always") })
			require.Nil(t, e.set("mode", "normal").Error)
			require.Equal(t, "end_turn", ended(e.await(running)))
			require.Contains(t, e.updates(), "mode auto-medium")
			e.inside(func(s *session.Session) { require.EqualValues(t, "normal", s.OptionState().Mode()) })
		})
	}
}

// An answer that the user gives while droid is asked for a mode does not make that mode fail, though droid then has the mode of the answer.
func TestAnswerRightBehindAMode(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, func(int) (*droid.Client, error) { return tappedDroid(slowSettings, uses(touch), v), nil })
		require.Nil(t, e.set("mode", "auto-low").Error)
		var asked [2]json.RawMessage
		e.onAsk = func(id, params json.RawMessage) bool { asked = [2]json.RawMessage{id, params}; return true }
		running := e.prompt("go")
		e.settle()
		e.onAsk = nil
		mode := e.request("session/set_mode", e.inSession(`,"modeId":"normal"`))
		time.Sleep(50 * time.Millisecond) // droid is being asked
		e.answer(asked[0], asked[1], func(p permission) string { return p.Option("allow_always") })
		behind := e.prompt("B")
		require.Equal(t, "end_turn", ended(e.await(running)))
		require.Nil(t, e.await(mode).Error)
		require.Equal(t, "end_turn", ended(e.await(behind)))
		require.Contains(t, e.updates(), "mode normal")
		e.inside(func(s *session.Session) { require.EqualValues(t, "auto-medium", s.OptionState().Mode()) })
	})
}
