package render

import (
	"encoding/json"
	"strings"

	"droid-acp/internal/quirks"
	"droid-acp/internal/text/patch"
	"droid-acp/internal/text/paths"
)

// NeededFiles returns the absolute paths of the files whose texts are needed to show an event, for diffs.
func (v *View) NeededFiles(ev quirks.Event) (named []string) {
	switch ev := ev.(type) {
	case quirks.ToolStarted:
		named = EditedFiles(ev.Name, ev.Input, v.cwd)
	case quirks.ToolInput:
		named = EditedFiles(ev.Name, ev.Input, v.cwd)
	case quirks.PermissionRequested:
		for _, tool := range ev.Tools {
			named = append(named, EditedFiles(tool.ToolUse.Name, tool.ToolUse.Input, v.cwd)...)
		}
	case quirks.ToolEnded:
		if ev.Unfinished || ev.IsError {
			return nil
		}
		for _, c := range v.call(ev.ID).planned() {
			named = append(named, c.path)
		}
	}
	return named
}

// EditedFiles returns the files in the input of a call that changes files.
func EditedFiles(name string, raw json.RawMessage, cwd string) (named []string) {
	var in struct {
		FilePath string `json:"file_path"`
		Input    string `json:"input"`
	}
	if !toolOf(name).edits || json.Unmarshal(raw, &in) != nil {
		return nil
	}
	if name != "ApplyPatch" {
		if in.FilePath == "" {
			return nil
		}
		return []string{paths.Absolute(cwd, in.FilePath)}
	}
	files, err := patch.Parse(in.Input)
	if err != nil {
		return nil
	}
	for _, f := range files {
		named = append(named, paths.Absolute(cwd, f.Path))
		if f.MoveTo != "" {
			named = append(named, paths.Absolute(cwd, f.MoveTo))
		}
	}
	return named
}

// TextAfterEdit returns a file as an edit leaves it, computed from the call's input and the files before the edit. It is not Known if these do
// not fit.
func TextAfterEdit(name string, input json.RawMessage, cwd, path string, before Files) File {
	v := View{cwd: cwd, files: make(Files)}
	for at, f := range before {
		if f.Text != nil { // droid edits \r\n as \n
			f.Text = new(strings.ReplaceAll(*f.Text, "\r\n", "\n"))
		}
		v.files[at] = f
	}
	changes := listed(v.plannedChanges(name, input)).of(path)
	if len(changes) != 1 || changes[0].part {
		return File{}
	}
	return File{Text: changes[0].new, Known: true}
}

// SameText reports whether two files are known to have the same text, ignoring line endings.
func (f File) SameText(other File) bool {
	if !f.Known || !other.Known || f.Text == nil || other.Text == nil {
		return f.Known && other.Known && f.Text == other.Text
	}
	plain := func(text string) string { return strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n") }
	return plain(*f.Text) == plain(*other.Text)
}

// readText returns the text of a file that was read for the current event, nil if there is no such file. known is false if it could not be
// read in time, cannot be shown, or was not read, as for a history, whose files have changed since.
func (v *View) readText(path string) (text *string, known bool) {
	if v.past {
		return nil, false
	}
	f := v.files[path]
	return f.Text, f.Known
}
