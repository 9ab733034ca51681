package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// listed are the rows of session/list with a filter, each as "ID archived".
func (e *editor) listed(filter string) (rows []string) {
	e.t.Helper()
	answer := e.call("session/list", filter)
	require.Nil(e.t, answer.Error)
	var result struct {
		Sessions []struct {
			SessionID string
			Archived  *bool
		}
	}
	require.NoError(e.t, json.Unmarshal(answer.Result, &result))
	for _, s := range result.Sessions {
		require.NotNil(e.t, s.Archived, "each row has it")
		rows = append(rows, fmt.Sprint(s.SessionID, " ", *s.Archived))
	}
	return rows
}

const (
	onlyArchived = `{"archived":"only"}`
	withArchived = `{"archived":"include"}`
)

// Archiving is of the thread, by any of its ids, and lasts over a restart; a load does not change it, and a deletion ends it.
func TestArchiveAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		ids := movedTwice(t, f, root)
		for _, id := range ids {
			file(t, root, id, "A")
		}
		file(t, root, "other", "B")
		e := agentOn(t, f, root)
		archived, plain := ids[0]+" true", ids[0]+" false"
		for _, id := range ids {
			for range 2 { // doing it again succeeds
				require.Nil(t, e.call("session/archive", sessionParamsOf(id)).Error)
				require.Equal(t, []string{archived}, e.listed(onlyArchived))
				require.Equal(t, []string{"other false"}, e.listed(`{}`))
				require.Equal(t, []string{"other false"}, e.listed(`{"archived":null,"cursor":null,"cwd":null}`))
				require.Equal(t, []string{"other false"}, e.listed(`{"archived":"exclude"}`))
				require.ElementsMatch(t, []string{archived, "other false"}, e.listed(withArchived))
			}
			require.Nil(t, e.call("session/unarchive", sessionParamsOf(ids[2])).Error)
			require.ElementsMatch(t, []string{plain, "other false"}, e.listed(`{}`))
		}
		require.Nil(t, e.call("session/archive", sessionParamsOf(ids[1])).Error)
		e.close()

		e = agentOn(t, f, root)
		e.session = ids[0]
		require.Nil(t, e.call("session/load", sessionParamsOf(ids[0])).Error)
		require.Equal(t, "end_turn", e.run("more"))
		require.Equal(t, []string{archived}, e.listed(onlyArchived), "a load does not change it")
		require.Nil(t, e.call("session/unarchive", sessionParamsOf(ids[0])).Error)
		require.Equal(t, "end_turn", e.run("more"), "nor does a change of it end the session")
		require.Nil(t, e.call("session/archive", sessionParamsOf(ids[0])).Error)
		require.Nil(t, e.call("session/delete", sessionParamsOf(ids[0])).Error)
		require.Equal(t, []string{"other false"}, e.listed(withArchived), "a deleted one does not come back")
		for _, filter := range []string{`"all"`, `true`, `"Only"`} {
			answer := e.call("session/list", `{"archived":`+filter+`}`)
			require.NotNil(t, answer.Error, filter)
			require.Equal(t, -32602, answer.Error.Code)
		}
	})
}

// An open session is cancelled and closed, by whichever id. A prompt that comes later finds none.
func TestArchiveASessionThatWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := beginLeaving(t, "{}")
		root := filepath.Join(t.TempDir(), "sessions")
		l.agent.Config.Store = store.New(root, zap.NewNop())
		file(t, root, l.session, "A")
		turn, queued := l.prompt("wait"), l.prompt("hello")
		l.settle()
		archives, late := l.request("session/archive", sessionParamsOf(l.session)), l.prompt("late")
		require.Equal(t, "cancelled", ended(l.await(turn)))
		require.Equal(t, "cancelled", ended(l.await(queued)))
		require.Nil(t, l.await(archives).Error)
		require.Equal(t, -32002, l.await(late).Error.Code)
		time.Sleep(time.Minute)
		require.False(t, l.Runs())
		answer := l.call("session/status", sessionParamsOf(l.session))
		require.JSONEq(t, `{"status":"saved"}`, string(answer.Result))
		require.Equal(t, []string{l.session + " true"}, l.listed(onlyArchived))
	})
}

// Where the list of archived sessions cannot be read, archiving fails and ends nothing, and the error names the file.
func TestArchiveThatEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := beginLeaving(t, "{}")
		root := filepath.Join(t.TempDir(), "sessions")
		l.agent.Config.Store = store.New(root, zap.NewNop())
		file(t, root, l.session, "A")
		list := filepath.Join(filepath.Dir(root), "droid-acp-archived.json")
		require.NoError(t, os.WriteFile(list, []byte("{"), 0o600))
		turn := l.prompt("wait")
		l.settle()
		for _, method := range []string{"session/archive", "session/unarchive", "session/list"} {
			answer := l.call(method, sessionParamsOf(l.session))
			require.NotNil(t, answer.Error, method)
			require.Contains(t, answer.Error.Message+string(answer.Error.Data), list)
		}
		require.True(t, l.Runs())
		require.Equal(t, "end_turn", ended(l.await(turn)))
	})
}
