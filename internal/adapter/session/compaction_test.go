package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// /compact asks where the user can be asked by the names of choices, or by their kinds; elsewhere it compacts at once.
func TestCompactAsksFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		client, answer string
		asked, wanted  int
	}{
		"agreed":           {"zed", "compact", 1, 1},
		"declined":         {"toad", "keep", 1, 0},
		"dismissed":        {"an editor of the future", "", 1, 0},
		"not offered":      {"zed", "yes", 1, 0},
		"nameless":         {"", "", 0, 1},
		"by kind":          {"CodeCompanion.nvim", "compact", 1, 1},
		"refused by kind":  {"CodeCompanion.nvim", "keep", 1, 0},
		"our own headless": {"droid-acp smoke", "", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				compacted, asked := 0, 0
				e := beginNamed(t, tc.client, "{}", playing(says("hi"), fakedroid.WithAnswer("droid.compact_session", func(map[string]any) (any, string) {
					compacted++
					return nil, "not today"
				})))
				e.ask = func(p permission) string {
					asked++
					require.EqualValues(t, "Compact the conversation?", p.ToolCall.Title)
					return tc.answer
				}
				require.Equal(t, "end_turn", e.run("/compact"))
				require.Equal(t, tc.asked, asked)
				require.Equal(t, tc.wanted, compacted)
				require.Equal(t, tc.wanted == 0, strings.Contains(e.messages(), "The conversation stays as it is."))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // it takes the question back when the prompt is cancelled
		e := begin(t, playing(says("hi")))
		e.onAsk = func(_, _ json.RawMessage) bool { return true }
		id := e.prompt("/compact")
		synctest.Wait()
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.Contains(t, methods(e), "$/cancel_request")
		e.onAsk = nil
		require.Equal(t, "end_turn", e.run("hello"))
	})
}

// Compacting an empty conversation is not a failure. A failure has a remedy, and no name of droid's protocol; the remedy does not deny that
// a login is needed if it is.
func TestCompactThatCannotBe(t *testing.T) {
	for why, tc := range map[string]struct {
		v         fakedroid.Version
		want, not []string
	}{
		"Nothing to compact — the conversation is empty.": {fakedroid.V0225, []string{"There is nothing to compact yet."}, []string{"failed", "not compacted", "compact_session"}},
		"ENOSPC: no space left on device, write": {fakedroid.V0225, []string{
			"The conversation was not compacted: ENOSPC: no space left on device, write. Make room on the disk, or have your quota raised.",
		}, []string{"compact_session", "droid: "}},
		"No access token available": {fakedroid.V099, []string{"needs a Factory login to compact, also with a model of your own", " login` in a terminal", "Update droid"}, []string{"needs no login", "compact_session"}},
	} {
		for _, client := range []string{"CodeCompanion.nvim", "zed"} {
			synctest.Test(t, func(t *testing.T) {
				e := beginNamed(t, client, "{}", playing(says("hi"), fakedroid.WithVersion(tc.v), fakedroid.WithAnswer("droid.compact_session", func(map[string]any) (any, string) { return nil, why })))
				require.Equal(t, "end_turn", e.run("/compact"))
				for _, words := range tc.want {
					require.Contains(t, e.messages(), words)
				}
				for _, words := range tc.not {
					require.NotContains(t, e.messages(), words)
				}
			})
		}
	}
}
