package adapter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/fakedroid"
)

// notifies is a script that says these notifications of droid during a turn.
func notifies(list ...fakedroid.Fields) fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		for _, f := range list {
			kind, _ := f["type"].(string)
			if err := d.Notify(kind, f); err != nil {
				return err
			}
		}
		return d.Say("", "Done.")
	})
}

func TestFailedHooksAreTold(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(notifies(
			fakedroid.Fields{"type": "hook_execution_started", "hookId": "1", "hookEventName": "PreToolUse", "hookCommands": []fakedroid.Fields{{"command": "lint"}}},
			fakedroid.Fields{"type": "hook_execution_completed", "hookId": "1", "hookResults": []fakedroid.Fields{{"exitCode": 2, "stderr": "no good\n"}}},
			fakedroid.Fields{"type": "hook_execution_started", "hookId": "2", "hookEventName": "Stop", "hookCommands": []fakedroid.Fields{{"command": "quiet"}}},
			fakedroid.Fields{"type": "hook_execution_completed", "hookId": "2", "hookEventName": "Stop", "hookResults": []fakedroid.Fields{{"command": "quiet", "exitCode": 0, "stdout": "fine"}}},
		), v))
		require.Equal(t, "end_turn", e.run("go"))
		told := strings.Join(e.updates(), "\n")
		require.Contains(t, told, "The PreToolUse hook `lint` failed with exit code 2.\nno good")
		require.NotContains(t, told, "quiet")
	})
}

// droid tells of some failed edits no more than that they failed (0.225). Why is shown once droid has stored it for the model.
func TestFailedEditSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "sessions")
		edit := func(id string) fakedroid.Tool {
			return fakedroid.Tool{ID: id, Name: "Edit", Input: fakedroid.Fields{"file_path": "/workspace/a.txt", "old_str": "a", "new_str": "b"}, Result: "Error: Failed to edit file", IsError: true}
		}
		f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), nil)
		id, stops := "", false
		f.script = eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
			if err := d.Use("", "", edit("e1"), edit("e2")); err != nil {
				return err
			}
			file(t, root, id, "A")
			name := filepath.Join(root, "-workspace", id+".jsonl")
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			data = append(data, `{"type":"message","id":"r","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"e1","is_error":true,"content":"Error: Error: File \"/workspace/a.txt\" has been modified externally since it was last read."}]}}`+"\n"...)
			require.NoError(t, os.WriteFile(name, data, 0o644))
			if stops {
				return d.Pause(time.Minute)
			}
			return d.Say("", "I see.")
		})
		e := agentOn(t, f, root)
		e.beginSession()
		id = e.session
		require.Equal(t, "end_turn", e.run("edit"))
		e.settle()
		require.Contains(t, e.lastContent("e1"), `"oldText":"a"`)
		require.Contains(t, e.lastContent("e1"), `"text":"Error: File \"/workspace/a.txt\" has been modified externally since it was last read."`)
		require.NotContains(t, e.lastContent("e1"), "Failed to edit")
		require.Contains(t, e.lastContent("e2"), "Failed to edit file", "of which droid has stored no reason")
		require.Equal(t, "end_turn", e.run("edit"))
		e.settle()
		require.Contains(t, e.lastContent("e1~2"), "modified externally", "the model used the id again")
		stops = true
		stopped := e.prompt("edit")
		time.Sleep(time.Second)
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(stopped)))
		e.settle()
		told := e.updates()
		require.Equal(t, "end cancelled", told[len(told)-1], "of a cancelled turn nothing comes behind its response")
	})
}
