package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// Every extension method of docs/programs.md answers with the result that its row has.
func TestExtensions(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/programs.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, name := range regexp.MustCompile("_droid/[a-z_]+").FindAllString(string(doc), -1) {
		documented[name] = true
	}
	shapes := documentedShapes(string(doc))
	dir := t.TempDir()
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(says("hi there"), v))
		require.Equal(t, "end_turn", e.run("hello"))
		synctest.Wait()
		want := map[string]string{
			"_droid/state":               `"isRunning":false`,
			"_droid/stats":               `"tokens":{`,
			"_droid/messages":            `"role":"assistant"`,
			"_droid/last_assistant_text": `{"text":"hi there"}`,
			"_droid/rewind_points":       `"text":"hello"`,
			"_droid/rewind":              `"files":[]`,
			"_droid/commands":            `"name":"export"`,
			"_droid/models":              `"currentModelId":"custom:Fake-0"`,
			"_droid/export":              `.html"`,
			"_droid/report":              `.txt"`,
			"_droid/search":              `[]`,
		}
		e.agent.Config.Store = store.New(t.TempDir(), nil)
		e.agent.Config.Search = func(context.Context, string, string) ([]droid.Found, error) { return nil, nil }
		file := dir + "/" + strings.ReplaceAll(t.Name(), "/", "-") + ".html"
		for name := range documented {
			path := file
			if name == "_droid/report" {
				path = strings.TrimSuffix(file, "html") + "txt"
			}
			answer := e.call(name, fmt.Sprintf(`{"sessionId":%q,"enabled":false,"path":%q,"messageId":%q,"dryRun":true,"query":"x"}`, e.session, path, e.pointOf("hello")))
			if name == "_droid/set_auto_compaction" && strings.Contains(t.Name(), string(fakedroid.V099)) { // ignores it
				require.NotNil(t, answer.Error)
				require.Contains(t, answer.Error.Message, "did not change automatic compaction")
				require.Contains(t, answer.Error.Message, "0.215 and newer")
				continue
			}
			require.Nil(t, answer.Error, name)
			require.Contains(t, string(answer.Result), want[name], name)
			require.Equal(t, shapes[name], keys(t, answer.Result), name)
		}
		require.Equal(t, -32602, e.call("_droid/set_auto_compaction", fmt.Sprintf(`{"sessionId":%q,"enabled":"no"}`, e.session)).Error.Code)
		require.Equal(t, -32602, e.call("_droid/set_auto_compaction", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error.Code)
		require.Equal(t, -32602, e.call("_droid/export", `{"path":"x"}`).Error.Code)
		require.Equal(t, -32601, e.call("_droid/no_such", `{}`).Error.Code)
		require.Equal(t, -32002, e.call("_droid/state", `{"sessionId":"x"}`).Error.Code)
	})
}

// documentedShapes are the fields of each method's result that the documentation
// names, sorted.
func documentedShapes(doc string) map[string][]string {
	shapes := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(_droid/[a-z_]+)` \\|[^|]*\\| `{([^`]*)}`").FindAllStringSubmatch(doc, -1) {
		fields := regexp.MustCompile(`: *[\[{][^}]*}\]?[^,]*`).ReplaceAllString(row[2], "")
		shapes[row[1]] = slices.Sorted(slices.Values(strings.Split(fields, ", ")))
	}
	return shapes
}

// keys are the names of an object's fields, sorted.
func keys(t *testing.T, object json.RawMessage) []string {
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(object, &fields))
	return slices.Sorted(maps.Keys(fields))
}

// A loaded session has the title that droid reports for it, which the editor is sent once. One that the user has given it stays.
func TestTitleOfALoadedSession(t *testing.T) {
	for _, method := range []string{"session/load", "session/resume"} {
		root := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			e := openTitles(t, root, says("hi"))
			e.session = e.sessions.Add("/workspace")
			title := func() string {
				var state struct{ Title string }
				require.NoError(t, json.Unmarshal(e.call("_droid/state", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Result, &state))
				return state.Title
			}
			sent := func(title string) (n int) {
				for _, m := range e.received() {
					if strings.Contains(string(m.Params), `"session_info_update"`) && strings.Contains(string(m.Params), title) {
						n++
					}
				}
				return n
			}
			require.Nil(t, e.call(method, sessionParamsOf(e.session)).Error)
			require.Equal(t, "A fake session", title(), method)
			want := map[string]int{"session/load": 1}[method] // an editor that resumes a session knows its title
			require.Equal(t, want, sent("A fake session"), method)

			require.Nil(t, e.setTitle(e.session, "My own title").Error)
			require.Nil(t, e.call(method, sessionParamsOf(e.session)).Error)
			require.Equal(t, "My own title", title(), method)
			require.Equal(t, want, sent("A fake session"), method)
			require.Equal(t, 1+want, sent("My own title"), method)
		})
	}
}
