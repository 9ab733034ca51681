package session_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// beginAs begins as an editor that declares these client capabilities.
func beginAs(t *testing.T, capabilities string, start starter) *editor {
	t.Helper()
	return beginNamed(t, "zed", capabilities, start)
}

// A call whose input takes long to come is shown without it, except to a client
// that never changes a title.
func TestCallIsShownBeforeItsInput(t *testing.T) {
	slow := eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		if err := d.Notify("tool_call", fakedroid.Fields{"toolUse": fakedroid.Fields{"type": "tool_use", "id": "t1", "name": "Execute", "input": fakedroid.Fields{}}}); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		return d.Use("", "", touch)
	})
	for client, want := range map[string]string{"zed": "tool_call t1 pending Execute", "mitto": "", "Agentic.nvim": ""} {
		synctest.Test(t, func(t *testing.T) {
			e := beginNamed(t, client, "{}", playing(slow))
			id := e.prompt("go")
			time.Sleep(140 * time.Millisecond)
			require.NotContains(t, strings.Join(e.updates(), "\n"), "tool_call")
			time.Sleep(20 * time.Millisecond)
			require.Equal(t, want, strings.Join(slices.DeleteFunc(e.updates(), func(u string) bool { return !strings.HasPrefix(u, "tool_call") }), "\n"))
			require.Equal(t, "end_turn", ended(e.await(id)))
			if want == "" {
				require.Contains(t, e.updates(), "tool_call t1 pending touch a")
			} else {
				require.Contains(t, e.updates(), "tool_call_update t1 touch a")
			}
		})
	}
}
