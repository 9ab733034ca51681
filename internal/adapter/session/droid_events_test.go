package session_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
)

// failsToEdit is an agent whose droid fails to edit a file, stores why and then does what next does.
func failsToEdit(t *testing.T, next func(d *fakedroid.Droid) error) *editor {
	t.Helper()
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
		return next(d)
	})
	e := agentOn(t, f, root)
	e.beginSession()
	id = e.session
	return e
}

// The reason for a failed edit is shown before droid's next output and before the response, however slow the disk is.
func TestWhyAnEditFailedOnASlowDisk(t *testing.T) {
	const failed = "tool_call_update e1 failed"
	for name, tc := range map[string]struct {
		next   func(d *fakedroid.Droid) error
		behind []string
	}{
		"the model goes on": {func(d *fakedroid.Droid) error { return d.Say("", "sorry") }, []string{"agent: sorry", "end end_turn"}},
		"the turn ends":     {func(*fakedroid.Droid) error { return nil }, []string{"end end_turn"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := failsToEdit(t, tc.next)
				e.agent.Calls.BeforeCall = func(call files.CallName) {
					if call == "Store.Results" {
						time.Sleep(time.Second)
					}
				}
				require.Equal(t, "end_turn", e.run("edit"))
				time.Sleep(time.Minute)
				told := e.updates()
				require.Equal(t, append([]string{failed, failed}, tc.behind...), told[len(told)-2-len(tc.behind):], "it fails, and then says why")
			})
		})
	}
}

// The response of a prompt whose droid exits does not wait for the reason of a failed edit, and nothing follows it.
func TestDroidExitsBehindAFailedEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := failsToEdit(t, func(d *fakedroid.Droid) error { return d.Die(1, "") })
		e.agent.Calls.BeforeCall = func(call files.CallName) {
			if call == "Store.Results" {
				time.Sleep(time.Second)
			}
		}
		require.Contains(t, e.run("edit"), "-32603 ")
		time.Sleep(time.Minute)
		told := e.updates()
		require.Contains(t, told[len(told)-1], "end -32603 ")
	})
}

// TestFailedEditOfACancelledTurn checks that the reason for a failed edit is read concurrently with the turn, and shown before its
// response.
func TestFailedEditOfACancelledTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := failsToEdit(t, func(d *fakedroid.Droid) error { return d.Pause(time.Minute) })
		stopped := e.prompt("edit")
		time.Sleep(time.Second)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(stopped)))
		e.settle()
		told := e.updates()
		require.Equal(t, "end cancelled", told[len(told)-1], "of a cancelled turn nothing comes behind its response")
	})
}
