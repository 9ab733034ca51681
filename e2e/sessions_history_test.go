//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// status returns the answer to session/status, or the code of its error.
func (c *client) status(id string) any {
	c.t.Helper()
	result, err := c.call("session/status", map[string]any{"sessionId": id})
	if err != nil {
		return err.Code
	}
	var status struct{ Status string }
	require.NoError(c.t, json.Unmarshal(result, &status))
	return status.Status
}

// listedAs returns the IDs of the sessions of the home's workspace with a filter, "" for none.
func (c *client) listedAs(h home, filter string) (ids []string) {
	c.t.Helper()
	params := map[string]any{"cwd": h.work}
	if filter != "" {
		params["archived"] = filter
	}
	var result struct {
		Sessions []struct {
			SessionID string
			Archived  *bool
		}
	}
	c.mustCall("session/list", params, &result)
	for _, s := range result.Sessions {
		require.NotNil(c.t, s.Archived)
		if filter == "only" || filter == "" {
			require.Equal(c.t, filter == "only", *s.Archived)
		}
		ids = append(ids, s.SessionID)
	}
	return ids
}

// TestArchivedSessions: an archived session that works is cancelled and closed, is hidden, stays so over a restart and a load, comes back
// when it is restored, and does not come back when it was deleted.
func TestArchivedSessions(t *testing.T) {
	ofAdapter(t)
	notKept(t, "with --keep the list is the server's agent's, see TestArchiveInOtherWindow")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("sleep", modelserver.Step{Text: "I sleep. ", Tools: []modelserver.ToolCall{execute("a", "sleep 298")}})
		model.On("hello", modelserver.Step{Text: "Hi."})
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.open(h)
		require.Equal(t, "open", c.status(s.id))
		require.Equal(t, "Hi.", s.prompt("hello").end(turnLimit).text())
		other := c.openSession(h)
		require.Equal(t, "Hi.", other.prompt("hello again").end(turnLimit).text())
		require.Equal(t, []string{other.id, s.id}, c.listedAs(h, ""), "the newest first")

		turn := s.prompt("sleep well")
		h.awaitProcess(t, "sleep 298")
		c.mustCall("session/archive", map[string]any{"sessionId": s.id}, nil)
		require.Equal(t, "cancelled", turn.end(turnLimit).Stop)
		require.Equal(t, "saved", c.status(s.id))
		require.Equal(t, codeNotFound, c.status("nope"))
		h.awaitNone(t, turnLimit, func(p process) bool { return strings.Contains(p.command, "sleep 298") })
		_, refused := c.call("session/prompt", map[string]any{"sessionId": s.id, "prompt": []any{map[string]any{"type": "text", "text": "hello"}}})
		require.NotNil(t, refused)
		require.Equal(t, codeNotFound, refused.Code)
		for filter, want := range map[string][]string{"": {other.id}, "exclude": {other.id}, "only": {s.id}} {
			require.Equal(t, want, c.listedAs(h, filter), filter)
		}
		require.ElementsMatch(t, []string{s.id, other.id}, c.listedAs(h, "include"))
		_, refused = c.call("session/list", map[string]any{"archived": "all"})
		require.Equal(t, -32602, refused.Code)
		_, refused = c.call("session/archive", map[string]any{"sessionId": "nope"})
		require.Equal(t, codeNotFound, refused.Code)
		c.end(h)

		c = startAgent(t, h).initialize()
		require.Equal(t, "saved", c.status(s.id))
		c.mustCall("session/load", h.params(s.id), nil)
		require.Equal(t, "Hi.", session{c, s.id}.prompt("hello").end(turnLimit).text())
		require.Equal(t, []string{s.id}, c.listedAs(h, "only"), "a load does not restore it")
		c.mustCall("session/unarchive", map[string]any{"sessionId": s.id}, nil)
		require.Equal(t, []string{s.id, other.id}, c.listedAs(h, ""))
		require.Equal(t, "open", c.status(s.id))
		c.mustCall("session/archive", map[string]any{"sessionId": other.id}, nil)
		c.mustCall("session/delete", map[string]any{"sessionId": other.id}, nil)
		require.Equal(t, []string{s.id}, c.listedAs(h, "include"))
		require.Equal(t, codeNotFound, c.status(other.id))
		c.end(h)
	})
}

// TestArchiveInOtherWindow: with --keep, session/status of one window knows of the sessions of another, and archiving one ends it there: its
// turn is cancelled, and that window learns who did it.
func TestArchiveInOtherWindow(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("sleep", modelserver.Step{Text: "I sleep. ", Tools: []modelserver.ToolCall{execute("a", "sleep 299")}})
		model.On("hello", modelserver.Step{Text: "Hi."})
		h = h.keeps(t)
		first := startKept(t, h).onPermission(allowOnce).open(h)
		require.Equal(t, "Hi.", first.say("hello"))
		second := startKept(t, h).initialize()
		require.Equal(t, "open", second.status(first.id))
		turn := first.prompt("sleep well")
		h.awaitProcess(t, "sleep 299")
		require.Equal(t, "open", second.status(first.id), "and it works on")
		second.mustCall("session/archive", map[string]any{"sessionId": first.id}, nil)
		require.Equal(t, "cancelled", turn.end(turnLimit).Stop)
		first.awaitSaid("has archived this session")
		for _, c := range []*client{first.client, second} {
			require.Equal(t, "saved", c.status(first.id))
			require.Equal(t, []string{first.id}, c.listedAs(h, "only"))
			require.Empty(t, c.listedAs(h, ""))
		}
		first.mustCall("session/unarchive", map[string]any{"sessionId": first.id}, nil)
		first.mustCall("session/load", h.params(first.id), nil)
		require.Equal(t, "Hi.", first.say("hello"))
		require.Equal(t, []string{first.id}, second.listedAs(h, ""))

		first.mustCall("session/archive", map[string]any{"sessionId": first.id}, nil)
		second.mustCall("session/delete", map[string]any{"sessionId": first.id}, nil) // droid may not have exited yet
		require.Empty(t, second.listedAs(h, "include"))
	})
}

// TestSearchOfConversations: droid's search finds words of the user and of the model, those of this project alone unless asked otherwise, and
// none of a deleted session.
func TestSearchOfConversations(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("medlar", modelserver.Step{Text: "The answer has a -quince- in it."})
		c := startAgent(t, h)
		s := c.open(h)
		require.Contains(t, s.prompt("remember the medlar").end(turnLimit).text(), "quince")
		elsewhere := filepath.Join(h.dir, "elsewhere")
		require.NoError(t, os.Mkdir(elsewhere, 0o700))
		var opened newSession
		c.mustCall("session/new", map[string]any{"cwd": elsewhere, "mcpServers": []any{}}, &opened)
		theirs := session{c, opened.SessionID}
		require.Contains(t, theirs.prompt("another medlar").end(turnLimit).text(), "quince")
		gone := c.openSession(h)
		require.Contains(t, gone.prompt("a medlar to delete").end(turnLimit).text(), "quince")

		search := func(params map[string]any) (ids []string) {
			var result struct {
				Sessions []struct {
					SessionID string
					Matches   []struct{ Role, Text string }
				}
			}
			raw, err := c.call("_droid/search", params)
			require.Nil(t, err, params)
			require.NotContains(t, string(raw), "mark>")
			require.NotContains(t, string(raw), ".jsonl")
			require.NoError(t, json.Unmarshal(raw, &result))
			for _, one := range result.Sessions {
				require.NotEmpty(t, one.Matches)
				ids = append(ids, one.SessionID)
			}
			return ids
		}
		require.ElementsMatch(t, []string{s.id, gone.id}, search(map[string]any{"query": "medlar", "sessionId": s.id}), "of the user")
		c.mustCall("session/delete", map[string]any{"sessionId": gone.id}, nil)
		require.Equal(t, []string{s.id}, search(map[string]any{"query": "medlar", "cwd": h.work}))
		require.Equal(t, []string{s.id}, search(map[string]any{"query": "-quince-", "sessionId": s.id}), "of the model, and no flag")
		require.ElementsMatch(t, []string{s.id, theirs.id}, search(map[string]any{"query": "quince", "everywhere": true}))
		require.Empty(t, search(map[string]any{"query": "zzyzxq", "everywhere": true}))
		said := s.prompt("/search medlar").end(turnLimit).text()
		require.Contains(t, said, "`"+s.id+"`")
		require.Contains(t, said, "remember the medlar")
		require.NotContains(t, said, theirs.id)
		require.NotContains(t, said, gone.id)
	})
}
