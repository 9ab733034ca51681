package adapter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/fakedroid"
	"droid-acp/internal/store"
)

// A client that declares session.compaction: it is shown the summary that the
// conversation became, and why there is none.
func TestCompactionTellsSummaryAndError(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		sessions, refused := new(fakedroid.Sessions), ""
		compact := fakedroid.WithAnswer("droid.compact_session", func(map[string]any) (any, string) {
			if refused != "" {
				return nil, refused
			}
			id := sessions.Add("/workspace")
			require.NoError(t, os.WriteFile(filepath.Join(root, id+".jsonl"),
				[]byte(`{"type":"session_start","id":"x"}`+"\n"+`{"type":"compaction_state","summaryText":"They said hello."}`+"\n"), 0o600))
			return fakedroid.Fields{"newSessionId": id, "removedCount": 4}, ""
		})
		e := open(t, func(int) (*droid.Client, error) {
			return fakeDroid(says("hi"), fakedroid.WithSessions(sessions), compact), nil
		})
		e.agent.cfg.Store = store.New(root, zap.NewNop())
		require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":{"session":{"compaction":{}}}}`).Error)
		e.beginSession()
		require.Equal(t, "end_turn", e.run("hello"))

		last := func() (u struct {
			CompactionID, Status, Error string
			Summary                     []struct{ Type, Text string }
		}) {
			require.NoError(t, json.Unmarshal(e.lastUpdate("compaction_update"), &u))
			return u
		}
		require.Equal(t, "end_turn", e.run("/compact"))
		done := last()
		require.Equal(t, "completed", done.Status)
		require.Len(t, done.Summary, 1)
		require.Equal(t, "They said hello.", done.Summary[0].Text)
		require.Empty(t, done.Error)

		refused = "No access token available"
		require.Equal(t, "end_turn", e.run("/compact"))
		failed := last()
		require.Equal(t, "failed", failed.Status)
		require.NotEqual(t, done.CompactionID, failed.CompactionID)
		require.Contains(t, failed.Error, "needs a Factory login to compact")
		require.Empty(t, failed.Summary)
	})
}
