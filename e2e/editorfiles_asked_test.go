//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// What the user types while an edit waits for his answer, saved or not, is in the file with the
// edit: it is made in the newest text, whether or not droid has read the file before.
func TestEditLandsOnWhatWasTypedWhileAsked(t *testing.T) {
	for _, c := range []struct {
		name                    string
		open, dirty, read, save bool
		disk                    bool // it is not the editor that writes, but another program
		patch                   bool // the model has ApplyPatch
	}{
		{name: "typed", open: true},
		{name: "unsaved before, saved", open: true, dirty: true, save: true},
		{name: "read", open: true, read: true},
		{name: "read, saved", open: true, read: true, save: true},
		{name: "read unsaved, saved", open: true, dirty: true, read: true, save: true},
		{name: "closed, read", read: true, disk: true},
		{name: "patch, read", open: true, read: true, patch: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				if c.patch && h.version == "0.117.0" {
					t.Skip("it takes patches in another form than the tests write")
				}
				path := filepath.Join(h.work, "a.txt")
				require.NoError(t, os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o644))
				past := time.Now().Add(-time.Hour)
				require.NoError(t, os.Chtimes(path, past, past))
				editor := lateEditor(t, h, 30*time.Millisecond)
				want := "one\n2\nthree\n"
				if c.open {
					require.NoError(t, editor.Open(path))
				}
				if c.dirty {
					require.NoError(t, editor.Type(path, func(text string) string { return "unsaved\n" + text }))
					want = "unsaved\n" + want
				}
				var steps []modelserver.Step
				if c.read {
					steps = append(steps, modelserver.Step{Tools: []modelserver.ToolCall{toRead(path)}})
				}
				call := toEdit(path, "two", "2")
				if c.patch {
					require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Name: gpt5, Provider: modelserver.Responses}))
					call = h.applyPatch("txt", "*** Update File: "+path+"\n@@\n one\n-two\n+2\n three\n")
				}
				steps = append(steps, modelserver.Step{Tools: []modelserver.ToolCall{call}}, modelserver.Step{Text: "Edited."})
				model.On("edit", steps...)
				agent := startAgent(t, h)
				agent.onPermission(func(p permission) string {
					time.Sleep(50 * time.Millisecond)
					if c.disk {
						data, _ := os.ReadFile(path)
						if err := os.WriteFile(path, append([]byte("typed\n"), data...), 0o644); err != nil {
							t.Error(err)
						}
						return allowOnce(p)
					}
					if err := editor.Type(path, func(text string) string { return "typed\n" + text }); err != nil {
						t.Error(err)
					}
					if c.save {
						if err := editor.Save(path); err != nil {
							t.Error(err)
						}
					}
					time.Sleep(50 * time.Millisecond)
					return allowOnce(p)
				})
				end := agent.openWith(h, editor).prompt("edit").end(turnLimit)
				require.Nil(t, end.Err)
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				tools := end.tools()
				require.Equal(t, "completed", tools[len(tools)-1], "%q: %s", data, seenByModel(model, "edit", len(steps)-1))
				require.Equal(t, "typed\n"+want, string(data))
				require.False(t, editor.Dirty(path))
				_, _, listed := editor.Review(path)
				require.True(t, listed, "it is in the list of changes")
			})
		})
	}
}
