package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// searched is an editor whose droid finds these sessions for any query.
type searched struct {
	*editor
	root    string
	finds   string // droid's list of sessions as JSON
	queries []string
	hangs   bool
	fails   error
}

func openSearched(t *testing.T) *searched {
	f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
	s := &searched{root: filepath.Join(t.TempDir(), "sessions"), finds: "[]"}
	s.editor = open(t, f.start)
	s.agent.Config.Store = store.New(s.root, nil)
	s.agent.Config.Search = func(ctx context.Context, path, query string) (found []droid.Found, err error) {
		require.Equal(t, "/usr/bin/droid", path)
		s.queries = append(s.queries, query)
		if s.hangs {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		require.NoError(t, json.Unmarshal([]byte(s.finds), &found))
		return found, s.fails
	}
	require.Nil(t, s.call("initialize", `{"protocolVersion":1,`+asZed+`}`).Error)
	s.beginSession()
	return s
}

// foundIn is an entry of droid's list.
func foundIn(id, role, snippet string) string {
	text, _ := json.Marshal(snippet)
	return fmt.Sprintf(`{"sessionId":%q,"title":"of droid","jsonlPath":"/secret/path","hits":[{"kind":"message_text","messageRole":%q,"snippets":[%s]}]}`, id, role, text)
}

// search calls _droid/search and returns "ID: text" of each result.
func (s *searched) search(params string) (rows []string) {
	s.t.Helper()
	answer := s.call("_droid/search", params)
	require.Nil(s.t, answer.Error, params)
	require.NotContains(s.t, string(answer.Result), "secret")
	var result struct {
		Sessions []struct {
			SessionID, Title string
			Archived         bool
			Matches          []struct{ Text string }
		}
	}
	require.NoError(s.t, json.Unmarshal(answer.Result, &result))
	for _, one := range result.Sessions {
		row := one.SessionID + ":"
		for _, m := range one.Matches {
			row += " " + m.Text
		}
		rows = append(rows, row)
	}
	return rows
}

// Only listed sessions of the project are found: none that was deleted, none of a subagent and, unless requested, none of another project.
// Results in the sessions of a thread belong to the thread. The limit applies to the remaining results.
func TestSearchOfAProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openSearched(t)
		for _, id := range []string{"mine", "old", "new", "away"} {
			file(t, s.root, id, "Title of "+id)
		}
		other := t.TempDir()
		writeSession(t, s.root, "theirs", other)
		require.NoError(t, s.agent.Config.Store.Link(store.Link{From: "old", To: "new", Kind: store.LinkRewind, Time: time.Now()}))
		require.NoError(t, s.agent.Config.Store.SetArchived(true, "mine"))
		require.NoError(t, s.agent.Config.Store.Delete("away"))
		s.finds = "[" + strings.Join([]string{
			foundIn("away", "user", "deleted"), foundIn("sub", "user", "of a subagent"), foundIn("theirs", "user", "not yours"),
			foundIn("new", "assistant", "b"), foundIn("mine", "user", "a"), foundIn("old", "user", "c"),
		}, ",") + "]"
		in := s.session
		want := []string{"old: b c", "mine: a"}
		require.Equal(t, want, s.search(`{"query":" x ","cwd":"/workspace"}`))
		require.Equal(t, want, s.search(`{"query":"--x","sessionId":"`+in+`"}`))
		require.Equal(t, want[:1], s.search(`{"query":"x","cwd":"/workspace","limit":1}`))
		require.Equal(t, []string{"theirs: not yours"}, s.search(fmt.Sprintf(`{"query":"x","cwd":%q}`, other)))
		require.Equal(t, []string{"theirs: not yours", "old: b c", "mine: a"}, s.search(`{"query":"x","everywhere":true}`))
		require.Equal(t, []string{"x", "--x"}, s.queries[:2], "droid gets the text")
		for _, params := range []string{`{"query":"x"}`, `{"cwd":"/workspace"}`, `{"query":" ","cwd":"/workspace"}`, `{"query":"a\u0000b","cwd":"/workspace"}`, `{"query":"x","cwd":"w"}`, `{"query":"x","cwd":"/workspace","limit":-1}`, `{"query":"` + strings.Repeat("x", 1001) + `","cwd":"/workspace"}`} {
			answer := s.call("_droid/search", params)
			require.NotNil(t, answer.Error, params)
			require.Equal(t, -32602, answer.Error.Code, params)
		}

		before := len(s.updates())
		require.Equal(t, "end_turn", s.run("/search x y"))
		said := strings.Join(s.updates()[before:], "\n")
		require.Contains(t, said, "Searching")
		require.Contains(t, said, "Title of new, `old`")
		require.Contains(t, said, "(archived)")
		require.Contains(t, said, "droid: b")
		require.Contains(t, said, "you: c")
		require.NotContains(t, said, "not yours")
		require.Equal(t, "end_turn", s.run("/search all-projects x"))
		require.Contains(t, s.told(), "not yours")
		require.Equal(t, []string{"x y", "x"}, s.queries[len(s.queries)-2:])
		s.finds = "[]"
		require.Equal(t, "end_turn", s.run("/search all-projectsx"))
		require.Contains(t, s.told(), "Nothing was found in the conversations of this project")
	})
}

// A hostile title or text of a stored session is shown as text.
func TestSearchShowsHostileTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openSearched(t)
		file(t, s.root, "mine", "# T\u202e ![x](http://evil)")
		s.finds = "[" + foundIn("mine", "user", "a\n\n# Head\n\x1b]0;x\x07 [click](http://evil) `x` <img src=x>") + "]"
		require.Equal(t, "end_turn", s.run("/search x"))
		said := s.told()
		for _, bad := range []string{"\x1b", "\u202e", "\x07", "\n# Head", " [click", "![x]", " <img"} {
			require.NotContains(t, said, bad)
		}
		require.Contains(t, said, "Head")
		answer := s.call("_droid/search", `{"query":"x","cwd":"/workspace"}`)
		for _, bad := range []string{`\u001b`, "\u202e", `\u202e`, `\u0007`} {
			require.NotContains(t, string(answer.Result), bad)
		}
	})
}

// A search that does not end is stopped after a bound, with words. A cancel ends it at once. Others are not held up.
func TestSearchThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openSearched(t)
		s.hangs = true
		began := time.Now()
		search := s.prompt("/search x")
		s.settle()
		require.Contains(t, s.told(), "Searching")
		require.Nil(t, s.call("_droid/state", s.inSession("")).Error, "the session answers meanwhile")
		require.Equal(t, "end_turn", ended(s.await(search)))
		require.Equal(t, 45*time.Second, time.Since(began))
		require.Contains(t, s.told(), "droid did not end the search within 45 seconds, and was stopped")
		answer := s.call("_droid/search", `{"query":"x","cwd":"/workspace"}`)
		require.NotNil(t, answer.Error)
		require.Contains(t, answer.Error.Message+string(answer.Error.Data), "within 45 seconds")

		began = time.Now()
		search = s.prompt("/search x")
		s.settle()
		s.cancel()
		require.Equal(t, "cancelled", ended(s.await(search)))
		request := s.request("_droid/search", `{"query":"x","cwd":"/workspace"}`)
		s.settle()
		s.notify("$/cancel_request", `{"requestId":`+request+`}`)
		require.Equal(t, -32800, s.await(request).Error.Code)
		require.Less(t, time.Since(began), time.Second)
		s.hangs, s.fails = false, errors.New("no index")
		require.Equal(t, "end_turn", s.run("/search x"))
		require.Contains(t, s.told(), "The sessions were not searched: no index")
	})
}

// One search runs at a time, and the next waits for it. A cancel ends the wait. What waits too long ends with words.
func TestSearchesOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openSearched(t)
		s.hangs = true
		const params = `{"query":"x","cwd":"/workspace"}`
		first := s.request("_droid/search", params)
		s.settle()
		second := s.request("_droid/search", params)
		s.settle()
		third := s.prompt("/search y")
		s.settle()
		require.Equal(t, []string{"x"}, s.queries)
		s.notify("$/cancel_request", `{"requestId":`+second+`}`)
		require.Equal(t, -32800, s.await(second).Error.Code)
		s.notify("$/cancel_request", `{"requestId":`+first+`}`)
		require.Equal(t, -32800, s.await(first).Error.Code)
		s.settle()
		require.Equal(t, []string{"x", "y"}, s.queries, "the next begins")
		time.Sleep(time.Second)
		fourth, fifth := s.request("_droid/search", params), s.request("_droid/search", params)
		require.Equal(t, "end_turn", ended(s.await(third)))
		said := ""
		for _, late := range []string{fourth, fifth} {
			answer := s.await(late)
			require.NotNil(t, answer.Error)
			said += answer.Error.Message + string(answer.Error.Data)
		}
		require.Equal(t, []string{"x", "y", "x"}, s.queries, "one of the two did not begin")
		require.Contains(t, said, "other searches took more than 45 seconds; try again when they have ended")
		require.Contains(t, said, "droid did not end the search within 45 seconds")
	})
}

// writeSession writes a session of a directory.
func writeSession(t *testing.T, root, id, cwd string) {
	t.Helper()
	lines := fmt.Sprintf(`{"type":"session_start","id":%q,"title":"T","cwd":%q}`, id, cwd) + "\n" +
		`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "-workspace", id+".jsonl"), []byte(lines), 0o600))
}
