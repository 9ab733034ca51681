package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// hostileIDs do not name a single file in droid's store.
var hostileIDs = []string{
	"..", ".", "../outside", "../../../../../etc/passwd", "a/b", "/etc/passwd", `a\b`, `..\outside`, "a\x00b", "a\nb", "a\x1b[2J", " ", "-rf", "~",
	"../x.settings", "C:", `C:\x`, "C:x", "x:stream", "x::$DATA", `\\host\share`, "CON", "nul.x", "x.", "%2e%2e%2fx", strings.Repeat("a", 5000),
}

// methodsWithSession are the params of all methods that name a session.
var methodsWithSession = map[string]string{
	"session/load":               `{"sessionId":%s,"cwd":"/workspace","mcpServers":[]}`,
	"session/resume":             `{"sessionId":%s,"cwd":"/workspace","mcpServers":[]}`,
	"session/fork":               `{"sessionId":%s,"cwd":"/workspace","mcpServers":[]}`,
	"session/delete":             `{"sessionId":%s}`,
	"session/close":              `{"sessionId":%s}`,
	"session/prompt":             `{"sessionId":%s,"prompt":[{"type":"text","text":"hi"}]}`,
	"session/cancel":             `{"sessionId":%s}`,
	"session/set_mode":           `{"sessionId":%s,"modeId":"spec"}`,
	"session/set_config_option":  `{"sessionId":%s,"configId":"mode","value":"spec"}`,
	"session/set_model":          `{"sessionId":%s,"modelId":"x"}`,
	"session/set_title":          `{"sessionId":%s,"title":"x"}`,
	"session/archive":            `{"sessionId":%s}`,
	"session/unarchive":          `{"sessionId":%s}`,
	"session/status":             `{"sessionId":%s}`,
	"_droid/state":               `{"sessionId":%s}`,
	"_droid/stats":               `{"sessionId":%s}`,
	"_droid/messages":            `{"sessionId":%s}`,
	"_droid/last_assistant_text": `{"sessionId":%s}`,
	"_droid/rewind_points":       `{"sessionId":%s}`,
	"_droid/rewind":              `{"sessionId":%s,"messageId":"m"}`,
	"_droid/commands":            `{"sessionId":%s}`,
	"_droid/models":              `{"sessionId":%s}`,
	"_droid/set_auto_compaction": `{"sessionId":%s,"enabled":true}`,
	"_droid/search":              `{"sessionId":%s,"query":"x"}`,
	"_droid/export":              `{"sessionId":%s,"path":"out.html"}`,
}

// storeEditor is an editor whose agent has a separate store and whose droids record what they receive.
func storeEditor(t *testing.T) (e *editor, told *bytes.Buffer) {
	t.Helper()
	told = new(bytes.Buffer)
	e = open(t, func(int) (*droid.Client, error) {
		return tappedDroid(func(line []byte) { told.Write(line) }, says("hi")), nil
	})
	e.agent.Config.Store = store.New(t.TempDir(), nil)
	require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
	return e, told
}

// Every method refuses IDs that cannot name one file, and droid receives none of them. A well-formed ID that no session has is an unknown
// session, which counts as deleted.
func TestHostileAndUnknownSessionIDs(t *testing.T) {
	for method, params := range methodsWithSession {
		t.Run(method, inBubble(func(t *testing.T) {
			e, told := storeEditor(t)
			for _, id := range append(hostileIDs, "") {
				quoted, err := json.Marshal(id)
				require.NoError(t, err)
				answer := e.call(method, fmt.Sprintf(params, quoted))
				require.NotNil(t, answer.Error, "%.40q", id)
				require.Equal(t, -32602, answer.Error.Code, "%.40q: %s", id, answer.Error.Message)
				require.Less(t, len(answer.Error.Message)+len(answer.Error.Data), 1000)
			}
			synctest.Wait()
			require.Empty(t, told.String(), "droid hears nothing")
			for _, id := range []string{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "nope", "a.settings.json", "my_own.1"} {
				answer := e.call(method, fmt.Sprintf(params, `"`+id+`"`))
				if method == "session/delete" {
					require.Nil(t, answer.Error, "deleted already")
					continue
				}
				require.NotNil(t, answer.Error)
				require.Equal(t, -32002, answer.Error.Code, answer.Error.Message)
			}
		}))
	}
}

// A droid that names a session by a hostile id does not get the session open, and
// the thread that it copies, compacts or rewinds stays where it is.
func TestHostileIDsOfDroid(t *testing.T) {
	const hostile = "../../../outside"
	named := func(method string) fakedroid.Option {
		return fakedroid.WithAnswer(method, func(map[string]any) (any, string) {
			return fakedroid.Fields{"newSessionId": hostile, "sessionId": hostile, "removedCount": 1, "session": fakedroid.Fields{"messages": []any{}}}, ""
		})
	}
	for _, method := range []string{"new", "load", "resume", "fork"} {
		t.Run("session/"+method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := connect(t, playing(says("hi"), named("droid.initialize_session"), named("droid.load_session")))
				answer := e.call("session/"+method, sessionParamsOf("6ba7b810-9dad-11d1-80b4-00c04fd430c8"))
				require.NotNil(t, answer.Error)
				require.Contains(t, answer.Error.Message, "which is not valid")
			})
		})
	}
	for command, method := range map[string]string{"/fork": "droid.fork_session", "/compact": "droid.compact_session", "/rewind 1": "droid.execute_rewind"} {
		t.Run(command, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told bytes.Buffer
				info := answering("get_rewind_info", fakedroid.Fields{})
				e := begin(t, func(int) (*droid.Client, error) {
					return tappedDroid(func(line []byte) { told.Write(line) }, says("hi"), named(method), info), nil
				})
				require.Equal(t, "end_turn", e.run("hello"))
				require.Equal(t, "end_turn", e.run(command))
				require.Contains(t, strings.Join(e.updates(), "\n"), "which is not valid")
				require.NotContains(t, told.String(), "outside")
				e.inside(func(s *session.Session) { require.Equal(t, e.session, s.State().DroidSessionID) })
				if command == "/fork" {
					require.NotNil(t, e.call("session/fork", sessionParamsOf(e.session)).Error)
				}
				require.Equal(t, "end_turn", e.run("go on"))
			})
		})
	}
	t.Run("a notification", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
				if err := d.Send(fakedroid.Fields{
					"jsonrpc": "2.0", "factoryApiVersion": "1.0.0", "factoryProtocolVersion": "1.220.0", "type": "notification", "method": "droid.session_notification",
					"params": fakedroid.Fields{"sessionId": hostile, "notification": fakedroid.Fields{"type": "session_title_updated", "title": "x"}},
				}); err != nil {
					return err
				}
				return d.Say("", "hi")
			})))
			require.Equal(t, "end_turn", e.run("hello"))
			e.inside(func(s *session.Session) { require.Equal(t, e.session, s.State().DroidSessionID) })
		})
	})
}
