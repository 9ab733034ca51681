package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// TestSettings: a setting has all that its row must have, and a row in everything (TestPairs). It is as the user has set it when another
// process loads the session, when the editor loads it, in a copy, and in another agent.
func TestSettings(t *testing.T) {
	page, err := os.ReadFile("../../../docs/features.md")
	require.NoError(t, err)
	others := make(map[string]string)
	for _, a := range everything() {
		if a.sets != "" {
			others[a.sets] = a.other
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f, root := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats()), filepath.Join(t.TempDir(), "sessions")
		begun := func() *editor {
			e := open(t, f.start)
			e.agent.Config.Store = store.New(root, zap.NewNop())
			require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+knowsSwitches+`}`).Error)
			return e
		}
		e := begun()
		e.beginSession()
		values := func(session string) (state struct{ Options map[string]string }) {
			require.NoError(t, json.Unmarshal(e.call("_droid/state", fmt.Sprintf(`{"sessionId":%q}`, session)).Result, &state))
			return state
		}
		for _, s := range options.Settings() {
			var missing []string
			for what, has := range map[string]bool{
				"Called":                            s.Called != "",
				"Stored":                            s.Stored != 0,
				"Scope":                             s.Scope != 0,
				"Summary and Hint":                  s.Command == "" || s.Summary != "" && s.Hint != "",
				"docs/features.md":                  s.Command == "" || strings.Contains(string(page), "`/"+s.Command+"`"),
				"a row in everything, with a value": others[s.ID] != "",
				"another value than now":            others[s.ID] != values(e.session).Options[s.ID],
				"a value, decoded and merged by stream.Settings, and reported by fakedroid": values(e.session).Options[s.ID] != "" || s.ID == options.SpecEffort,
			} {
				if !has {
					missing = append(missing, what)
				}
			}
			require.Empty(t, missing, s.ID)
			value := `"value":` + others[s.ID]
			if s.ID != options.AutoCompaction {
				value = `"value":"` + others[s.ID] + `"`
			}
			require.Nil(t, e.setRaw(s.ID, value).Error, s.ID)
		}
		require.Equal(t, others, values(e.session).Options)
		require.Equal(t, "end_turn", e.run("one"))

		e.inside(func(s *session.Session) { s.ReplaceDroid() })
		require.Equal(t, "end_turn", e.run("two"))
		require.Equal(t, others, values(e.session).Options, "in another process")
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		require.Equal(t, others, values(e.session).Options, "after a load")
		forked := e.sessionOf(e.call("session/fork", sessionParamsOf(e.session)))
		require.Equal(t, others, values(forked).Options, "in a copy")
		id := e.session
		e.close()
		file(t, root, id, "")
		e = begun()
		require.Nil(t, e.call("session/load", sessionParamsOf(id)).Error)
		require.Equal(t, others, values(id).Options, "in another agent")
	})
}
