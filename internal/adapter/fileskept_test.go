//go:build linux

package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/fakedroid"
	"droid-acp/internal/store"
)

// An edit that an earlier agent left, and that cannot be completed, is told once, wherever files live, and
// is completed when droid reads the file again.
func TestEditThatStays(t *testing.T) {
	for _, capabilities := range []string{bothMethods, `{}`} {
		bothDroids(t, func(t *testing.T, v fakedroid.Version) {
			r := filesAgent(t, v)
			r.agent.cfg.Store = store.New(t.TempDir(), zap.NewNop())
			path := r.has("a.txt", "old\n")
			hash := func(text string) string {
				s := sha256.Sum256([]byte(text))
				return hex.EncodeToString(s[:])
			}
			id := strings.Repeat("0a", 16)
			head, err := json.Marshal(map[string]any{"path": path, "resolved": path, "temp": ".droid-acp-" + id + ".tmp", "old": hash("old\n"), "sum": hash("new\n"), "mode": 0o644})
			require.NoError(t, err)
			journal := filepath.Join(r.base, "journal")
			require.NoError(t, os.Mkdir(journal, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(journal, id+".edit"), append(append(head, '\n'), "new\n"...), 0o600))
			require.NoError(t, os.Rename(path, path+".away"))
			r.greets(capabilities, "zed")
			r.session = r.newSession()
			r.does()
			require.Equal(t, "end_turn", r.run("go"))
			require.Equal(t, 1, strings.Count(r.everything(), "could not be completed"))
			require.Contains(t, r.everything(), journal)
			require.Equal(t, "end_turn", r.run("go"))
			require.Equal(t, 1, strings.Count(r.everything(), "could not be completed"), "once")
			require.NoError(t, os.Rename(path+".away", path))
			if capabilities == bothMethods {
				r.does(readOf(path))
				require.Equal(t, "end_turn", r.run("go"))
				r.holds(path, "new\n")
				return
			}
			require.NoError(t, os.RemoveAll(journal))
		})
	}
}
