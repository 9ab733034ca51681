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

	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/testing/modelserver"
	"droid-acp/internal/testing/testeditor"
)

// openWith opens a session for a client whose files are the editor's.
func (c *client) openWith(h home, editor acptest.TextFiles) session {
	c.t.Helper()
	c.mu.Lock()
	c.editor = editor
	c.mu.Unlock()
	return c.openAs(h, map[string]any{"fs": map[string]any{"readTextFile": true, "writeTextFile": true}})
}

// lateEditor returns a test editor on h's workspace that reloads a changed file after a delay.
func lateEditor(t *testing.T, h home, delay time.Duration, change ...func(*testeditor.Options)) *testeditor.Editor {
	t.Helper()
	options := testeditor.Options{Root: h.work, Delay: func() time.Duration { return delay }}
	for _, f := range change {
		f(&options)
	}
	editor := testeditor.New(options)
	t.Cleanup(editor.Close)
	return editor
}

// toRead and toEdit are calls of droid's Read and Edit.
func toRead(path string) modelserver.ToolCall {
	return modelserver.ToolCall{Name: "Read", Args: map[string]any{"file_path": path}}
}

func toEdit(path, old, replaced string) modelserver.ToolCall {
	return modelserver.ToolCall{Name: "Edit", Args: map[string]any{"file_path": path, "old_str": old, "new_str": replaced}}
}

func toCreate(path, text string) modelserver.ToolCall {
	return modelserver.ToolCall{Name: "Create", Args: map[string]any{"file_path": path, "content": text}}
}

// seenByModel returns the content after the prompt in the last request for a prompt's step.
func seenByModel(model *modelserver.Server, prompt string, step int) string {
	text := ""
	for _, r := range model.Requests() {
		if r.Side || r.Prompt != prompt || r.Step != step {
			continue
		}
		text = ""
		for _, m := range r.Messages {
			if m.Role == "assistant" {
				text = ""
				continue
			}
			text += m.Text() + "\n"
		}
	}
	return text
}

// Read returns the unsaved text of a file, without saving it; after a command changed the file it returns the disk's, although the editor
// has not noticed yet.
func TestReadsSeeTheEditor(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path, other := filepath.Join(h.work, "a.txt"), filepath.Join(h.work, "b.txt")
		require.NoError(t, os.WriteFile(path, []byte("saved one\nsaved two\nsaved three\n"), 0o644))
		require.NoError(t, os.WriteFile(other, []byte("before\n"), 0o644))
		past := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(path, past, past))
		editor := lateEditor(t, h, time.Minute)
		require.NoError(t, editor.Open(path))
		require.NoError(t, editor.Open(other))
		editor.Type(path, func(string) string { return "typed one\ntyped two\ntyped three\n" })
		model.On("look", modelserver.Step{Tools: []modelserver.ToolCall{toRead(path)}},
			modelserver.Step{Tools: []modelserver.ToolCall{{Name: "Read", Args: map[string]any{"file_path": path, "offset": 1, "limit": 1}}}},
			modelserver.Step{Tools: []modelserver.ToolCall{execute("change", "echo after > b.txt")}},
			modelserver.Step{Tools: []modelserver.ToolCall{toRead(other)}}, modelserver.Step{Text: "Seen."})
		c := startAgent(t, h).onPermission(allowOnce)
		end := c.openWith(h, editor).prompt("look").end(turnLimit)
		require.Nil(t, end.Err)
		require.Contains(t, seenByModel(model, "look", 1), "typed one\ntyped two\ntyped three")
		require.NotContains(t, seenByModel(model, "look", 1), "saved")
		require.Equal(t, 1, strings.Count(seenByModel(model, "look", 2), "typed"), "one line was asked for")
		require.Contains(t, seenByModel(model, "look", 4), "after")
		require.NotContains(t, seenByModel(model, "look", 4), "before")
		text, _ := editor.Buffer(other)
		require.Equal(t, "before\n", text, "the editor had not noticed the change")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "saved one\nsaved two\nsaved three\n", string(data), "a read saves nothing")
		require.True(t, editor.Dirty(path))
		for _, l := range c.transcriptLines() {
			require.NotContains(t, l, "/proc/")
			require.NotContains(t, l, "hook")
		}
	})
}

// transcriptLines returns all lines of the agent.
func (c *client) transcriptLines() (lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		lines = append(lines, l.raw)
	}
	return lines
}

// An edit is listed as the agent's in the editor, with the right previous text, and Reject restores that.
func TestEditsAreListedAsTheAgents(t *testing.T) {
	alsoFar(t)
	type file struct{ name, before, typed, old, replaced, after string }
	files := []file{
		{name: "closed.txt", before: "one\ntwo\nthree\n", old: "two", replaced: "2", after: "one\n2\nthree\n"},
		{name: "open.txt", before: "one\ntwo\nthree\n", typed: "one\ntwo\nthree\n", old: "two", replaced: "2", after: "one\n2\nthree\n"},
		{name: "unsaved.txt", before: "one\ntwo\n", typed: "zero\none\ntwo\n", old: "one", replaced: "1", after: "zero\n1\ntwo\n"},
		{name: "typed.txt", before: "one\ntwo\n", typed: "one\ntwo\ntyped\n", old: "typed", replaced: "TYPED", after: "one\ntwo\nTYPED\n"},
		{name: "crlf.txt", before: "one\r\ntwo\r\n", old: "two", replaced: "2", after: "one\r\n2\r\n"},
		{name: "noend.txt", before: "one\ntwo", old: "two", replaced: "2", after: "one\n2"},
		{name: "new.txt", old: "", after: "new\ntext\n"},
		{name: "dir/deep/new.txt", old: "", after: "new\n"},
	}
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		editor := lateEditor(t, h, 250*time.Millisecond)
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.openWith(h, editor)
		for _, way := range []string{"asked", "allowed"} {
			t.Run(way, func(t *testing.T) {
				if way == "allowed" {
					c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-low"}, nil)
				}
				pathOf := func(f file) string { return filepath.Join(h.work, way, f.name) }
				require.NoError(t, os.Mkdir(filepath.Join(h.work, way), 0o755))
				var steps []modelserver.Step
				for _, f := range files {
					path := pathOf(f)
					if f.before == "" {
						steps = append(steps, modelserver.Step{Tools: []modelserver.ToolCall{toCreate(path, f.after)}})
						continue
					}
					require.NoError(t, os.WriteFile(path, []byte(f.before), 0o640))
					past := time.Now().Add(-time.Hour)
					require.NoError(t, os.Chtimes(path, past, past))
					if f.typed != "" {
						require.NoError(t, editor.Open(path))
					}
					if f.typed != f.before && f.typed != "" {
						editor.Type(path, func(string) string { return f.typed })
					}
					steps = append(steps, modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, f.old, f.replaced)}})
				}
				model.On(way, append(steps, modelserver.Step{Text: "Edited."})...)
				asked := len(c.asked())
				end := s.prompt(way).end(turnLimit)
				require.Nil(t, end.Err)
				for i, status := range end.tools() {
					require.Equal(t, "completed", status, files[i].name)
				}
				for _, f := range files {
					path := pathOf(f)
					data, err := os.ReadFile(path)
					require.NoError(t, err)
					require.Equal(t, f.after, string(data), f.name)
					base, _, listed := editor.Review(path)
					require.True(t, listed, "%s is in the list of changes", f.name)
					want := f.before
					if f.typed != "" {
						want = f.typed
					}
					require.Equal(t, strings.ReplaceAll(want, "\r\n", "\n"), base, f.name)
					require.False(t, editor.Dirty(path), f.name)
					require.NoError(t, editor.Reject(path))
					if f.before == "" {
						require.NoFileExists(t, path)
						continue
					}
					data, err = os.ReadFile(path)
					require.NoError(t, err)
					require.Equal(t, want, string(data), f.name)
					info, err := os.Stat(path)
					require.NoError(t, err)
					require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), f.name)
				}
				if way == "asked" {
					require.Len(t, c.asked(), asked+len(files))
				}
			})
		}
	})
}

// A refused edit changes nothing.
func TestRefusedEditTouchesNothing(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(path, []byte("one\n"), 0o644))
		editor := lateEditor(t, h, 30*time.Millisecond)
		require.NoError(t, editor.Open(path))
		model.On("edit", modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, "one", "1")}}, modelserver.Step{Text: "Refused."})
		c := startAgent(t, h)
		before, err := os.Stat(path)
		require.NoError(t, err)
		require.Nil(t, c.openWith(h, editor).prompt("edit").end(turnLimit).Err)
		after, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, before.ModTime(), after.ModTime())
		_, _, listed := editor.Review(path)
		require.False(t, listed)
	})
}

// The editor's version of an edit is on disk, droid is informed in one line, and its next edit builds on it.
func TestFormatOnSave(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path := filepath.Join(h.work, "a.txt")
		require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o644))
		editor := lateEditor(t, h, 30*time.Millisecond, func(o *testeditor.Options) {
			o.Format = func(_, text string) string { return strings.ReplaceAll(text, "TWO", "Two;") }
		})
		model.On("edit", modelserver.Step{Tools: []modelserver.ToolCall{toRead(path)}}, modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, "two", "TWO")}},
			modelserver.Step{Tools: []modelserver.ToolCall{toEdit(path, "Two;", "2")}}, modelserver.Step{Text: "Edited."})
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.openWith(h, editor)
		end := s.prompt("edit").end(turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, []string{"completed", "completed", "completed"}, end.tools())
		require.Contains(t, seenByModel(model, "edit", 2), "when it saved it")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "one\n2\n", string(data))
		c.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
		_ = c.stdin.Close()
		<-c.exited
		next := startAgent(t, h).initialize()
		next.mustCall("session/load", map[string]any{"sessionId": s.id, "cwd": h.work, "mcpServers": []any{}}, nil)
		for _, l := range append(c.transcriptLines(), next.transcriptLines()...) {
			require.NotContains(t, l, "when it saved it", "the user is not told")
			require.NotContains(t, l, "hook")
			require.NotContains(t, l, "system-reminder")
		}
	})
}

// Edits through the editor are shown like others, and what a patch adds or changes is listed as the agent's; what it renames or deletes is
// removed from the disk.
func TestDiffsWithEditorFiles(t *testing.T) {
	alsoFar(t)
	for name, editings := range map[string]func(h home, x string) []editing{"edits": plainEditings, "patches": patchEditings} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				if name == "patches" {
					require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Name: gpt5, Provider: modelserver.Responses}))
				}
				editor := lateEditor(t, h, 30*time.Millisecond)
				testEditsIn(t, model, startAgent(t, h).openWith(h, editor), h, editings)
				for path, text := range h.files(t) {
					_, now, listed := editor.Review(path)
					changed := text != patchBefore && !strings.Contains(path, "moved.")
					require.Equal(t, changed, listed, path)
					if listed {
						require.Equal(t, text, now, path)
					}
				}
			})
		})
	}
}

// Large files are edited through the editor as well, as long as droid runs its hooks: 0.99 starts none after an edit of a file above about
// 125 kB. Unsaved text is in the edit in both cases.
func TestLargeEditsAreTheAgents(t *testing.T) {
	alsoFar(t)
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
