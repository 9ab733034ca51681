package background

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/quirks"
)

const told = "Background process started (PID: 554)\nCommand: serve\nOutput: /tmp/droid-bg-17.out\nStatus: Running in background\n\nNote: It goes on."

func result(id, text string) quirks.ToolEnded {
	content, _ := json.Marshal(text)
	return quirks.ToolEnded{ID: id, Name: "Execute", Content: content}
}

// Only the result of a call that asked for it is believed: a model, a file or a command can write the same words.
func TestHeard(t *testing.T) {
	now := time.Unix(5, 0)
	asks := json.RawMessage(`{"command":"serve","fireAndForget":true}`)
	for name, tc := range map[string]struct {
		before []quirks.Event
		end    quirks.ToolEnded
		begins bool
	}{
		"asked for":        {[]quirks.Event{quirks.ToolStarted{ID: "a", Name: "Execute", Input: asks}}, result("a", told), true},
		"input comes late": {[]quirks.Event{quirks.ToolStarted{ID: "a", Name: "Execute"}, quirks.ToolInput{ID: "a", Name: "Execute", Input: asks}}, result("a", told), true},
		"another tool":     {[]quirks.Event{quirks.ToolStarted{ID: "a", Name: "Read", Input: asks}}, result("a", told), false},
		"not asked for":    {[]quirks.Event{quirks.ToolStarted{ID: "a", Name: "Execute", Input: json.RawMessage(`{"command":"cat lie"}`)}}, result("a", told), false},
		"another call":     {[]quirks.Event{quirks.ToolStarted{ID: "a", Name: "Execute", Input: asks}}, result("b", told), false},
		"it has ended":     {[]quirks.Event{quirks.ToolStarted{ID: "a", Name: "Execute", Input: asks}}, result("a", strings.Replace(told, "Running in background", "Completed successfully", 1)), false},
		"no process":       {[]quirks.Event{quirks.ToolStarted{ID: "a", Name: "Execute", Input: asks}}, result("a", strings.Replace(told, "554", "0", 1)), false},
	} {
		t.Run(name, func(t *testing.T) {
			var c Commands
			for _, ev := range tc.before {
				require.Nil(t, c.Handle(now, ev))
			}
			begun := c.Handle(now, tc.end)
			require.Equal(t, tc.begins, begun != nil)
			require.Equal(t, tc.begins, c.Runs(nil))
			if tc.begins {
				require.Equal(t, []any{554, "/tmp/droid-bg-17.out", "serve", 1, now}, []any{begun.PID, begun.Output, begun.Line, begun.Number, begun.Since})
				require.Nil(t, c.Handle(now, tc.end), "once")
				require.True(t, c.Ended(begun))
				require.False(t, c.Ended(begun))
				require.False(t, c.Runs(nil))
			}
		})
	}
}

// runs is a command that runs until End.
type runs struct{ ended bool }

func (r *runs) Runs() bool                    { return !r.ended }
func (r *runs) End(time.Duration) (gone bool) { r.ended = true; return true }

// Output between two checks is returned in whole characters, and only the end of long output.
func TestLook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	require.NoError(t, err)
	in, err := os.Open(path)
	require.NoError(t, err)
	of := &runs{}
	w := &Watch{Process: of, output: in}
	defer w.Close()
	at := int64(0)
	wrote := func(text string) Look {
		_, err := out.WriteString(text)
		require.NoError(t, err)
		look := w.Look(true, at)
		require.Equal(t, look, w.Look(!of.ended, at), "it changes nothing, and the last is read in any case")
		at, look.At = look.At, 0
		return look
	}
	require.Equal(t, Look{Runs: true}, wrote(""))
	require.Equal(t, Look{Runs: true, Piece: "one\n"}, wrote("one\n"))
	require.Equal(t, Look{Runs: true, Piece: "tw"}, wrote("tw\xc3"))
	require.Equal(t, Look{Runs: true, Piece: "ö\n"}, wrote("\xb6\n"))
	long := wrote(strings.Repeat("line\n", 20000))
	require.True(t, strings.HasPrefix(long.Piece, "\n[… 67232 bytes left out …]\n"), long.Piece[:50])
	require.Len(t, long.Piece, most+len("\n[… 67232 bytes left out …]\n"))
	require.Equal(t, Look{Runs: true}, w.Look(false, 0))
	of.ended = true
	last := wrote("end\xc3")
	require.Equal(t, "end\uFFFD", last.Piece)
	require.True(t, strings.HasPrefix(last.LastWords, "line\n"), "whole lines")
	require.True(t, strings.HasSuffix(last.LastWords, "line\nend\uFFFD"))
	require.LessOrEqual(t, len(last.LastWords), mostWords+2)
	require.Equal(t, Look{}, (&Watch{}).Look(true, 0), "it had ended, and wrote nothing that can be read")
}
