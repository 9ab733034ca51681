package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

const asServer = `{"_meta":{"droid-acp":{"activity":true}}}`

// activities are the reports of activity up to now, among the answers to prompts.
func (e *editor) activities() (reports []string) {
	synctest.Wait()
	for _, m := range e.received() {
		var p protocol.ActivityParams
		var r struct{ StopReason, Outcome string }
		switch {
		case m.Method == protocol.ActivityMethod:
			require.NoError(e.t, json.Unmarshal(m.Params, &p))
			require.Equal(e.t, e.session, p.SessionID)
			reports = append(reports, fmt.Sprint(p.Working))
		case m.Method == "" && json.Unmarshal(m.Result, &r) == nil && r.StopReason+r.Outcome != "":
			reports = append(reports, r.StopReason+r.Outcome)
		}
	}
	return reports
}

// A server that keeps the agent is notified when a session begins any work, and, behind all of its messages, when it becomes idle.
func TestActivity(t *testing.T) {
	for name, row := range map[string]struct {
		script fakedroid.Script
		does   func(e *editor)
		want   []string
	}{
		"nothing":  {new(slow).script(), func(*editor) {}, nil},
		"a prompt": {new(slow).script(), func(e *editor) { e.run("one") }, []string{"true", "end_turn", "false"}},
		"two prompts": {new(slow).script(), func(e *editor) {
			first := e.prompt("stream one")
			time.Sleep(150 * time.Millisecond)
			e.run("two")
			e.await(first)
		}, []string{"true", "end_turn", "end_turn", "false"}},
		"a steered turn": {new(slow).script(), func(e *editor) { e.await(e.steer("one", "")) }, []string{"startedNewTurn", "true", "false"}},
		"a turn of droid's own": {reporting(messageOf(fakedroid.Prompt{Text: "The subagent has ended."})), func(e *editor) { e.run("one") },
			[]string{"true", "end_turn", "false", "true", "false"}},
		"a turn that fails": {eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			return d.Fail("model_request_rejected", "400 bad request", "The model refused the request.")
		}), func(e *editor) { e.await(e.prompt("one")) }, []string{"true", "false"}},
		"a close in a turn": {new(slow).script(), func(e *editor) {
			turn := e.prompt("stream one")
			time.Sleep(150 * time.Millisecond)
			require.Nil(e.t, e.call("session/close", e.inSession("")).Error)
			e.await(turn)
		}, []string{"true", "cancelled", "false"}},
		"a load": {new(slow).script(), func(e *editor) {
			require.Nil(e.t, e.call("session/load", e.inSession(`,"cwd":"/workspace","mcpServers":[]`)).Error)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := beginNamed(t, "zed", asServer, playing(row.script, fakedroid.WithVersion(fakedroid.V0225), fakedroid.WithPace(100*time.Millisecond)))
				row.does(e)
				time.Sleep(5 * time.Minute)
				require.Equal(t, row.want, e.activities())
			})
		})
	}
}

// A session that is closed rests, also when droid does not end its turn.
func TestActivityEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unheard := func(map[string]any) (any, string) { return fakedroid.NoAnswer{}, "" }
		e := beginNamed(t, "zed", asServer, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			return d.Say("", strings.Repeat("word ", 10000))
		}), fakedroid.WithPace(100*time.Millisecond), fakedroid.WithAnswer("droid.interrupt_session", unheard)))
		turn := e.prompt("one")
		time.Sleep(time.Second)
		require.Nil(t, e.call("session/close", e.inSession("")).Error)
		e.await(turn)
		require.Equal(t, []string{"true", "cancelled", "false"}, e.activities())
	})
}

// A session with a background command is busy until the command ends, even if only droid's child processes are known of it; so is one with
// an open question.
func TestActivityWithoutATurn(t *testing.T) {
	t.Run("background", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := beginLeaving(t, asServer)
			time.Sleep(time.Hour)
			require.Equal(t, []string{"true", "end_turn"}, e.activities())
			e.ended.Store(true)
			time.Sleep(time.Minute)
			require.Equal(t, []string{"true", "end_turn", "false"}, e.activities())
		})
	})
	t.Run("not watched", func(t *testing.T) {
		serve, _ := leaves(t)
		synctest.Test(t, func(t *testing.T) {
			runs := &leftRun{}
			e := beginNamed(t, "zed", asServer, func(n int) (*droid.Client, error) {
				client := fakeDroid(toolFor("serve", serve), fakedroid.WithVersion(fakedroid.V0225))
				client.StubChildren(runs.Runs)
				client.StubBackground(func(int) (droid.BackgroundCommand, error) { return nil, fmt.Errorf("no such process") })
				return client, nil
			})
			e.run("serve")
			time.Sleep(time.Hour)
			require.Equal(t, []string{"true", "end_turn"}, e.activities())
			runs.ended.Store(true)
			time.Sleep(session.ActivityPause)
			require.Equal(t, []string{"true", "end_turn", "false"}, e.activities())
		})
	})
	t.Run("none is declared", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := begin(t, playing(new(slow).script()))
			e.run("one")
			require.Equal(t, []string{"end_turn"}, e.activities())
		})
	})
}
