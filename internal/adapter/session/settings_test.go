package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
)

// TestSettings: a setting has all that its row must have. It is as the user has set it when another process loads the session, when the editor
// loads it, in a copy, and in another agent.
func TestSettings(t *testing.T) {
	page := func(name string) string {
		text, err := os.ReadFile("../../../docs/" + name)
		require.NoError(t, err)
		return string(text)
	}
	features, wire := page("features.md"), page("dev/protocol.md")
	for patch, i := reflect.TypeFor[stream.SettingsPatch](), 0; i < patch.NumField(); i++ {
		name, _, _ := strings.Cut(patch.Field(i).Tag.Get("json"), ",")
		require.True(t, name == "-" || strings.Contains(wire, "`"+name+"`"), "%s is not in docs/dev/protocol.md", name)
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
		set := make(map[string]string) // each to another value that is offered
		for _, s := range options.Settings() {
			now := values(e.session).Options[s.ID]
			var offered []string
			e.inside(func(session *session.Session) {
				option, _ := session.Option(s.ID)
				require.NotNil(t, option, "%s is not offered: stream.Settings must decode and merge it, and fakedroid report it", s.ID)
				for _, v := range slices.Backward(option.Options) { // the last model has several efforts
					offered = append(offered, v.Value)
				}
			})
			value := "false"
			if !s.Switch {
				other := slices.IndexFunc(offered, func(v string) bool { return v != now })
				require.GreaterOrEqual(t, other, 0, "%s has no other value than %q", s.ID, now)
				value = offered[other]
			}
			var missing []string
			for what, has := range map[string]bool{
				"Called":           s.Called != "",
				"Stored":           s.Stored != 0,
				"Scope":            s.Scope != 0,
				"Summary and Hint": s.Command == "" || s.Summary != "" && s.Hint != "",
				"docs/features.md": s.Command == "" || strings.Contains(features, "`/"+s.Command+"`"),
				"a value, decoded and merged by stream.Settings, and reported by fakedroid": now != "" && now != value || s.ID == options.SpecEffort,
			} {
				if !has {
					missing = append(missing, what)
				}
			}
			require.Empty(t, missing, s.ID)
			raw := strconv.Quote(value)
			if s.Switch {
				raw = value
			}
			require.Nil(t, e.setRaw(s.ID, `"value":`+raw).Error, s.ID)
			set[s.ID] = value
		}
		require.Equal(t, set, values(e.session).Options)
		require.Equal(t, "end_turn", e.run("one"))

		e.inside(func(s *session.Session) { s.ReplaceDroid() })
		require.Equal(t, "end_turn", e.run("two"))
		require.Equal(t, set, values(e.session).Options, "in another process")
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		require.Equal(t, set, values(e.session).Options, "after a load")
		forked := e.sessionOf(e.call("session/fork", sessionParamsOf(e.session)))
		require.Equal(t, set, values(forked).Options, "in a copy")
		id := e.session
		e.close()
		file(t, root, id, "")
		e = begun()
		require.Nil(t, e.call("session/load", sessionParamsOf(id)).Error)
		require.Equal(t, set, values(id).Options, "in another agent")
	})
}
