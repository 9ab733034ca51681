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

const patchBefore = "line one\nline two\nline three\n"

// editing is a set of edits in one answer of the model.
type editing struct {
	name  string
	calls []modelserver.ToolCall
}

// plainEditings change a file each. File names end in x: droid refuses to edit a file that changed since it last read it.
func plainEditings(h home, x string) []editing {
	return []editing{
		{"create", []modelserver.ToolCall{{Name: "Create", Args: map[string]any{"file_path": filepath.Join(h.work, "new.c"+x), "content": "hello\nthere\n"}}}},
		{"edit", []modelserver.ToolCall{{Name: "Edit", Args: map[string]any{"file_path": filepath.Join(h.work, "a.e"+x), "old_str": "line two", "new_str": "line 2"}}}},
	}
}

// Parts of patches. X is replaced by the suffix of file names.
const (
	updateA    = "*** Update File: a.X\n@@\n line one\n-line two\n+line 2\n line three\n"
	updateB    = "*** Update File: b.X\n@@\n-line three\n+line 3\n"
	updateA3   = "*** Update File: a.X\n@@\n-line three\n+line 3\n"
	addNew     = "*** Add File: new.X\n+hello\n+there\n"
	addOther   = "*** Add File: other.X\n+other\n"
	updateNone = "*** Update File: c.X\n@@\n-line nine\n+line 9\n"
	replaceB   = "*** Add File: b.X\n+hello\n"
	deleteC    = "*** Delete File: c.X\n"
	renameC    = "*** Update File: c.X\n*** Move to: moved.X\n@@\n-line one\n+line 1\n"
)

// applyPatch is a call of ApplyPatch: a JSON object in 0.99, bare text in 0.225,
// whatever the API.
func (h home) applyPatch(x string, parts ...string) modelserver.ToolCall {
	patch := "*** Begin Patch\n" + strings.ReplaceAll(strings.Join(parts, ""), ".X", "."+x) + "*** End Patch"
	if h.version == oldDroid {
		return modelserver.ToolCall{Name: "ApplyPatch", Args: map[string]any{"input": patch}}
	}
	return modelserver.ToolCall{Name: "ApplyPatch", Args: modelserver.Raw(patch)}
}

// patchEditings change three files each, but for the last, which overwrites one.
// The ApplyPatch of 0.99 can update or add one file, so that three take three
// calls there.
func patchEditings(h home, x string) []editing {
	if h.version == oldDroid {
		x = "patches" + x
		return []editing{{"patches", []modelserver.ToolCall{h.applyPatch(x, updateA), h.applyPatch(x, addNew), h.applyPatch(x, updateB)}}}
	}
	return []editing{
		{"delete", []modelserver.ToolCall{h.applyPatch("delete"+x, updateA, addNew, deleteC)}},
		{"rename", []modelserver.ToolCall{h.applyPatch("rename"+x, updateA, updateB, renameC)}},
		{"replace", []modelserver.ToolCall{h.applyPatch("replace"+x, replaceB)}},
	}
}

// files returns the texts of the workspace.
func (h home) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(h.work, "*.*"))
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		all[path] = string(data)
	}
	return all
}

// diffsOf returns the diffs among items, by path.
func diffsOf(items []item) map[string]item {
	out := map[string]item{}
	for _, i := range items {
		if i.Type == "diff" {
			out[i.Path] = i
		}
	}
	return out
}

// requireDiffs checks that diffs turn the texts before into the texts after. A removed file has the text "", since ACP cannot express the
// removal.
func requireDiffs(t *testing.T, diffs map[string]item, before, after map[string]string) {
	t.Helper()
	changed := map[string]bool{}
	for path := range before {
		changed[path] = true
	}
	for path := range after {
		changed[path] = true
	}
	for path := range changed {
		old, existed := before[path]
		text, exists := after[path]
		if old == text && existed == exists {
			delete(changed, path)
			continue
		}
		require.Contains(t, diffs, path)
		if existed {
			require.NotNil(t, diffs[path].OldText)
			require.Equal(t, old, *diffs[path].OldText)
		} else {
			require.Nil(t, diffs[path].OldText, "%s is new", path)
		}
		require.Equal(t, text, diffs[path].NewText)
	}
	require.Len(t, diffs, len(changed))
}

// requireTrue is requireDiffs where droid does not wait for permission, and may have written a file before its old text is read: a diff is of
// a part of the file then, or there is only text.
func requireTrue(t *testing.T, items []item, before, after map[string]string) {
	t.Helper()
	for path, d := range diffsOf(items) {
		old, existed := before[path]
		require.Equal(t, existed, d.OldText != nil, path)
		if existed {
			require.Contains(t, old, *d.OldText, path)
		}
		require.Contains(t, after[path], d.NewText, path)
		delete(after, path)
	}
	for path, text := range after {
		if text != before[path] {
			require.Contains(t, itemText(items), filepath.Base(path))
		}
	}
}

// The diffs that a client gets, before and after, result in the bytes on disk; after a refusal the files are unchanged.
func TestEditsAsDiffs(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) { testEdits(t, model, h, plainEditings) })
}

// gpt5 makes droid offer ApplyPatch instead of Create and Edit: 0.99 for every model of the provider "openai", 0.225 for names like this
// one of any provider.
const gpt5 = "gpt-5-scripted"

func TestPatchesAsDiffs(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Name: gpt5, Provider: modelserver.Responses}))
		testEdits(t, model, h, patchEditings)
	})
	t.Run("chat completions", func(t *testing.T) {
		t.Parallel()
		model := newModel(t)
		h := newHome(t, newDroid, model.URL())
		require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Name: gpt5}))
		testEdits(t, model, h, patchEditings)
	})
}

func testEdits(t *testing.T, model *modelserver.Server, h home, editings func(h home, x string) []editing) {
	c := startAgent(t, h)
	testEditsIn(t, model, c.open(h), h, editings)
}

func testEditsIn(t *testing.T, model *modelserver.Server, s session, h home, editings func(h home, x string) []editing) {
	c := s.client
	answers := map[string]func(permission) string{"allowed": allowOnce, "refused": rejectOnce, "unasked": noAnswer}
	for _, how := range []string{"allowed", "refused", "unasked"} {
		c.onPermission(answers[how])
		if how == "unasked" {
			c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-high"}, nil)
		}
		for _, edit := range editings(h, how) {
			for _, name := range []string{"a.", "b.", "c."} {
				h.write(t, name+edit.name+how, patchBefore)
			}
			h.write(t, "a.e"+how, patchBefore)
			testEdit(t, model, s, h, how, edit)
		}
	}
}

// write creates a file in the workspace.
func (h home) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(h.work, name), []byte(text), 0o644))
}

// testEdit makes the model edit files once, and checks what the client sees.
func testEdit(t *testing.T, model *modelserver.Server, s session, h home, how string, edit editing) {
	before, word, asked := h.files(t), edit.name+how, len(s.asked())
	for i := range edit.calls {
		edit.calls[i].ID = fmt.Sprint(word, i)
	}
	model.On(word, modelserver.Step{Text: "I change it. ", Tools: edit.calls}, modelserver.Step{Text: "Changed."})
	end := s.prompt(word).end(turnLimit)
	require.Nil(t, end.Err, word)
	after := h.files(t)
	var last []item
	for _, call := range edit.calls {
		updates := end.ofTool(call.ID)
		require.NotEmpty(t, updates, call.ID)
		final := updates[len(updates)-1]
		last = append(last, final.items()...)
		if how == "refused" {
			require.Equal(t, "failed", final.Status)
			require.NotEmpty(t, diffsOf(final.items()), "the diff stays visible")
			require.NotEmpty(t, itemText(final.items()), "and why it failed")
		} else {
			require.Equal(t, "completed", final.Status, "%s", final.raw)
		}
	}
	if how == "refused" {
		require.Equal(t, before, after)
	} else {
		require.NotEqual(t, before, after)
	}
	if how == "allowed" {
		requireDiffs(t, diffsOf(last), before, after)
	}
	if how == "unasked" {
		requireTrue(t, last, before, after)
		require.Len(t, s.asked(), asked, "nothing was asked")
		return
	}
	require.Len(t, s.asked(), asked+1)
	var call struct {
		Content   []item
		Locations []struct {
			Path string
			Line int
		}
	}
	require.NoError(t, json.Unmarshal(s.asked()[asked].ToolCall, &call))
	require.NotEmpty(t, call.Locations)
	for _, l := range call.Locations {
		require.True(t, filepath.IsAbs(l.Path))
		require.Positive(t, l.Line)
	}
	shown := diffsOf(call.Content)
	for path, diff := range diffsOf(last) { // the edit was made as approved, except for a final newline
		require.Contains(t, shown, path)
		require.Equal(t, diff.OldText, shown[path].OldText, path)
		require.Equal(t, strings.TrimSuffix(diff.NewText, "\n"), strings.TrimSuffix(shown[path].NewText, "\n"), path)
	}
	require.Len(t, shown, len(diffsOf(last)))
}

// droid applies only a part of a patch. The client is asked about all files, and then sees the result for each: the ApplyPatch of 0.99
// fails on several files, unless it adds them; then it adds the first and reports success; 0.225 skips what does not fit.
func TestPatchesInPart(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Name: gpt5, Provider: modelserver.Responses}))
		for _, name := range []string{"a.x", "b.x", "c.x"} {
			h.write(t, name, patchBefore)
		}
		before := h.files(t)
		c := startAgent(t, h).onPermission(allowOnce)
		s := c.open(h)
		apply := func(word string, files int, parts ...string) update {
			call := h.applyPatch("x", parts...)
			call.ID = word
			model.On(word, modelserver.Step{Text: "I patch. ", Tools: []modelserver.ToolCall{call}}, modelserver.Step{Text: "Patched."})
			asked := len(c.asked())
			end := s.prompt(word).end(turnLimit)
			require.Nil(t, end.Err)
			require.Len(t, c.asked(), asked+1)
			var shown struct{ Content []item }
			require.NoError(t, json.Unmarshal(c.asked()[asked].ToolCall, &shown))
			require.Len(t, diffsOf(shown.Content), files, "all files are shown before")
			updates := end.ofTool(word)
			return updates[len(updates)-1]
		}
		if h.version == oldDroid {
			last := apply("three", 3, updateA, addNew, deleteC)
			require.Equal(t, "failed", last.Status)
			require.Contains(t, itemText(last.items()), "Error: ")
			require.Equal(t, before, h.files(t))

			last = apply("added", 2, addNew, addOther)
			require.Equal(t, "completed", last.Status)
			requireDiffs(t, diffsOf(last.items()), before, h.files(t))
			require.Contains(t, itemText(last.items()), "Not changed by droid: other.x")
			return
		}
		last := apply("part", 2, updateB, updateNone)
		require.Equal(t, "completed", last.Status)
		requireDiffs(t, diffsOf(last.items()), before, h.files(t))
		require.Contains(t, itemText(last.items()), "Not changed by droid: c.x (")

		before = h.files(t)
		last = apply("twice", 1, updateA, updateA3)
		require.Equal(t, "completed", last.Status)
		requireDiffs(t, diffsOf(last.items()), before, h.files(t))
		require.Len(t, last.items(), 1)

		h.write(t, "d.x", "\xff\xfe") // no text that a diff could show
		last = apply("binary", 0, "*** Delete File: d.x\n")
		require.Equal(t, "completed", last.Status)
		require.Equal(t, "Deletes d.x", itemText(last.items()))
	})
}

// A file of several megabytes is shown by its changed lines, or by its beginning.
func TestEditOfALargeFile(t *testing.T) {
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path := filepath.Join(h.work, "big.txt")
		text := strings.Repeat("a line of a large file\n", 150_000) + "the needle\n"
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		s := startAgent(t, h).onPermission(allowOnce).open(h)
		for _, word := range []string{"asked", "unasked"} {
			old, replaced := "the needle", "the thread"
			if word == "unasked" {
				old, replaced = replaced, old
				s.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-high"}, nil)
			}
			model.On(word, modelserver.Step{Text: "I edit. ", Tools: []modelserver.ToolCall{{
				ID: word, Name: "Edit", Args: map[string]any{"file_path": path, "old_str": old, "new_str": replaced},
			}}}, modelserver.Step{Text: "Edited."})
			end := s.prompt(word).end(turnLimit)
			require.Nil(t, end.Err)
			updates := end.ofTool(word)
			total := 0
			for _, u := range updates {
				total += len(u.raw)
			}
			last := updates[len(updates)-1]
			require.Equal(t, "completed", last.Status)
			require.Less(t, total, 10_000)
			require.Contains(t, diffsOf(last.items())[path].NewText, replaced)
		}
		require.Contains(t, string(s.asked()[0].ToolCall), "only the lines that change are shown")
		require.Less(t, len(s.asked()[0].ToolCall), 10_000)

		s.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "normal"}, nil)
		model.On("created", modelserver.Step{Text: "I create. ", Tools: []modelserver.ToolCall{{
			ID: "created", Name: "Create", Args: map[string]any{"file_path": filepath.Join(h.work, "new.txt"), "content": text},
		}}}, modelserver.Step{Text: "Created."})
		end := s.prompt("created").end(2 * turnLimit)
		require.Nil(t, end.Err)
		require.Equal(t, []string{"completed"}, end.tools())
		require.Contains(t, string(s.asked()[1].ToolCall), "The new text begins")
		require.Less(t, len(s.asked()[1].ToolCall), 100_000)
		for _, u := range end.ofTool("created") {
			require.Less(t, len(u.raw), 100_000)
		}
	})
}

// A failed edit is shown with the model's error text, and a Create over an existing file is not a new file when the session is loaded.
func TestFailedEditShowsReason(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path, over := filepath.Join(h.work, "a.txt"), filepath.Join(h.work, "over.txt")
		require.NoError(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o644))
		require.NoError(t, os.WriteFile(over, []byte("old text\n"), 0o644))
		edit, create := toEdit(path, "two", "2"), toCreate(over, "new text\n")
		edit.ID, create.ID = "edit", "create"
		model.On("go", modelserver.Step{Tools: []modelserver.ToolCall{toRead(path)}}, modelserver.Step{Tools: []modelserver.ToolCall{edit}},
			modelserver.Step{Tools: []modelserver.ToolCall{create}}, modelserver.Step{Text: "Done."})
		c := startAgent(t, h)
		c.onPermission(func(p permission) string {
			if strings.Contains(string(p.ToolCall), `"edit"`) && strings.Contains(string(p.ToolCall), "a.txt") {
				later := time.Now().Add(time.Hour)
				require.NoError(t, os.WriteFile(path, []byte("one\ntwo, changed\n"), 0o644))
				require.NoError(t, os.Chtimes(path, later, later))
			}
			return allowOnce(p)
		})
		s := c.open(h)
		require.Nil(t, s.prompt("go").end(turnLimit).Err)
		last := func(from int, id string) (content string) {
			for _, l := range c.since(from) {
				if strings.Contains(l.raw, `"tool_call_update","toolCallId":"`+id+`"`) && strings.Contains(l.raw, `"content":`) {
					content = l.raw
				}
			}
			return content
		}
		require.Contains(t, last(0, "edit"), "has been modified externally since it was last read")
		require.Contains(t, last(0, "create"), `"oldText":"old text\n"`)
		from := c.seen()
		c.mustCall("session/load", h.params(s.id), nil)
		require.Contains(t, last(from, "edit"), "has been modified externally since it was last read")
		require.NotContains(t, last(from, "create"), "oldText")
		require.Contains(t, last(from, "create"), "new text")
	})
}

// The project contains links to the user's home: the permission request for an edit names the file that would be written, and a link that
// changes while the request is open is refused, with the editor's files and without.
func TestEditsThroughLinksNameTheRealFile(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		for _, files := range []string{"disk", "editor"} {
			t.Run(files, func(t *testing.T) {
				bashrc, link := filepath.Join(h.dir, ".bashrc"), filepath.Join(h.work, "notes.md."+files)
				require.NoError(t, os.WriteFile(bashrc, []byte(patchBefore), 0o644))
				require.NoError(t, os.Symlink(bashrc, link))
				require.NoError(t, os.Symlink(h.dir, filepath.Join(h.work, "build."+files)))
				profile := ".profile." + files
				swapped := filepath.Join(h.work, "swapped."+files)
				require.NoError(t, os.WriteFile(swapped, []byte(patchBefore), 0o644))
				c := startAgent(t, h)
				var s session
				if files == "editor" {
					s = c.openWith(h, lateEditor(t, h, 0))
				} else {
					s = c.open(h)
				}
				for word, edit := range map[string]modelserver.ToolCall{
					"link":      toEdit(link, "line two", "line 2"),
					"directory": toCreate(filepath.Join(h.work, "build."+files, profile), "new\n"),
				} {
					real := map[string]string{"link": bashrc, "directory": filepath.Join(h.dir, profile)}[word]
					for _, answer := range []func(permission) string{rejectOnce, allowOnce} {
						c.onPermission(answer)
						asked := len(s.asked())
						model.On(word, modelserver.Step{Text: "I change it. ", Tools: []modelserver.ToolCall{edit}}, modelserver.Step{Text: "Changed."})
						require.Nil(t, s.prompt(word).end(turnLimit).Err)
						require.Len(t, s.asked(), asked+1)
						call := string(s.asked()[asked].ToolCall)
						require.Contains(t, call, fmt.Sprintf(`"title":"%s %s (linked from `, edit.Name, real), call)
						require.Contains(t, call, fmt.Sprintf(`"path":%q`, real), call)
						require.Contains(t, call, "outside the session's directories", call)
					}
					text, err := os.ReadFile(real)
					require.NoError(t, err)
					require.Contains(t, []string{"line one\nline 2\nline three\n", "new\n"}, string(text), "it is where the request said")
				}
				require.NoError(t, os.MkdirAll(filepath.Join(h.dir, "deep"), 0o755))
				require.NoError(t, os.Symlink(filepath.Join(h.dir, "deep"), filepath.Join(h.work, "deep."+files)))
				model.On("above", modelserver.Step{Text: "I change it. ", Tools: []modelserver.ToolCall{toCreate(h.work+"/deep."+files+"/../up."+files, "new\n")}}, modelserver.Step{Text: "Changed."})
				require.Nil(t, s.prompt("above").end(turnLimit).Err)
				_, err := os.Stat(filepath.Join(h.dir, "up."+files))
				require.Equal(t, h.version == oldDroid, err == nil, "0.99 goes up from where the link leads")
				require.Contains(t, string(s.asked()[len(s.asked())-1].ToolCall), `"title":"Create `+filepath.Join(h.dir, "up."+files)+" (linked from ")
				c.onPermission(func(p permission) string {
					require.NoError(t, os.Remove(swapped))
					require.NoError(t, os.Symlink(bashrc, swapped))
					return allowOnce(p)
				})
				before, err := os.ReadFile(bashrc)
				require.NoError(t, err)
				model.On("exchange", modelserver.Step{Text: "I change it. ", Tools: []modelserver.ToolCall{toEdit(swapped, "line three", "line 3")}}, modelserver.Step{Text: "Changed."})
				require.Nil(t, s.prompt("exchange").end(turnLimit).Err)
				after, err := os.ReadFile(bashrc)
				require.NoError(t, err)
				require.Equal(t, string(before), string(after))
				require.True(t, modelGot(model, "now, so this was refused"), "the model learns why")
			})
		}
	})
}
