package session

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/render"
)

// TestSinceEdits: the status of a file follows from the texts that droid's edits found and left.
func TestSinceEdits(t *testing.T) {
	const path, other = "/w/a", "/w/b"
	edit := func(id, from, to string) fileEdit {
		input, err := json.Marshal(map[string]string{"file_path": "a", "old_str": from, "new_str": to})
		require.NoError(t, err)
		return fileEdit{id, "Edit", input, []string{path}}
	}
	create := fileEdit{"c", "Create", []byte(`{"file_path":"/w/a","content":"new"}`), []string{path}}
	patch := func(text string) fileEdit {
		input, err := json.Marshal(map[string]string{"input": "*** Begin Patch\n" + text + "\n*** End Patch"})
		require.NoError(t, err)
		return fileEdit{"p", "ApplyPatch", input, render.EditedFiles("ApplyPatch", input, "/w")}
	}
	found := func(call, text string) store.Snapshot {
		return store.Snapshot{Call: call, Path: path, Text: &text, Known: true}
	}
	none := func(call, path string) store.Snapshot { return store.Snapshot{Call: call, Path: path, Known: true} }
	text := func(text string) render.File { return render.File{Text: &text, Known: true} }
	gone := render.File{Known: true}
	for name, c := range map[string]struct {
		taken []store.Snapshot
		edits []fileEdit
		disk  render.File
		want  render.EditStatus
	}{
		"as droid left it":              {[]store.Snapshot{found("1", "a\nb\n")}, []fileEdit{edit("1", "a", "x")}, text("x\nb\n"), render.OnlyEdited},
		"changed behind it":             {[]store.Snapshot{found("1", "a\nb\n")}, []fileEdit{edit("1", "a", "x")}, text("x\nb\nc\n"), render.FileChanged},
		"taken back by hand":            {[]store.Snapshot{found("1", "a\n")}, []fileEdit{edit("1", "a", "x")}, text("a\n"), render.FileChanged},
		"two edits":                     {[]store.Snapshot{found("1", "a\n"), found("2", "x\n")}, []fileEdit{edit("1", "a", "x"), edit("2", "x", "y")}, text("y\n"), render.OnlyEdited},
		"changed between them":          {[]store.Snapshot{found("1", "a\n"), found("2", "x\nm\n")}, []fileEdit{edit("1", "a", "x"), edit("2", "x", "y")}, text("y\nm\n"), render.FileChanged},
		"with one id":                   {[]store.Snapshot{found("1", "a\n"), found("1", "x\n")}, []fileEdit{edit("1", "a", "x"), edit("1", "x", "y")}, text("y\n"), render.OnlyEdited},
		"lines that end with \\r\\n":    {[]store.Snapshot{found("1", "a\r\nb\r\nc\r\n")}, []fileEdit{edit("1", "a\nb", "x\ny")}, text("x\r\ny\r\nc\r\n"), render.OnlyEdited},
		"created":                       {[]store.Snapshot{none("c", path)}, []fileEdit{create}, text("new\n"), render.OnlyEdited},
		"created, changed":              {[]store.Snapshot{none("c", path)}, []fileEdit{create}, text("new\nm\n"), render.FileChanged},
		"patched":                       {[]store.Snapshot{found("p", "a\nb\n")}, []fileEdit{patch("*** Update File: a\n@@\n-a\n+x\n b")}, text("x\nb\n"), render.OnlyEdited},
		"moved here":                    {[]store.Snapshot{{Call: "p", Path: other, Text: new("a\n"), Known: true}, none("p", path)}, []fileEdit{patch("*** Update File: b\n*** Move to: a\n@@\n-a\n+x")}, text("x\n"), render.OnlyEdited},
		"moved away":                    {[]store.Snapshot{found("p", "a\n"), none("p", other)}, []fileEdit{patch("*** Update File: a\n*** Move to: b\n@@\n-a\n+x")}, gone, render.FileGone},
		"removed, and made again":       {[]store.Snapshot{found("p", "a\n")}, []fileEdit{patch("*** Delete File: a")}, text("m\n"), render.FileChanged},
		"removed by somebody":           {[]store.Snapshot{found("1", "a\n")}, []fileEdit{edit("1", "a", "x")}, gone, render.FileGone},
		"no texts":                      {nil, []fileEdit{edit("1", "a", "x")}, text("x\n"), render.FileUnknown},
		"no history":                    {[]store.Snapshot{found("1", "a\n")}, nil, text("x\n"), render.FileUnknown},
		"an edit without its text":      {[]store.Snapshot{found("1", "a\n")}, []fileEdit{edit("1", "a", "x"), edit("2", "x", "y")}, text("y\n"), render.FileUnknown},
		"another call's text":           {[]store.Snapshot{found("2", "a\n")}, []fileEdit{edit("1", "a", "x")}, text("x\n"), render.FileUnknown},
		"a text that droid has dropped": {[]store.Snapshot{{Call: "1", Path: path}}, []fileEdit{edit("1", "a", "x")}, text("x\n"), render.FileUnknown},
		"dropped, and changed later":    {[]store.Snapshot{{Call: "1", Path: path}, found("2", "x\n")}, []fileEdit{edit("1", "a", "x"), edit("2", "x", "y")}, text("m\n"), render.FileChanged},
		"an edit that does not fit":     {[]store.Snapshot{found("1", "b\n")}, []fileEdit{edit("1", "a", "x")}, text("x\n"), render.FileUnknown},
		"a file that cannot be read":    {[]store.Snapshot{found("1", "a\n")}, []fileEdit{edit("1", "a", "x")}, render.File{}, render.FileUnknown},
	} {
		require.Equal(t, c.want, sinceEdits(path, "/w", c.taken, c.edits, c.disk), name)
	}
}

// TestEditsFrom: a refused or failed edit is none, nor is one from before the message.
func TestEditsFrom(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"1","role":"assistant","content":[{"type":"tool_use","id":"z","name":"Edit","input":{"file_path":"f"}}]},
		{"id":"2","role":"user","content":[{"type":"tool_result","toolUseId":"z","content":"done"}]},
		{"id":"3","role":"user","content":[{"type":"text","text":"two"}]},
		{"id":"4","role":"assistant","content":[{"type":"tool_use","id":"a","name":"Edit","input":{"file_path":"f"}},{"type":"tool_use","id":"b","name":"Create","input":{"file_path":"/g"}},{"type":"tool_use","id":"c","name":"Read","input":{"file_path":"f"}}]},
		{"id":"5","role":"user","content":[{"type":"tool_result","toolUseId":"a","isError":true,"content":"no"},{"type":"tool_result","toolUseId":"b","content":"done"},{"type":"tool_result","toolUseId":"c","content":"text"}]},
		{"id":"6","role":"assistant","content":[{"type":"tool_use","id":"d","name":"Edit","input":{"file_path":"f"}}]}]`), &messages))
	var got []string
	for _, e := range editsFrom(messages, "3", "/w") {
		got = append(got, fmt.Sprint(e.id, e.name, e.files))
	}
	require.Equal(t, []string{"bCreate[/g]"}, got)
}

// TestTurnsFrom: droid's own turns count, a failed edit does not, and results are not separate messages.
func TestTurnsFrom(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"1","role":"user","content":[{"type":"text","text":"one"}]},
		{"id":"2","role":"user","content":[{"type":"text","text":"two"}]},
		{"id":"3","role":"assistant","content":[{"type":"tool_use","id":"a","name":"Edit","input":{"file_path":"f"}}]},
		{"id":"4","role":"user","content":[{"type":"tool_result","toolUseId":"a","isError":true,"content":"no"}]},
		{"id":"5","role":"system","content":[{"type":"text","text":"a report"}]},
		{"id":"6","role":"assistant","content":[{"type":"tool_use","id":"b","name":"Edit","input":{"file_path":"f"}}]},
		{"id":"7","role":"user","content":[{"type":"tool_result","toolUseId":"b","content":"done"}]},
		{"id":"8","role":"user","content":[{"type":"text","text":"three"}]}]`), &messages))
	turns := func(from string) (got []string) {
		for id, edits := range turnsFrom(messages, from, "/workspace") {
			got = append(got, fmt.Sprint(id, edits))
		}
		return got
	}
	require.Equal(t, []string{"2false", "5true", "8false"}, turns("2"))
	require.Equal(t, []string{"8false"}, turns("8"))
	require.Equal(t, []string{"4false", "5true", "8false"}, turns("4"), "a prompt with a result before it")
	require.Empty(t, turns("9"))
}

// TestPoints: each prompt once, with all its text.
func TestPoints(t *testing.T) {
	var messages []stream.Message
	require.NoError(t, json.Unmarshal([]byte(`[
		{"id":"1","role":"user","content":[{"type":"text","text":"one\nmore lines"}]},
		{"id":"2","role":"assistant","content":[{"type":"text","text":"answer"}]},
		{"id":"3","role":"user","content":[{"type":"text","text":"two"}]}]`), &messages))
	points := RewindPoints(messages)
	require.Equal(t, []RewindPoint{{"1", "one\nmore lines"}, {"3", "two"}}, points)
	require.Empty(t, RewindPoints(nil))
}
