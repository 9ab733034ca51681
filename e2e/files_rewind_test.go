//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// "/rewind N files" says of each file whether anything but droid has changed it, according to the texts stored by droid, and skips a file
// that changes while its question is open.
func TestRewindNamesLostChanges(t *testing.T) {
	ofAdapter(t)
	const byOthers = ", **changed by you or another program, too**"
	cases := map[string]struct {
		create  bool          // droid's first call creates the file
		between string        // the user's text after it
		second  bool          // droid edits the file again
		refused bool          // the user refuses that
		allow   time.Duration // how long the user takes to allow the first
		load    bool          // the session is loaded before
		during  string        // the text saved while the question is open
		mark    string        // what the question says about the file
		holds   string        // the final text, "" if there is no file
	}{
		"nobody, in a loaded session":      {load: true, holds: "old\n"},
		"nobody, two edits, allowed late":  {allow: 2500 * time.Millisecond, second: true, holds: "old\n"},
		"nobody, created and edited":       {create: true, second: true},
		"the user, before a refused edit":  {between: "new\nmine\n", second: true, refused: true, mark: byOthers, holds: "old\n"},
		"the user, between two edits":      {between: "new\nmine\n", second: true, mark: byOthers, holds: "old\n"},
		"the user, while they are asked":   {during: "new\nmine\n", holds: "new\nmine\n"},
		"the user, created and then saved": {create: true, during: "new\nmine\n", holds: "new\nmine\n"},
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		c := startAgent(t, h, "--files", "disk")
		c.initialize()
		s := c.openSession(h) // each case leaves it at the point before its first prompt
		for name, tc := range cases {
			t.Run(name, func(t *testing.T) {
				if h.version == oldDroid {
					s = c.openSession(h) // it knows no files in one that it has loaded
				}
				file := filepath.Join(h.work, name)
				first := toEdit(file, "old", "new")
				if tc.create {
					first = toCreate(file, "new")
				} else {
					require.NoError(t, os.WriteFile(file, []byte("old\n"), 0o600))
				}
				model.On("first, "+name, modelserver.Step{Tools: []modelserver.ToolCall{first}}, modelserver.Step{Text: "One."})
				model.On("second, "+name, modelserver.Step{Tools: []modelserver.ToolCall{toRead(file)}},
					modelserver.Step{Tools: []modelserver.ToolCall{toEdit(file, "new", "newer")}}, modelserver.Step{Text: "Two."})
				c.onPermission(func(p permission) string {
					time.Sleep(tc.allow)
					return allowOnce(p)
				})
				s.say("first, " + name)
				if tc.between != "" {
					require.NoError(t, os.WriteFile(file, []byte(tc.between), 0o600))
				}
				if tc.refused {
					c.onPermission(rejectOnce)
				}
				if tc.second {
					require.Nil(t, s.prompt("second, "+name).end(turnLimit).Err)
				}
				if tc.load {
					s.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
				}
				question := ""
				c.onPermission(func(p permission) string {
					question = string(p.ToolCall)
					if tc.during != "" {
						require.NoError(t, os.WriteFile(file, []byte(tc.during), 0o600))
					}
					return allowOnce(p)
				})
				said := s.say("/rewind 1 files")
				t.Log(question, said)
				require.Contains(t, said, "back at the point before prompt 1")
				require.Equal(t, tc.during != "", strings.Contains(said, "Left as they are"), said)
				require.Contains(t, question, "`"+name+"`"+tc.mark)
				if tc.mark == "" {
					require.NotContains(t, question, name+"`,")
				}
				if tc.holds == "" {
					require.NoFileExists(t, file)
					return
				}
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, tc.holds, string(data))
			})
		}
	})
}

// If files are the editor's, unsaved text on top of droid's edit is mentioned, and restored text is also in the buffer, so that the next
// edit does not save the old text.
func TestRewindThroughTheEditor(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		file := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(file, []byte("old\nlast\n"), 0o600))
		past := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(file, past, past))
		editor := lateEditor(t, h, 30*time.Millisecond)
		require.NoError(t, editor.Open(file))
		model.On("first", modelserver.Step{Tools: []modelserver.ToolCall{toEdit(file, "old", "new")}}, modelserver.Step{Text: "One."})
		model.On("second", modelserver.Step{Tools: []modelserver.ToolCall{toRead(file)}},
			modelserver.Step{Tools: []modelserver.ToolCall{toEdit(file, "last", "LAST")}}, modelserver.Step{Text: "Two."})
		c := startAgent(t, h, "--files", "editor").onPermission(allowOnce)
		s := c.openWith(h, editor)
		s.say("first")
		editor.Type(file, func(text string) string { return text + "typed\n" })
		question := ""
		c.onPermission(func(p permission) string {
			question = string(p.ToolCall)
			return allowOnce(p)
		})
		said := s.say("/rewind 1 files")
		t.Log(question, said)
		require.Contains(t, question, "`a.txt`, **with unsaved changes in your editor**")
		require.Contains(t, said, "Files restored: 1, deleted: 0.")
		holds := func(want string) {
			t.Helper()
			require.Eventually(t, func() bool {
				data, err := os.ReadFile(file)
				text, _ := editor.Buffer(file)
				return err == nil && string(data) == want && text == want && !editor.Dirty(file)
			}, turnLimit, 20*time.Millisecond, "%q", want)
		}
		holds("old\nlast\n")
		s.say("second")
		holds("old\nLAST\n")
	})
}

// Files that ApplyPatch has updated, added, moved and deleted are distinguished from those changed by others.
func TestRewindOfPatches(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Name: gpt5, Provider: modelserver.Responses}))
		for _, name := range []string{"a.x", "b.x", "c.x"} {
			h.write(t, name, patchBefore)
		}
		parts, marks := []string{updateA, addNew, renameC}, []string{"`a.x`", "`new.x`", "`c.x`, which is not there now", "`moved.x`"}
		if h.version == oldDroid { // it patches one file in a call, and moves none
			parts, marks = parts[:1], marks[:1]
		}
		model.On("patch", modelserver.Step{Tools: []modelserver.ToolCall{h.applyPatch("x", parts...)}}, modelserver.Step{Text: "Patched."})
		c := startAgent(t, h, "--files", "disk").onPermission(allowOnce)
		s := c.open(h)
		require.Equal(t, []string{"completed"}, s.prompt("patch").end(turnLimit).tools())
		question := ""
		c.onPermission(func(p permission) string {
			question = string(p.ToolCall)
			return rejectOnce(p)
		})
		s.say("/rewind 1 files")
		t.Log(question)
		for _, mark := range marks {
			require.Contains(t, question, "- "+mark)
		}
		require.NotContains(t, question, "changed by you")
		require.NotContains(t, question, "not known")
		h.write(t, "a.x", "mine\n")
		s.say("/rewind 1 files")
		require.Contains(t, question, "`a.x`, **changed by you or another program, too**")
	})
}

// A program rewinds to before a prompt, during the next turn, with the files, and continues from there.
func TestRewindMethod(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		file := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(file, []byte("old\n"), 0o600))
		model.On("first", modelserver.Step{Text: "Answer 1."})
		model.On("second", modelserver.Step{Tools: []modelserver.ToolCall{toEdit(file, "old", "new")}}, modelserver.Step{Text: "Answer 2."})
		model.On("third", modelserver.Step{Tools: []modelserver.ToolCall{execute("c", "sleep 60")}}, modelserver.Step{Text: "Three."})
		model.On("fourth", modelserver.Step{Text: "Four."})
		c := startAgent(t, h, "--files", "disk").onPermission(allowOnce)
		s := c.open(h)
		s.say("first")
		s.say("second")
		var points struct {
			Points []struct {
				MessageID, Text string
				Files           []string
			}
		}
		c.mustCall("_droid/rewind_points", map[string]any{"sessionId": s.id}, &points)
		require.Len(t, points.Points, 2)
		require.Equal(t, []string{file}, points.Points[1].Files)
		params := map[string]any{"sessionId": s.id, "messageId": points.Points[1].MessageID, "files": "restore", "dryRun": true}
		var dry, done struct {
			DroidSessionID string
			Files          []struct{ Path, Action, Status string }
			Restored       int
		}
		c.mustCall("_droid/rewind", params, &dry)
		require.Len(t, dry.Files, 1)
		require.Equal(t, "edited", dry.Files[0].Status)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "new\n", string(data))

		turn := s.prompt("third")
		turn.awaitUpdate("the command", func(u update) bool { return u.ToolCallID != "" && u.Status == "in_progress" })
		params["dryRun"] = false
		_, failed := c.call("_droid/rewind", params)
		require.Equal(t, -32600, failed.Code, "a turn runs")
		params["cancel"] = true
		c.mustCall("_droid/rewind", params, &done)
		require.Equal(t, "cancelled", turn.end(turnLimit).Stop)
		require.Equal(t, 1, done.Restored)
		require.NotEmpty(t, done.DroidSessionID)
		data, err = os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "old\n", string(data))

		s.say("fourth")
		asked := string(lastRequest(model).Body)
		require.Contains(t, asked, "Answer 1.")
		require.NotContains(t, asked, "Answer 2.")
		require.NotContains(t, asked, "sleep 60")
	})
}
