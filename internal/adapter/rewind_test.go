package adapter

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
)

// TestCancelledRewind: whenever the user cancels, the answer tells what became of conversation and files: nothing
// where droid was not asked, and otherwise all that droid has done. The next prompt runs where that says.
func TestCancelledRewind(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		for _, moment := range []time.Duration{0, 1, 500, 1001, 1500, 1999, 2001, 3001, 6000, 9000} {
			moment *= time.Millisecond
			f := newFleet(t, v, repeats())
			for _, method := range []string{"droid.get_rewind_info", "droid.execute_rewind"} {
				f.later(method, time.Second)
			}
			e := begin(t, f.start)
			require.Equal(t, "end_turn", e.run("one"))
			require.Equal(t, "end_turn", e.run("two"))
			rewind := e.prompt("/rewind 2 files")
			time.Sleep(moment)
			e.cancel()
			stop := ended(e.await(rewind))
			said := strings.Join(e.updates(), "\n")
			asked := strings.Contains(strings.Join(f.raw, "\n"), "execute_rewind")
			require.Equal(t, asked, strings.Contains(said, "This thread is back at the point before prompt 2. 1 files were restored"), "%v: %s", moment, said)
			require.Contains(t, []string{"cancelled", "end_turn"}, stop)
			require.Equal(t, "end_turn", e.run("three"))
			require.NotContains(t, strings.Join(e.updates(), "\n"), "does not use")
			e.inside(func(s *Session) { require.Equal(t, asked, slices.Contains(f.loaded, s.droidID)) })
		}
	})
}

// TestPoints: each prompt once, with all its text.
func TestPoints(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"1","role":"user","content":[{"type":"text","text":"one\nmore lines"}]},
		{"id":"2","role":"assistant","content":[{"type":"text","text":"answer"}]},
		{"id":"3","role":"user","content":[{"type":"text","text":"two"}]}]`), &messages))
	points := rewindPoints(messages)
	require.Equal(t, []rewindPoint{{"1", "one\nmore lines"}, {"3", "two"}}, points)
	require.Contains(t, listRewindPoints(points), "1. one …\n2. two\n")
	require.Empty(t, rewindPoints(nil))
}
