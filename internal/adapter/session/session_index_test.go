package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

const asIndexed = `{"_meta":{"jetbrains":{"air":{"version":1,"capabilities":["sessionIndex"]}}}}`

// indexed is an editor with a session index. Its store has its session, and "b" and "c".
type indexed struct {
	*editor
	root string
	seen int // lines that changes has looked at
}

func openIndexed(t *testing.T, capabilities string, configure ...func(*adapter.Config)) *indexed {
	t.Helper()
	e := &indexed{root: filepath.Join(t.TempDir(), "sessions")}
	f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), toolFor("touch", touch))
	f.options = append(f.options, fakedroid.WithAnswer("droid.rename_session", func(p map[string]any) (any, string) {
		file(t, e.root, e.session, p["title"].(string))
		return fakedroid.Fields{"success": true}, ""
	}))
	e.editor = open(t, f.start, configure...)
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,"clientInfo":{"name":"air","version":"1"}}`).Error)
	e.beginSession()
	e.agent.Config.Store = store.New(e.root, zap.NewNop())
	for _, id := range []string{e.session, "b", "c"} {
		file(t, e.root, id, "Title of "+id)
	}
	return e
}

// mustCall returns the result of a call.
func (e *indexed) mustCall(method, params string) json.RawMessage {
	e.t.Helper()
	answer := e.call(method, params)
	require.Nil(e.t, answer.Error, "%s %s: %v", method, params, ended(answer))
	return answer.Result
}

// rows calls a method and returns its rows as "ID archived state", with a mark for what else is in the _meta.
func (e *indexed) rows(method, params string) (rows []string) {
	e.t.Helper()
	var result protocol.ListResult
	require.NoError(e.t, json.Unmarshal(e.mustCall(method, params), &result))
	return rowsOf(result.Sessions)
}

func rowsOf(sessions []protocol.ListedSession) (rows []string) {
	for _, s := range sessions {
		if s.Meta == nil {
			rows = append(rows, s.SessionID)
			continue
		}
		air := s.Meta.JetBrains.Air
		row := fmt.Sprint(s.SessionID, " ", air.Archived, " ", air.State)
		if air.TurnEndedAt != "" {
			row += " rested"
		}
		if air.Model != "" {
			row += " by a model"
		}
		rows = append(rows, strings.TrimSpace(row))
	}
	return rows
}

func withList(list string) string {
	return `{"cwd":"/workspace","_meta":{"jetbrains":{"air":{"list":` + list + `}}}}`
}

// A client that declares the session index has its params of the list, its fields in the rows, and its methods. Others have nothing of it.
func TestSessionIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openIndexed(t, asIndexed)
		own := e.session + " false idle by a model"
		all := []string{own, "b false", "c false"}
		require.ElementsMatch(t, all, e.rows("session/list", `{"cwd":"/workspace"}`))
		require.Equal(t, "end_turn", e.run("hello"))
		own = e.session + " false idle rested by a model"
		all[0] = own

		for range 2 {
			require.JSONEq(t, `{}`, string(e.mustCall("_session/archive", `{"sessionId":"b"}`)))
		}
		for list, want := range map[string][]string{
			`{}`: {own, "c false"}, `{"archived":null,"limit":null,"includeWorktrees":null}`: {own, "c false"}, `{"archived":"unarchived","includeWorktrees":true}`: {own, "c false"},
			`{"archived":"archived"}`: {"b true"}, `{"archived":"all","limit":1000}`: {own, "b true", "c false"},
		} {
			require.ElementsMatch(t, want, e.rows("session/list", withList(list)), list)
		}
		require.Len(t, e.rows("session/list", withList(`{"archived":"all","limit":2}`)), 2)
		for _, list := range []string{`{"limit":0}`, `{"limit":"2"}`, `{"limit":1.5}`, `{"archived":true}`, `{"archived":"only"}`, `{"includeWorktrees":1}`} {
			answer := e.call("session/list", withList(list))
			require.NotNil(t, answer.Error, list)
			require.Equal(t, -32602, answer.Error.Code, list)
		}
		require.Equal(t, []string{"c false", "b true", own}, e.rows("_session/batch_get", `{"sessionIds":["c","none","b","`+e.session+`"]}`))
		require.Empty(t, e.rows("_session/batch_get", `{"sessionIds":[]}`))
		require.JSONEq(t, `{"title":"Mine"}`, string(e.mustCall("_session/rename", `{"sessionId":"`+e.session+`","title":" Mine "}`)))
		require.JSONEq(t, `{}`, string(e.mustCall("_session/unarchive", `{"sessionId":"b"}`)))
		require.ElementsMatch(t, []string{own, "b false", "c false"}, e.rows("session/list", `{"cwd":"/workspace"}`))
		for method, params := range map[string]string{
			"_session/archive": `{"sessionId":"none"}`, "_session/unarchive": `{"sessionId":"none"}`, "_session/rename": `{"sessionId":"none","title":"x"}`,
		} {
			require.Equal(t, -32002, e.call(method, params).Error.Code, method)
		}
		require.Equal(t, -32602, e.call("_session/batch_get", `{"sessionIds":[""]}`).Error.Code)
		require.Equal(t, -32602, e.call("_session/rename", `{"sessionId":"b","title":" "}`).Error.Code)
	})
	for _, capabilities := range []string{`{}`, asAir} {
		synctest.Test(t, func(t *testing.T) {
			e := openIndexed(t, capabilities)
			require.ElementsMatch(t, []string{e.session, "b", "c"}, e.rows("session/list", withList(`{"limit":"x"}`)))
			for _, method := range []string{"_session/archive", "_session/unarchive", "_session/rename", "_session/batch_get", "_session/list/subscribe", "_session/list/unsubscribe"} {
				answer := e.call(method, `{"sessionId":"b","title":"x","sessionIds":["b"],"cwd":"/workspace"}`)
				require.NotNil(t, answer.Error, method)
				require.Equal(t, -32601, answer.Error.Code, method)
			}
			require.Equal(t, "end_turn", e.run("hello"))
			for _, m := range e.received() {
				require.NotContains(t, m.Raw, "sessionIndex")
			}
		})
	}
}

// The answer to initialize names what of the index works. A subscription does not for a client of a server, which has several agents.
func TestSessionIndexIsOffered(t *testing.T) {
	for capabilities, want := range map[string]string{
		asIndexed: `["sessionIndex","sessionBatchGet","sessionArchive","sessionRename","sessionListSubscribe"]`,
		strings.Replace(asIndexed, `"_meta":{`, `"_meta":{"droid-acp":{"activity":true},`, 1): `["sessionIndex","sessionBatchGet","sessionArchive","sessionRename"]`,
	} {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, playing(says("hi")))
			e.agent.Config.Store = store.New(t.TempDir(), zap.NewNop())
			answer := e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
			require.Contains(t, string(answer.Result), `"jetbrains":{"air":{"capabilities":`+want+`,"version":1}}`)
			subscribed := e.call("_session/list/subscribe", `{"cwd":"/workspace"}`)
			require.Equal(t, strings.Contains(want, "Subscribe"), subscribed.Error == nil)
		})
	}
}

// changes are the notifications of changes since the last call, as "ID: rows - removed".
func (e *indexed) changes() (all []string) {
	e.t.Helper()
	lines := e.received()
	for _, m := range lines[e.seen:] {
		if m.Method != protocol.AirListChanges {
			continue
		}
		var change protocol.AirListChange
		require.NoError(e.t, json.Unmarshal(m.Params, &change))
		require.NotNil(e.t, change.Sessions)
		require.NotNil(e.t, change.Removed)
		all = append(all, strings.TrimSpace(fmt.Sprint(strings.Join(rowsOf(change.Sessions), ", "), " - ", strings.Join(change.Removed, " "))))
	}
	e.seen = len(lines)
	return all
}

// subscribe subscribes to a directory and returns the subscription's id.
func (e *indexed) subscribe(cwd string) string {
	e.t.Helper()
	answer := e.call("_session/list/subscribe", fmt.Sprintf(`{"cwd":%q}`, cwd))
	require.Nil(e.t, answer.Error)
	var result protocol.AirListSubscription
	require.NoError(e.t, json.Unmarshal(answer.Result, &result))
	require.NotEmpty(e.t, result.SubscriptionID)
	return result.SubscriptionID
}

// A subscription sends the rows that differ from those before, those of other processes too, at most once a second, and until it ends.
func TestListSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openIndexed(t, asIndexed)
		id := e.subscribe("/workspace")
		other := e.subscribe(t.TempDir())
		time.Sleep(time.Minute)
		require.Empty(t, e.changes(), "nothing has changed")

		var asked json.RawMessage
		e.onAsk = func(id, _ json.RawMessage) bool { asked = id; return true }
		working := e.prompt("wait")
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{e.session + " false running by a model -"}, e.changes())
		require.Equal(t, "end_turn", ended(e.await(working)))
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{e.session + " false idle rested by a model -"}, e.changes())
		working = e.prompt("touch")
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{e.session + " false requires_action rested by a model -"}, e.changes())
		e.answer(asked, lastParams(e.editor, "session/request_permission"), func(p permission) string { return p.Option("allow_once") })
		require.Equal(t, "end_turn", ended(e.await(working)))
		time.Sleep(2 * time.Second)
		require.Len(t, e.changes(), 1)

		require.Nil(t, e.call("_session/archive", `{"sessionId":"b"}`).Error)
		require.Nil(t, e.call("session/delete", `{"sessionId":"c"}`).Error)
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"b true - c"}, e.changes())
		file(t, e.root, "d", "Of another process")
		require.NoError(t, os.Chtimes(filepath.Join(e.root, "-workspace", "b.jsonl"), time.Now(), time.Now()))
		time.Sleep(11 * time.Second)
		require.Equal(t, []string{"d false -"}, e.changes(), "updatedAt alone is no change")

		began := time.Now()
		for time.Since(began) < 10*time.Second {
			require.Nil(t, e.call("_session/archive", `{"sessionId":"d"}`).Error)
			time.Sleep(50 * time.Millisecond)
			require.Nil(t, e.call("_session/unarchive", `{"sessionId":"d"}`).Error)
			time.Sleep(60 * time.Millisecond)
		}
		require.LessOrEqual(t, len(e.changes()), 11)
		time.Sleep(time.Minute)
		e.changes()

		for range 2 {
			require.JSONEq(t, `{}`, string(e.mustCall("_session/list/unsubscribe", `{"subscriptionId":"`+id+`"}`)))
		}
		require.Nil(t, e.call("_session/archive", `{"sessionId":"d"}`).Error)
		time.Sleep(time.Minute)
		require.Empty(t, e.changes())
		require.Nil(t, e.call("_session/list/unsubscribe", `{"subscriptionId":"`+other+`"}`).Error)
	})
}

// lastParams are the params of the last request or notification with a method.
func lastParams(e *editor, method string) (params json.RawMessage) {
	for _, m := range e.received() {
		if m.Method == method {
			params = m.Params
		}
	}
	return params
}

// While the client does not read, changes are not collected for it; then it gets them at once.
func TestListSubscriptionOfSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openIndexed(t, asIndexed, func(c *adapter.Config) { c.Unread = 1 })
		e.subscribe("/workspace")
		e.out.pause()
		for n := range 20 {
			file(t, e.root, fmt.Sprint("later", n), "Of another process")
			time.Sleep(12 * time.Second)
		}
		e.out.resume()
		time.Sleep(12 * time.Second)
		changes := e.changes()
		require.LessOrEqual(t, len(changes), 4)
		require.Equal(t, 20, strings.Count(strings.Join(changes, "\n"), "later"))
	})
}

// There are at most 128 subscriptions, each of an absolute directory.
func TestTooManySubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openIndexed(t, asIndexed)
		for _, params := range []string{`{}`, `{"cwd":""}`, `{"cwd":7}`, `{"cwd":"workspace"}`} {
			require.Equal(t, -32602, e.call("_session/list/subscribe", params).Error.Code, params)
		}
		var last string
		for range 128 {
			last = e.subscribe("/workspace")
		}
		answer := e.call("_session/list/subscribe", `{"cwd":"/workspace"}`)
		require.Equal(t, -32602, answer.Error.Code)
		require.Contains(t, allOf(answer.Error), "128")
		require.Nil(t, e.call("_session/list/unsubscribe", `{"subscriptionId":"`+last+`"}`).Error)
		e.subscribe("/workspace")
	})
}
