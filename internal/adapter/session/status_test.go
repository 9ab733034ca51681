package session_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// session/status answers by each id of a thread, and from the disk for a session that is not open. It starts no droid, and a droid that
// is leaving keeps its time.
func TestSessionStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		ids := movedTwice(t, f, root)
		for _, id := range ids {
			file(t, root, id, "A")
		}
		e := agentOn(t, f, root)
		started := len(f.clients)
		status := func(id string) string {
			t.Helper()
			answer := e.call("session/status", `{"sessionId":"`+id+`"}`)
			require.Nil(t, answer.Error)
			return string(answer.Result)
		}
		all := func(want string) {
			t.Helper()
			for _, id := range ids {
				require.JSONEq(t, `{"status":"`+want+`"}`, status(id), id)
			}
		}
		all("saved")
		require.Len(t, f.clients, started, "no droid is started")
		e.session = ids[0]
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		all("open")
		require.Equal(t, "end_turn", e.run("one"))
		held, err := e.agent.Config.Store.IsOpen(ids[2])
		require.NoError(t, err)
		require.True(t, held)
		require.Nil(t, e.call("session/close", sessionParamsOf(e.session)).Error)
		all("saved")
		select {
		case <-f.clients[len(f.clients)-1].Exited():
			t.Error("the droid that leaves was hurried")
		default:
		}
		answer := e.call("session/status", `{"sessionId":"nope"}`)
		require.NotNil(t, answer.Error)
		require.Equal(t, -32002, answer.Error.Code)
		require.Contains(t, string(answer.Error.Data), `"sessionId":"nope"`)
	})
}

// Where the store cannot be read, a session is neither saved nor unknown.
func TestStatusOfUnreadableStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		file(t, root, "stored", "A")
		e := agentOn(t, f, root)
		links := filepath.Join(filepath.Dir(root), store.LinksName)
		unreadable(t, links)
		answer := e.call("session/status", `{"sessionId":"stored"}`)
		require.NotNil(t, answer.Error)
		require.Equal(t, -32603, answer.Error.Code)
		require.Contains(t, answer.Error.Message, links)
	})
}
