package adapter

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// TestFailedEditOfACancelledTurn: why an edit failed is looked up beside the turn, and told while that has no response.
func TestFailedEditOfACancelledTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "sessions")
		edit := fakedroid.Tool{ID: "e1", Name: "Edit", Input: fakedroid.Fields{"file_path": "/workspace/a.txt", "old_str": "a", "new_str": "b"}, Result: "Error: Failed to edit file", IsError: true}
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), nil)
		id := ""
		f.script = eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			if err := d.Use("", "", edit); err != nil {
				return err
			}
			file(t, root, id, "A")
			name := filepath.Join(root, "-workspace", id+".jsonl")
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			data = append(data, `{"type":"message","id":"r","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"e1","is_error":true,"content":"Error: Error: File \"/workspace/a.txt\" has been modified externally since it was last read."}]}}`+"\n"...)
			require.NoError(t, os.WriteFile(name, data, 0o644))
			return d.Pause(time.Minute)
		})
		e := agentOn(t, f, root)
		e.beginSession()
		id = e.session
		stopped := e.prompt("edit")
		time.Sleep(time.Second)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(stopped)))
		e.settle()
		told := e.updates()
		require.Equal(t, "end cancelled", told[len(told)-1], "of a cancelled turn nothing comes behind its response")
	})
}
