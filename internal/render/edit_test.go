package render

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// planned are the changes of an input whose files were read.
func planned(s *harness, tool string, raw json.RawMessage) []fileChange {
	s.read(EditedFiles(tool, raw, s.cwd)...)
	return s.plannedChanges(tool, raw)
}

func input(t *testing.T, fields map[string]any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(fields)
	require.NoError(t, err)
	return raw
}

func textOf(s string) *string { return &s }

func TestPlannedChanges(t *testing.T) {
	s, path := inDirectory(t, "a.txt", "one\ntwo\ntwo\n")
	added := filepath.Join(s.cwd, "b.txt")
	for _, tc := range []struct {
		name, tool string
		input      map[string]any
		want       []fileChange
	}{
		{"a new file", "Create", map[string]any{"file_path": added, "content": "x\n"}, []fileChange{{path: added, new: textOf("x\n"), line: 1}}},
		{"a file replaced", "Create", map[string]any{"file_path": path, "content": "one\n2\n"},
			[]fileChange{{path: path, old: textOf("one\ntwo\ntwo\n"), new: textOf("one\n2\n"), line: 2}}},
		{"the first of two", "Edit", map[string]any{"file_path": "a.txt", "old_str": "two", "new_str": "2"},
			[]fileChange{{path: path, old: textOf("one\ntwo\ntwo\n"), new: textOf("one\n2\ntwo\n"), line: 2}}},
		{"all", "Edit", map[string]any{"file_path": path, "old_str": "two", "new_str": "2", "change_all": true},
			[]fileChange{{path: path, old: textOf("one\ntwo\ntwo\n"), new: textOf("one\n2\n2\n"), line: 2}}},
		{"what is not there", "Edit", map[string]any{"file_path": path, "old_str": "three", "new_str": "3"},
			[]fileChange{{path: path, old: textOf("three"), new: textOf("3"), part: true}}},
		{"several", "MultiEdit", map[string]any{"file_path": path, "changes": []any{
			map[string]any{"old_str": "one", "new_str": "1"}, map[string]any{"old_str": "1\ntwo", "new_str": "1\n2"}}},
			[]fileChange{{path: path, old: textOf("one\ntwo\ntwo\n"), new: textOf("1\n2\ntwo\n"), line: 1}}},
		{"a patch", "ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: b.txt\n+x\n*** End Patch"},
			[]fileChange{{path: path, old: textOf("one\ntwo\ntwo\n"), new: textOf("one\n2\ntwo\n"), line: 2}, {path: added, new: textOf("x"), line: 1}}},
		{"a patch that does not fit", "ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Update File: a.txt\n-four\n+4\n*** End Patch"},
			[]fileChange{{path: path, old: textOf("four"), new: textOf("4"), part: true}}},
		{"no input yet", "Edit", map[string]any{"file_path": path}, nil},
		{"nonsense", "Create", map[string]any{"file_path": 7}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, planned(s, tc.tool, input(t, tc.input)))
		})
	}
	s.files = nil
	require.Equal(t, []fileChange{{path: path, old: textOf("one"), new: textOf("1"), part: true}},
		s.plannedChanges("Edit", input(t, map[string]any{"file_path": path, "old_str": "one", "new_str": "1"})), "no file is read for the past")
}

// Output of the model must not produce a text that fills the memory.
func TestReplacementsAreBounded(t *testing.T) {
	s, path := inDirectory(t, "a.txt", strings.Repeat("x", 1<<10))
	long := strings.Repeat("y", 1<<13)
	for _, old := range []string{"", "x"} {
		s.read(path)
		list := []replacement{{OldStr: old, NewStr: long, ChangeAll: true}}
		require.Equal(t, []fileChange{{path: path, old: &old, new: &long, part: true}}, s.replacements(path, list))
	}
}

// What fits to the byte is shown whole.
func TestLongestReplacement(t *testing.T) {
	for over, fits := range []bool{true, false} {
		text, ok := replacedIn("ab", []replacement{{OldStr: "a", NewStr: strings.Repeat("x", maxReplaced-1+over)}})
		require.Equal(t, fits, ok)
		require.Equal(t, fits, len(text) == maxReplaced)
	}
}

// The number of bytes for repeated searches of a text is limited.
func TestSearchIsBounded(t *testing.T) {
	text := strings.Repeat("a", maxReplaced)
	for over, fits := range []bool{true, false} {
		list := make([]replacement, maxScanned/maxReplaced+over)
		for i := range list {
			list[i] = replacement{OldStr: "a", NewStr: "b"}
		}
		_, ok := replacedIn(text, list)
		require.Equal(t, fits, ok)
	}
}

// The input of a patch names no file, so the title of its call does.
func TestTitleOfAPatch(t *testing.T) {
	s, _ := inDirectory(t, "a.txt", "one\n")
	raw := input(t, map[string]any{"input": "*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Add File: b.txt\n+x\n*** End Patch"})
	require.Equal(t, []string{"tool_call t pending ApplyPatch a.txt, b.txt", "tool_call_update t in_progress"},
		s.event(started("t", "ApplyPatch", string(raw)), ran("t")))
}

// An input that is too large to be passed on still has a diff.
func TestLargeInputIsDescribed(t *testing.T) {
	s, path := inDirectory(t, "a.txt", "one\n")
	var changes []any
	for range maxRaw / maxRawText {
		changes = append(changes, map[string]any{"old_str": "none", "new_str": strings.Repeat("x", maxRawText)})
	}
	view := s.open("t", "MultiEdit")
	call := s.describe(view, "MultiEdit", input(t, map[string]any{"file_path": path, "changes": changes}))
	require.Nil(t, call.RawInput)
	require.Len(t, view.planned(), len(changes))
}

const oneLine = `{"file_path":"a.txt","diffLines":[{"type":"unchanged","content":"one","lineNumber":{"old":1,"new":1}},` +
	`{"type":"removed","content":"two","lineNumber":{"old":2}},{"type":"added","content":"2","lineNumber":{"new":2}}]}`

// The diff of a finished edit is checked against the disk.
func TestDoneIsCheckedAgainstTheDisk(t *testing.T) {
	s, path := inDirectory(t, "a.txt", "one\n2\n")
	done := func(planned fileChange, result string) []fileChange {
		s.read(path)
		made, without := s.done([]fileChange{planned}, endedWith(t, result).Content)
		require.Empty(t, without)
		return made
	}
	planned := whole(path, textOf("one\ntwo\n"), textOf("one\n2\n"))
	require.Equal(t, []fileChange{planned}, done(planned, oneLine))

	wrong := whole(path, textOf("zero\none\ntwo\n"), textOf("zero\none\n2\n"))
	require.Equal(t, []fileChange{{path: path, old: textOf("one\ntwo\n"), new: textOf("one\n2\n"), part: true, line: 2}},
		done(wrong, oneLine), "droid's own lines, where the file is another")

	formatted := whole(path, textOf("one\ntwo\n"), textOf("one\n 2\n"))
	require.Equal(t, []fileChange{planned}, done(formatted, "File created successfully"), "a hook has changed it again")

	part := fileChange{path: path, old: textOf("two"), new: textOf("2"), part: true}
	require.Equal(t, 2, done(part, oneLine)[0].line)
	require.Equal(t, []fileChange{part}, done(part, "done"))
}

func endedWith(t *testing.T, result string) quirks.ToolEnded {
	t.Helper()
	raw, err := json.Marshal(result)
	require.NoError(t, err)
	return quirks.ToolEnded{Content: raw}
}

func TestLargeChangesAreBounded(t *testing.T) {
	exactly := strings.Repeat("x", maxBeginning)
	require.Equal(t, exactly, beginning(exactly))
	require.Equal(t, exactly+"…", beginning(exactly+"y"))
	require.Equal(t, "\n"+exactly[1:]+"…", beginning("\n"+exactly), "an empty line is no beginning")
	long := strings.Repeat("a line\n", 300_000)
	c := whole("/w/big.txt", textOf(long+"old\nend\n"), textOf(long+"new\nend\n"))
	require.Equal(t, 300_001, c.line)
	got := c.content("/w")
	require.Equal(t, "diff|big.txt is large (2.1 MB); only the lines that change are shown.", texts(got))
	require.Equal(t, "a line\na line\na line\nold\nend\n", *got[0].OldText)
	require.Equal(t, "a line\na line\na line\nnew\nend\n", *got[0].NewText)

	got = whole("/w/big.txt", nil, textOf(long)).content("/w")
	text, begins, _ := strings.Cut(texts(got), "\n\n")
	require.Equal(t, "big.txt is large (2.1 MB); its change is too long to be shown whole. The new text begins:", text)
	require.Equal(t, "```\n"+long[:maxBeginning/7*7]+"…\n```", begins)
	got = whole("/w/big.txt", nil, textOf(strings.Repeat("x", maxDiff+1))).content("/w")
	require.Contains(t, texts(got), "\n"+strings.Repeat("x", maxBeginning)+"…\n", "one long line")
	got = whole("/w/big.txt", textOf(long), nil).content("/w")
	require.Equal(t, "Deletes big.txt (2.1 MB)", texts(got))
	got = whole("/w/big.txt", textOf(long), textOf("")).content("/w")
	require.Equal(t, "big.txt is large (2.1 MB); its change is too long to be shown whole.", texts(got), "emptied")
}

// droid 0.99 describes a patch of several files by its text alone.
func TestAskedChangesOfAPatchWithoutFiles(t *testing.T) {
	s, path := inDirectory(t, "a.txt", "one\n")
	planned := []fileChange{whole(path, textOf("one\n"), textOf("1\n"))}
	got := askedChanges(stream.PermissionToolUse{Confirmation: "apply_patch",
		Details: stream.PermissionDetails{FilePath: "a.txt", OldContent: textOf(""), PatchContent: "*** Begin Patch"}}, planned, s.cwd)
	require.Equal(t, planned, got)
	require.Equal(t, "```diff\n*** Begin Patch\n```", permissionText(stream.PermissionToolUse{Confirmation: "apply_patch",
		Details: stream.PermissionDetails{PatchContent: "*** Begin Patch"}}, false))
}

// droid's description of a patch and the patch itself are shown together: no change of a file is omitted.
func TestAskedChangesOfAPatch(t *testing.T) {
	s, path := inDirectory(t, "a.txt", "one\n")
	other := filepath.Join(s.cwd, "b.txt")
	ask := func(patch string, d stream.PermissionDetails) []fileChange {
		changes := planned(s, "ApplyPatch", input(t, map[string]any{"input": "*** Begin Patch\n" + patch + "\n*** End Patch"}))
		return askedChanges(stream.PermissionToolUse{Confirmation: "apply_patch", Details: d}, changes, s.cwd)
	}
	update, added := whole(path, textOf("one\n"), textOf("1\n")), whole(other, nil, textOf("x"))
	for _, tc := range []struct {
		name, patch string
		details     stream.PermissionDetails
		want        []fileChange
	}{
		{"0.99 describes a new file as an empty one", "*** Add File: b.txt\n+x",
			stream.PermissionDetails{FilePath: other, OldContent: textOf(""), NewContent: textOf("x")}, []fileChange{added}},
		{"0.99 describes the first of two files", "*** Add File: b.txt\n+x\n*** Update File: a.txt\n-one\n+1",
			stream.PermissionDetails{FilePath: other, OldContent: textOf(""), NewContent: textOf("x")}, []fileChange{added, update}},
		{"a file that is there is overwritten, 0.99", "*** Add File: a.txt\n+1",
			stream.PermissionDetails{FilePath: path, OldContent: textOf(""), NewContent: textOf("1\n")}, []fileChange{update}},
		{"a file that is there is overwritten, 0.225", "*** Add File: a.txt\n+1",
			stream.PermissionDetails{Files: []stream.PermissionFile{{FilePath: path, Operation: "create", OldContent: textOf(""), NewContent: textOf("1\n")}}}, []fileChange{update}},
		{"a file gets another name, 0.225", "*** Update File: a.txt\n*** Move to: b.txt\n-one\n+1",
			stream.PermissionDetails{Files: []stream.PermissionFile{{FilePath: path, Operation: "update", MoveTo: other, OldContent: textOf("one\n"), NewContent: textOf("1\n")}}},
			[]fileChange{whole(path, textOf("one\n"), nil), whole(other, nil, textOf("1\n"))}},
		{"a file goes, 0.225", "*** Delete File: a.txt",
			stream.PermissionDetails{Files: []stream.PermissionFile{{FilePath: path, Operation: "delete", OldContent: textOf("one\n")}}}, []fileChange{whole(path, textOf("one\n"), nil)}},
		{"lines that are not there, 0.225", "*** Update File: a.txt\n-nine\n+9",
			stream.PermissionDetails{Files: []stream.PermissionFile{{FilePath: path, Operation: "update"}}}, []fileChange{{path: path, old: textOf("nine"), new: textOf("9"), part: true}}},
		{"a file changes twice, 0.225", "*** Update File: a.txt\n-one\n+2\n*** Update File: a.txt\n-2\n+1",
			stream.PermissionDetails{Files: []stream.PermissionFile{{FilePath: path, Operation: "update", OldContent: textOf("one\n"), NewContent: textOf("2\n")},
				{FilePath: path, Operation: "update", OldContent: textOf("2\n"), NewContent: textOf("1\n")}}}, []fileChange{update}},
		{"a file changes twice, 0.99", "*** Update File: a.txt\n-one\n+2\n*** Update File: a.txt\n-2\n+1", stream.PermissionDetails{FilePath: path}, []fileChange{update}},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, ask(tc.patch, tc.details)) })
	}
	// A new file without a text is as it was planned, and not a file that goes.
	require.Equal(t, []fileChange{added}, askedChanges(stream.PermissionToolUse{Confirmation: "create", Details: stream.PermissionDetails{FilePath: other}}, []fileChange{added}, s.cwd))
	require.Equal(t, []fileChange{update}, askedChanges(stream.PermissionToolUse{Confirmation: "edit",
		Details: stream.PermissionDetails{FilePath: path, OldContent: textOf("one\n"), NewContent: textOf("1\n"), Content: textOf("other")}}, nil, s.cwd))
	// What was unsaved in the editor was saved after droid asked (0.99).
	saved := whole(path, textOf("zero\none\n"), textOf("zero\n1\n"))
	require.Equal(t, []fileChange{saved}, askedChanges(stream.PermissionToolUse{Confirmation: "edit",
		Details: stream.PermissionDetails{FilePath: path, OldContent: textOf("one\n"), NewContent: textOf("1\n")}}, []fileChange{saved}, s.cwd))
	require.Equal(t, []fileChange{update}, askedChanges(stream.PermissionToolUse{Confirmation: "edit",
		Details: stream.PermissionDetails{FilePath: path, OldContent: textOf("one\n"), NewContent: textOf("1\n")}}, []fileChange{whole(path, nil, textOf("1\n"))}, s.cwd))
	// An Edit is of one file, whatever droid calls it.
	link := filepath.Join(s.cwd, "link.txt")
	require.Equal(t, []fileChange{whole(link, textOf("one\n"), textOf("1\n"))}, askedChanges(stream.PermissionToolUse{Confirmation: "edit",
		Details: stream.PermissionDetails{FilePath: link, OldContent: textOf("one\n"), NewContent: textOf("1\n")}}, []fileChange{update}, s.cwd))
}

// A patch that takes the place of another file shows that file's text.
func TestPlannedMoveOverAFile(t *testing.T) {
	s, path := inDirectory(t, "a.txt", "one\n")
	other := filepath.Join(s.cwd, "b.txt")
	s.disk[other] = "old\n"
	require.Equal(t, []fileChange{whole(path, textOf("one\n"), nil), whole(other, textOf("old\n"), textOf("1\n"))},
		planned(s, "ApplyPatch", input(t, map[string]any{"input": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n-one\n+1\n*** End Patch"})))
}

// A file that cannot be read is not shown as an empty one when a patch deletes it,
// and its new name is not left out.
func TestPatchOfAFileThatCannotBeRead(t *testing.T) {
	s, _ := inDirectory(t, "a.bin", "\xff\xfe\n")
	for patch, want := range map[string]string{
		"*** Delete File: a.bin":                                     "Deletes a.bin",
		"*** Update File: a.bin\n*** Move to: b.bin":                 "Renames a.bin to b.bin",
		"*** Update File: a.bin\n*** Move to: b.bin\n@@\n-one\n+two": "diff|Renames a.bin to b.bin",
	} {
		changes := planned(s, "ApplyPatch", input(t, map[string]any{"input": "*** Begin Patch\n" + patch + "\n*** End Patch"}))
		require.Equal(t, want, texts(diffs(s.cwd, changes)))
		if strings.HasPrefix(want, "diff|") {
			require.Len(t, changeLocations(changes), 2)
		}
	}
	// Nor is a text that is put over it shown as that of a new file, also in the end.
	const text = "The text for a.bin:\n\n```\nx\n```"
	moved := filepath.Join(s.cwd, "c.txt")
	for _, tc := range []struct {
		tool    string
		input   map[string]any
		details stream.PermissionDetails
		want    string
	}{
		{"Create", map[string]any{"file_path": "a.bin", "content": "x\n"}, stream.PermissionDetails{Type: "create", FilePath: "a.bin", Content: textOf("x\n")}, text},
		{"ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Add File: a.bin\n+x\n*** End Patch"}, stream.PermissionDetails{Type: "apply_patch"}, text},
		{"ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Add File: a.bin\n+x\n*** End Patch"},
			stream.PermissionDetails{Type: "apply_patch", FilePath: "a.bin", OldContent: textOf(""), NewContent: textOf("x\n")}, text},
		{"ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Add File: a.bin\n+x\n*** End Patch"}, stream.PermissionDetails{Type: "apply_patch",
			Files: []stream.PermissionFile{{FilePath: "a.bin", Operation: "create", NewContent: textOf("x\n")}}}, text},
		{"ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Add File: a.bin\n+x\n*** End Patch"}, stream.PermissionDetails{Type: "apply_patch",
			Files: []stream.PermissionFile{{FilePath: "a.bin", Operation: "create", OldContent: textOf("z\n"), NewContent: textOf("x\n")}}}, "diff"},
		{"ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Add File: a.bin\n+z\n*** Update File: a.bin\n-z\n+x\n*** End Patch"}, stream.PermissionDetails{Type: "apply_patch"}, text},
		{"ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Delete File: a.bin\n*** Add File: a.bin\n+x\n*** End Patch"}, stream.PermissionDetails{Type: "apply_patch"}, text},
		{"ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Update File: c.txt\n*** Move to: a.bin\n-y\n+x\n*** End Patch"}, stream.PermissionDetails{Type: "apply_patch"}, "diff|" + text},
		{"ApplyPatch", map[string]any{"input": "*** Begin Patch\n*** Update File: c.txt\n*** Move to: a.bin\n-y\n+x\n*** End Patch"}, stream.PermissionDetails{Type: "apply_patch",
			Files: []stream.PermissionFile{{FilePath: "c.txt", MoveTo: "a.bin", Operation: "update", OldContent: textOf("y\n"), NewContent: textOf("x\n")}}}, "diff|" + text},
	} {
		raw := input(t, tc.input)
		s.disk[moved] = "y\n"
		s.event(started("t", tc.tool, string(raw)), ran("t"))
		tool := stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "t", Name: tc.tool, Input: raw}, Confirmation: tc.details.Type, Details: tc.details}
		ev := askedAbout(tool)
		step, _ := s.Permission(ev, s.texts(s.NeededFiles(ev)...), PermissionContext{Mode: stream.ModeNormal}).Next()
		require.Equal(t, tc.want, texts(step.Choice.ToolCall.Content), "%s", raw)
		delete(s.disk, moved)
		out := s.Event(s.moment(), ended("t", tc.tool, "done"), s.texts(s.NeededFiles(ended("t", tc.tool, "done"))...))
		require.Equal(t, tc.want, texts(out[len(out)-1].(protocol.ToolCall).Content), "%s", raw)
	}
}

// droid 0.99 adds the first of two files and calls that a success.
func TestFilesThatDidNotChangeAreNamed(t *testing.T) {
	s, path := inDirectory(t, "a.txt", "x\n")
	e := &editView{shownCall: &shownCall{v: s.View}, changes: []fileChange{whole(path, nil, textOf("x")), whole(filepath.Join(s.cwd, "b.txt"), nil, textOf("y"))}}
	update := protocol.ToolCall{Status: protocol.StatusCompleted}
	s.read(path, filepath.Join(s.cwd, "b.txt"))
	e.ended(endedWith(t, `{"success":true}`), &update)
	require.Equal(t, "diff|Not changed by droid: b.txt", texts(update.Content))
	require.Equal(t, "x\n", *update.Content[0].NewText)
	require.Len(t, update.Locations, 1)

	for want, c := range map[string]fileChange{
		"Deletes `__a__`":                      whole("/w/__a__", nil, nil),
		"Deletes `a\\u00a0b`":                  whole("/w/a\u00a0b", nil, nil),
		"Renames `__a__` to b":                 {path: "/w/b", from: "/w/__a__", part: true},
		"Deletes `__a__` (1.0 MB)":             whole("/w/__a__", textOf(strings.Repeat("x", maxDiff+1)), nil),
		"The text for `__a__`:\n\n```\nx\n```": over("/w/__a__", nil, false, textOf("x")),
	} {
		require.Equal(t, want, texts(c.content("/w")))
	}
	long := texts(over("/w/c", nil, false, textOf(strings.Repeat("x\n", maxBeginning))).content("/w"))
	require.True(t, strings.HasSuffix(long, fmt.Sprintf("x\n…\n```\n\n%d more bytes of it are not shown.", maxBeginning)), long[len(long)-80:])
	list := slices.Repeat([]fileChange{{path: "/w/b", part: true}}, maxChanges)
	require.Contains(t, texts(diffs("/w", append(list, whole("/w/__a__", nil, nil), whole("/w/c", nil, nil)))), "|2 more changes are too many to be shown here: `__a__`, c")
	require.Equal(t, "Not changed by droid: `__a__` (`no <b>`), c", notChanged("/w", []fileChange{whole("/w/__a__", nil, nil), whole("/w/c", nil, nil)},
		endedWith(t, `{"files":[{"file_path":"__a__","error":"no <b>"}]}`).Content))

	// 0.225 goes on with the other files, and calls that a success too.
	e = &editView{shownCall: &shownCall{v: s.View}, changes: []fileChange{whole(path, nil, textOf("x")), {path: filepath.Join(s.cwd, "b.txt"), old: textOf("8"), new: textOf("9"), part: true}}}
	update = protocol.ToolCall{Status: protocol.StatusCompleted}
	e.ended(endedWith(t, `{"success":true,"files":[{"file_path":"a.txt"},{"file_path":"b.txt","error":"Invalid context"}]}`), &update)
	require.Equal(t, "diff|Not changed by droid: b.txt (Invalid context)", texts(update.Content))
}

// droid may have written a file before it is read for a call that needs no permission. Then its old text is unknown, and the diff does not show
// it as unchanged. While droid waits for permission, it has written nothing.
func TestFileThatIsWrittenBeforeItIsRead(t *testing.T) {
	for tool, raw := range map[string]string{
		"Create":     `{"file_path":"a.txt","content":"one"}`,
		"ApplyPatch": `{"input":"*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch"}`,
	} {
		for _, text := range []string{"", "one"} {
			s, path := inDirectory(t, "a.txt", text)
			ev := quirks.ToolStarted{ID: "t", Name: tool, Input: json.RawMessage(raw)}
			s.Event(s.moment(), ev, s.texts(s.NeededFiles(ev)...))
			s.disk[path] = "one"
			end := endedWith(t, `{"success":true,"file_path":"a.txt"}`)
			end.ID = "t"
			out := s.Event(s.moment(), end, s.texts(s.NeededFiles(end)...))
			require.Equal(t, "The text for a.txt:\n\n```\none\n```", texts(out[len(out)-1].(protocol.ToolCall).Content), tool)

			s, path = inDirectory(t, "a.txt", text)
			s.event(started("t", tool, raw))
			request := askedAbout(stream.PermissionToolUse{ToolUse: stream.ToolUse{ID: "t", Name: tool, Input: json.RawMessage(raw)}, Confirmation: "create"})
			p := s.Permission(request, s.texts(path), PermissionContext{Mode: stream.ModeNormal})
			require.Equal(t, "diff", texts(p.shown.Content), tool)
		}
	}
}

// A call that changes more than a person can read is shown in part, named in full, and processed in bounded time.
func TestLargeCallsAreShownInPart(t *testing.T) {
	s, _ := inDirectory(t, "a.txt", "")
	shown := func(tool string, raw json.RawMessage) []protocol.ToolContent {
		changes := planned(s, tool, raw)
		require.LessOrEqual(t, len(changeLocations(changes)), maxChanges)
		return diffs(s.cwd, changes)
	}
	got := shown(manyReplacements(t, s))
	require.Len(t, got, maxChanges+1)
	require.Equal(t, "line 19999 ", *got[0].OldText)
	require.Equal(t, "19900 more changes are too many to be shown here: big.txt", texts(got[maxChanges:]))

	got = shown(manyFiles(t))
	require.Len(t, got, maxChanges+1)
	require.Equal(t, "49900 more changes are too many to be shown here: dir/100, dir/101, dir/102, dir/103, dir/104, dir/105, dir/106, dir/107, dir/108, dir/109 and 49890 more",
		texts(got[maxChanges:]))

	got = shown(manyLines(t, s))
	require.Equal(t, "diff|big.txt is large (0.5 MB); only the lines that change are shown.", texts(got), "the lines of the patch")
}

// droid's report of a file replaces the planned change, and comes first if no change was planned.
func TestReplacedChanges(t *testing.T) {
	one, two, told := whole("/a", nil, textOf("1")), whole("/b", nil, textOf("2")), whole("/a", nil, textOf("told"))
	require.Equal(t, []fileChange{told, two}, replaced([]fileChange{one, two, one}, told))
	require.Equal(t, []fileChange{two, told}, replaced([]fileChange{two, one}, told))
	require.Equal(t, []fileChange{told, two}, replaced([]fileChange{two}, told))
}

// Together the diffs of a call show so much text at most; both sides count.
func TestShownTextIsBounded(t *testing.T) {
	half := strings.Repeat("x", maxDiff/2)
	var changes []fileChange
	for i := range 2*maxShown/maxDiff + 1 {
		changes = append(changes, whole(fmt.Sprintf("/w/%d", i), nil, &half))
	}
	require.Equal(t, maxShown/maxDiff*2, strings.Count(texts(diffs("/w", changes)), "diff"))
	for i := range changes {
		changes[i] = whole(changes[i].path, &half, textOf(""))
	}
	require.Equal(t, maxShown/maxDiff*2, strings.Count(texts(diffs("/w", changes)), "diff"))
}

// The first change is shown, whatever its size; the following ones may be too much.
func TestFirstChangeIsShown(t *testing.T) {
	huge, small := whole("/w/huge", textOf(strings.Repeat("x", maxShown+1)), nil), whole("/w/small", nil, textOf("x"))
	require.Equal(t, "Deletes huge (4.2 MB)", texts(diffs("/w", []fileChange{huge})))
	require.Equal(t, "diff|1 more changes are too many to be shown here: huge", texts(diffs("/w", []fileChange{small, huge})))
}

// What two texts have in common is cut off but for three lines on each side.
func TestChangedLines(t *testing.T) {
	rest := "1\n2\n3\n4\n5\n6\n"
	for _, tc := range []struct{ a, b, wantA, wantB string }{
		{"a\n" + rest, "b\n" + rest, "a\n1\n2\n3\n", "b\n1\n2\n3\n"},
		{rest + "a\n", rest + "b\n", "4\n5\n6\na\n", "4\n5\n6\nb\n"},
		{rest + "a\n" + rest, rest + rest, "4\n5\n6\na\n1\n2\n3\n", "4\n5\n6\n1\n2\n3\n"},
		{"a", "b", "a", "b"},
		{"", "b\n", "", "b\n"},
	} {
		a, b := changedLines(tc.a, tc.b)
		require.Equal(t, []string{tc.wantA, tc.wantB}, []string{a, b})
	}
}
