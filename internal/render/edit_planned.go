package render

import (
	"encoding/json"
	"strings"

	"droid-acp/internal/text/patch"
	"droid-acp/internal/text/paths"
)

// replacement is a replacement of an Edit or MultiEdit (0.99 to 0.225).
type replacement struct {
	OldStr    string `json:"old_str"`
	NewStr    string `json:"new_str"`
	ChangeAll bool   `json:"change_all"`
}

// plannedChanges returns the changes that the input of a call requests, based on the files before the call where known.
func (v *View) plannedChanges(name string, raw json.RawMessage) []fileChange {
	var in struct {
		FilePath string        `json:"file_path"`
		Content  *string       `json:"content"`
		Changes  []replacement `json:"changes"`
		Input    string        `json:"input"`
		replacement
	}
	if json.Unmarshal(raw, &in) != nil {
		return nil
	}
	path := paths.Absolute(v.cwd, in.FilePath)
	switch {
	case name == "ApplyPatch":
		return v.patchChanges(in.Input)
	case in.FilePath == "":
	case name == "Create" && in.Content != nil:
		old, known := v.readText(path)
		return []fileChange{over(path, old, known, in.Content)}
	case name == "Edit" && (in.OldStr != "" || in.NewStr != ""):
		return v.replacements(path, []replacement{in.replacement})
	case name == "MultiEdit":
		return v.replacements(path, in.Changes)
	}
	return nil
}

func (v *View) replacements(path string, list []replacement) []fileChange {
	if old, known := v.readText(path); known && old != nil {
		if text, ok := replacedIn(*old, list); ok {
			return []fileChange{whole(path, old, &text)}
		}
	}
	var out []fileChange
	for _, r := range list {
		out = append(out, fileChange{path: path, old: &r.OldStr, new: &r.NewStr, part: true})
	}
	return out
}

// replacedIn applies replacements to a text. It returns false if one does not fit, or if the result or the effort exceeds its limit.
func replacedIn(text string, list []replacement) (string, bool) {
	scanned := 0
	for _, r := range list {
		if scanned += len(text); scanned > maxScanned || !strings.Contains(text, r.OldStr) || r.OldStr == "" {
			return "", false
		}
		n := 1
		if r.ChangeAll {
			n = strings.Count(text, r.OldStr)
		}
		if len(text)+n*(len(r.NewStr)-len(r.OldStr)) > maxReplaced {
			return "", false
		}
		text = strings.Replace(text, r.OldStr, r.NewStr, n)
	}
	return text, true
}

// patchChanges returns the changes of an ApplyPatch, whose parts build on each other.
func (v *View) patchChanges(text string) []fileChange {
	files, err := patch.Parse(text)
	if err != nil {
		return nil
	}
	var out changeList
	read := func(path string) (*string, bool) {
		if c := out.whole(path); c != nil {
			return c.new, true
		}
		return v.readText(path)
	}
	for _, f := range files {
		path := paths.Absolute(v.cwd, f.Path)
		old, known := read(path)
		switch f.Op {
		case patch.Add:
			out.add(over(path, old, known, &f.Text))
		case patch.Delete:
			out.add(over(path, old, known, nil))
		case patch.Update:
			to := paths.Absolute(v.cwd, f.MoveTo)
			replaced, readable := read(to)
			out.add(v.updated(path, old, known, f, over(to, replaced, readable, nil))...)
		}
	}
	return out.list
}

// updated returns the changes of a file that a patch updates, and of the file that it is renamed to, which is replaced.
func (v *View) updated(path string, old *string, known bool, f patch.File, replaced fileChange) []fileChange {
	if known && old != nil {
		if text, err := f.Apply(*old); err == nil {
			if f.MoveTo == "" {
				return []fileChange{whole(path, old, &text)}
			}
			return []fileChange{whole(path, old, nil), replaced.to(&text)}
		}
	}
	var out []fileChange
	for _, h := range f.Hunks {
		out = append(out, fileChange{path: path, old: new(strings.Join(h.Old, "\n")), new: new(strings.Join(h.New, "\n")), part: true})
	}
	if f.MoveTo != "" {
		out = append(out, fileChange{path: replaced.path, from: path, part: true})
	}
	return out
}
