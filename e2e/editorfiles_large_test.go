//go:build e2e && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// Large files are edited through the editor as well, as far as droid runs its hooks: 0.99 (not 0.117) starts
// none after an edit of a file above some 125 kB. What is unsaved is in the edit either way.
func TestLargeEditsAreTheAgents(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		editor := lateEditor(t, h, 0)
		const typed = "typed\n"
		sizes := []int{120, 300, 1000} // kB
		rest := func(kB int) string {
			return strings.Repeat("0123456789012345678901234567890123456789012345678\n", kB*20)
		}
		for _, kB := range sizes {
			path := filepath.Join(h.work, fmt.Sprintf("%d.txt", kB))
			require.NoError(t, os.WriteFile(path, []byte("n 0\n"+rest(kB)), 0o644))
			require.NoError(t, editor.Type(path, func(text string) string { return typed + text }))
		}
		time.Sleep(3 * time.Second) // until then the editor may be about to reload them
		s := startAgent(t, h, "--mode", "auto-low").openWith(h, editor)
		for _, kB := range sizes {
			name, rest := fmt.Sprintf("%d.txt", kB), rest(kB)
			path := filepath.Join(h.work, name)
			model.On(name, modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, "n 0\n", "n 1\n")}}, modelserver.Step{Text: "Edited."})
			end := s.prompt(name).end(turnLimit)
			require.Nil(t, end.Err)
			require.Equal(t, []string{"completed"}, end.tools())
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, string(data) == typed+"n 1\n"+rest, "%s: %.40q", name, data)
			base, _, listed := editor.Review(path)
			require.Equal(t, h.version != "0.99.0" || kB < 125, listed, name)
			if listed {
				require.True(t, base == typed+"n 0\n"+rest, "%s: %.40q", name, base)
			}
		}
	})
}
