//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

const (
	patchBefore = "line one\nline two\nline three\n"
	threeFiles  = "*** Begin Patch\n*** Update File: a.X\n@@\n line one\n-line two\n+line 2\n line three\n" +
		"*** Add File: new.X\n+hello\n+there\n*** Update File: b.X\n@@\n-line three\n+line 3\n*** End Patch"
)

// editing is a call that changes files in the workspace.
type editing struct {
	name string
	call modelserver.ToolCall
}

// editings change files that end in x: droid refuses to edit a file that
// changed since it knew it.
func editings(h home, x string) []editing {
	return []editing{
		{"create", modelserver.ToolCall{Name: "Create", Args: map[string]any{"file_path": filepath.Join(h.work, "new.c"+x), "content": "hello\nthere\n"}}},
		{"edit", modelserver.ToolCall{Name: "Edit", Args: map[string]any{"file_path": filepath.Join(h.work, "a.e"+x), "old_str": "line two", "new_str": "line 2"}}},
		{"patch", modelserver.ToolCall{Name: "ApplyPatch", Args: modelserver.Raw(strings.ReplaceAll(threeFiles, ".X", ".p"+x))}},
	}
}

// files are the texts of the workspace.
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

// diffsOf are the diffs of a tool call, by path.
func diffsOf(items []item) map[string]item {
	out := map[string]item{}
	for _, i := range items {
		if i.Type == "diff" {
			out[i.Path] = i
		}
	}
	return out
}

// requireDiffs checks that diffs lead from the texts before to the texts after.
func requireDiffs(t *testing.T, diffs map[string]item, before, after map[string]string) {
	t.Helper()
	changed := 0
	for path, text := range after {
		if before[path] == text {
			continue
		}
		changed++
		require.Contains(t, diffs, path)
		if old, existed := before[path]; existed {
			require.NotNil(t, diffs[path].OldText)
			require.Equal(t, old, *diffs[path].OldText)
		} else {
			require.Nil(t, diffs[path].OldText)
		}
		require.Equal(t, text, diffs[path].NewText)
	}
	require.Len(t, diffs, changed)
}

// The diffs that a client gets, before and after, lead to the bytes on disk;
// after a refusal they are still there, and nothing has changed.
func TestEditsAsDiffs(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		testEdits(t, model, h, "create", "edit")
	})
}

// Models of some names get ApplyPatch in place of Create and Edit. 0.99 fails
// on a patch of several files by itself.
func TestPatchOfThreeFilesAsDiffs(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	h := newHome(t, newDroid, model.URL())
	require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Name: "gpt-5-scripted"}))
	testEdits(t, model, h, "patch")
}

func testEdits(t *testing.T, model *modelserver.Server, h home, names ...string) {
	c := startAgent(t, h)
	s := c.open(h)
	modes := map[string]func(permission) string{"allowed": allowOnce, "refused": rejectOnce, "unasked": noAnswer}
	for _, how := range []string{"allowed", "refused", "unasked"} {
		c.onPermission(modes[how])
		if how == "unasked" {
			c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-high"}, nil)
		}
		for _, name := range []string{"a.e", "a.p", "b.p"} {
			require.NoError(t, os.WriteFile(filepath.Join(h.work, name+how), []byte(patchBefore), 0o644))
		}
		for _, edit := range editings(h, how) {
			if !slices.Contains(names, edit.name) {
				continue
			}
			before := h.files(t)
			word := edit.name + how
			edit.call.ID = word
			model.On(word, modelserver.Step{Text: "I change it. ", Tools: []modelserver.ToolCall{edit.call}}, modelserver.Step{Text: "Changed."})
			asked := len(c.asked())
			end := s.prompt(word).end(turnLimit)
			require.Nil(t, end.Err, word)
			updates := end.ofTool(word)
			require.NotEmpty(t, updates, word)
			last := updates[len(updates)-1]
			after := h.files(t)
			t.Logf("%s %s: %s, %d permission requests", h.version, word, last.Status, len(c.asked())-asked)
			if how == "refused" {
				require.Equal(t, "failed", last.Status)
				require.Equal(t, before, after)
				require.NotEmpty(t, diffsOf(last.items()), "the diff stays visible")
				require.NotEmpty(t, itemText(last.items()), "and why it failed")
				continue
			}
			require.Equal(t, "completed", last.Status, "%s", last.raw)
			require.NotEqual(t, before, after)
			requireDiffs(t, diffsOf(last.items()), before, after)
			if how == "allowed" {
				require.Len(t, c.asked(), asked+1)
				var call struct {
					Content   []item
					Locations []struct {
						Path string
						Line int
					}
				}
				require.NoError(t, json.Unmarshal(c.asked()[asked].ToolCall, &call))
				for path, diff := range diffsOf(call.Content) {
					require.Equal(t, before[path] == "", diff.OldText == nil, path)
					require.Equal(t, strings.TrimSuffix(after[path], "\n"), strings.TrimSuffix(diff.NewText, "\n"))
				}
				require.NotEmpty(t, call.Locations)
				for _, l := range call.Locations {
					require.True(t, filepath.IsAbs(l.Path))
					require.Positive(t, l.Line)
				}
			} else {
				require.Len(t, c.asked(), asked, "nothing was asked")
			}
		}
	}
}

// A file of several megabytes is shown by the lines that change.
func TestEditOfALargeFile(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		path := filepath.Join(h.work, "big.txt")
		text := strings.Repeat("a line of a large file\n", 150_000) + "the needle\n"
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		c := startAgent(t, h)
		c.onPermission(allowOnce)
		s := c.open(h)
		for _, word := range []string{"asked", "unasked"} {
			old, replaced := "the needle", "the thread"
			if word == "unasked" {
				old, replaced = replaced, old
				c.mustCall("session/set_mode", map[string]any{"sessionId": s.id, "modeId": "auto-high"}, nil)
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
		require.Contains(t, string(c.asked()[0].ToolCall), "only the lines that change are shown")
		require.Less(t, len(c.asked()[0].ToolCall), 10_000)
	})
}
