//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// userHook is a hook for edits in a file of settings.
func userHook(event, command string) map[string]any {
	return map[string]any{event: []any{map[string]any{"matcher": "Edit", "hooks": []any{map[string]any{"type": "command", "command": command}}}}}
}

// The user's own hooks still run while edits go through the editor. An edit that is followed by one of their hooks stays on the disk, where
// the hook finds it.
func TestUserHooksWithEditorFiles(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path, hooked := filepath.Join(h.work, "a.txt"), filepath.Join(h.dir, "hooked")
		require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o644))
		h.changeSettings(t, func(settings map[string]any) { settings["hooks"] = userHook("PreToolUse", "echo user >> "+hooked) })
		if h.version == newDroid {
			require.NoError(t, os.Mkdir(filepath.Join(h.work, ".factory"), 0o755))
			data, err := json.Marshal(map[string]any{"hooks": userHook("PreToolUse", "echo project >> "+hooked)})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(h.work, ".factory", "settings.json"), data, 0o644))
		}
		editor := lateEditor(t, h, 30*time.Millisecond)
		require.NoError(t, editor.Open(path))
		model.On("edit", modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, "one", "1")}}, modelserver.Step{Text: "Edited."})
		model.On("again", modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, "two", "2")}}, modelserver.Step{Text: "Edited again."})
		c := startAgent(t, h, "--trust", "always").onPermission(allowOnce)
		require.Nil(t, c.openWith(h, editor).prompt("edit").end(turnLimit).Err)
		base, _, listed := editor.Review(path)
		require.True(t, listed)
		require.Equal(t, "one\ntwo\n", base)
		ran, err := os.ReadFile(hooked)
		require.NoError(t, err)
		require.Contains(t, string(ran), "user\n")
		require.Equal(t, h.version == newDroid, strings.Contains(string(ran), "project\n"))

		editor.Keep(path)
		h.changeSettings(t, func(settings map[string]any) {
			settings["hooks"] = userHook("PostToolUse", "sleep 0.2; echo hook >> "+path)
		})
		var result newSession
		c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &result)
		require.Nil(t, session{c, result.SessionID}.prompt("again").end(turnLimit).Err)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "1\n2\nhook\n", string(data), "both have written")
	})
}

// A command of the model gains nothing by imitating a hook towards the agent.
func TestCommandsCannotPlayHooks(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(path, []byte("saved\n"), 0o644))
		past := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(path, past, past))
		editor := lateEditor(t, h, 30*time.Millisecond)
		require.NoError(t, editor.Type(path, func(string) string { return "unsaved secret\n" }))
		request := fmt.Sprintf(`{"session_id":"SESSION","hook_event_name":"EVENT","tool_name":"TOOL","tool_input":{"file_path":%q,"old_str":"a","new_str":"b"}}`, path)
		script := `settings=$(tr '\0' '\n' </proc/$PPID/environ | sed -n 's/^FACTORY_RUNTIME_SETTINGS_PATH=//p')
hook=$(grep -o '/proc/[0-9]*/exe' "$settings" | head -1); address=$(grep -o '@droid-acp-[0-9A-Z]*' "$settings" | head -1)
test -n "$address" && echo "the hook is known"
for event in PreToolUse PostToolUse; do for tool in Read Edit; do
sed "s/EVENT/$event/; s/TOOL/$tool/" <request.json | "$hook" droid-acp-files-hook "$address"
done; done; echo asked`
		require.NoError(t, os.WriteFile(filepath.Join(h.work, "ask.sh"), []byte(script), 0o755))
		model.On("ask", modelserver.Step{Tools: []modelserver.ToolCall{execute("ask", "sh ask.sh")}}, modelserver.Step{Text: "Asked."})
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.openWith(h, editor)
		require.NoError(t, os.WriteFile(filepath.Join(h.work, "request.json"), []byte(strings.ReplaceAll(request, "SESSION", s.id)), 0o644))
		end := s.prompt("ask").end(turnLimit)
		require.Nil(t, end.Err)
		require.Contains(t, end.results()["ask"], "\nthe hook is known\nasked\n", "and it is told nothing")
		for _, l := range c.transcriptLines() {
			require.NotContains(t, l, `"fs/`)
		}
		require.True(t, editor.Dirty(path))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "saved\n", string(data))
	})
}

// Concurrent edits of two sessions are both in the file.
func TestTwoSessionsEditOneFile(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		const edits = 4
		path := filepath.Join(h.work, "a.txt")
		var text strings.Builder
		steps := map[string][]modelserver.Step{}
		for i := range edits {
			for _, who := range []string{"left", "right"} {
				old, replaced := fmt.Sprintf("%s %d\n", who, i), fmt.Sprintf("%s edited %d\n", who, i)
				text.WriteString(old)
				// Each reads the other's change before it edits, as droid requires.
				steps[who] = append(steps[who], modelserver.Step{Tools: []modelserver.ToolCall{toRead(path)}}, modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, old, replaced)}})
			}
		}
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
		for who, list := range steps {
			model.On(who, append(list, modelserver.Step{Text: "Edited."})...)
		}
		editor := lateEditor(t, h, 30*time.Millisecond)
		require.NoError(t, editor.Open(path))
		c := startAgent(t, h, "--mode", "auto-low")
		left := c.openWith(h, editor)
		var result newSession
		c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, &result)
		turns := []turn{left.prompt("left"), session{c, result.SessionID}.prompt("right")}
		refused := map[string]bool{} // the other one was faster, and droid requires the file to be read again
		for _, turn := range turns {
			end := turn.end(turnLimit)
			require.Nil(t, end.Err)
			for _, u := range end.Updates { // of both sessions
				if u.Status == "failed" {
					refused[u.ToolCallID] = true
				}
			}
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, 2*edits, strings.Count(string(data), "\n"), "%s", data)
		require.Equal(t, 2*edits-len(refused), strings.Count(string(data), "edited"), "%s", data)
		for i := range edits { // each line once, edited or not
			for _, who := range []string{"left", "right"} {
				require.Equal(t, 1, strings.Count(string(data), fmt.Sprintf("%s %d\n", who, i))+strings.Count(string(data), fmt.Sprintf("%s edited %d\n", who, i)), "%s", data)
			}
		}
		require.False(t, editor.Dirty(path))
	})
}

// What the user types while an edit waits for permission, saved or not, is in the file with the edit: the edit applies to the newest text,
// whether or not droid has read the file before.
func TestEditLandsOnWhatWasTypedWhileAsked(t *testing.T) {
	alsoFar(t)
	cases := []struct {
		name                    string
		open, dirty, read, save bool
		disk                    bool // another program writes, not the editor
		patch                   bool // the model has ApplyPatch
	}{
		{name: "typed", open: true},
		{name: "unsaved before, saved", open: true, dirty: true, save: true},
		{name: "read", open: true, read: true},
		{name: "read, saved", open: true, read: true, save: true},
		{name: "read unsaved, saved", open: true, dirty: true, read: true, save: true},
		{name: "closed, read", read: true, disk: true},
		{name: "patch, read", open: true, read: true, patch: true},
	}
	for name, patch := range map[string]bool{"edits": false, "patches": true} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				if patch {
					require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Name: gpt5, Provider: modelserver.Responses}))
				}
				editor := lateEditor(t, h, 30*time.Millisecond)
				agent := startAgent(t, h)
				s := agent.openWith(h, editor)
				for _, c := range cases {
					if c.patch != patch {
						continue
					}
					t.Run(c.name, func(t *testing.T) {
						path := filepath.Join(h.work, c.name+".txt")
						require.NoError(t, os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o644))
						past := time.Now().Add(-time.Hour)
						require.NoError(t, os.Chtimes(path, past, past))
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
							call = h.applyPatch("txt", "*** Update File: "+path+"\n@@\n one\n-two\n+2\n three\n")
						}
						steps = append(steps, modelserver.Step{Tools: []modelserver.ToolCall{call}}, modelserver.Step{Text: "Edited."})
						prompt := "edit " + c.name
						model.On(prompt, steps...)
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
						end := s.prompt(prompt).end(turnLimit)
						require.Nil(t, end.Err)
						data, err := os.ReadFile(path)
						require.NoError(t, err)
						tools := end.tools()
						require.Equal(t, "completed", tools[len(tools)-1], "%q: %s", data, seenByModel(model, prompt, len(steps)-1))
						require.Equal(t, "typed\n"+want, string(data))
						require.False(t, editor.Dirty(path))
						_, _, listed := editor.Review(path)
						require.True(t, listed, "it is in the list of changes")
					})
				}
			})
		})
	}
}
