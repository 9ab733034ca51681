package render

import (
	"encoding/json"
	"strings"

	"droid-acp/internal/text/paths"
)

// done returns which changes a successful call has made, from the files on disk and droid's result: another call or a hook may have changed
// the same file. without are the changes that were not made: of a patch that adds two files droid 0.99 adds only the first, and 0.225 skips
// what does not fit; both report success.
func (v *View) done(changes []fileChange, result json.RawMessage) (made, without []fileChange) {
	lines, failed := diffLines(v.cwd, result), failedFiles(v.cwd, result)
	if len(changes) == 0 && lines != nil {
		return []fileChange{*lines}, nil
	}
	for _, c := range changes {
		now, known := v.readText(c.path)
		switch {
		case failed[c.path] != "":
			without = append(without, c)
		case !c.part && (!known || same(now, c.new)):
			made = append(made, c)
		case lines != nil && len(changes) == 1:
			return []fileChange{*lines}, nil
		case !c.part && !same(now, c.old):
			made = append(made, c.to(now))
		case !c.part && len(changes) > 1:
			without = append(without, c)
		default:
			made = append(made, c)
		}
	}
	if lines != nil && changes[0].part {
		return []fileChange{*lines}, nil
	}
	return made, without
}

// failedFiles returns the files that an ApplyPatch did not change, with droid's reason (0.225).
func failedFiles(cwd string, raw json.RawMessage) map[string]string {
	var result struct {
		Files []struct {
			FilePath string `json:"file_path"`
			Error    string `json:"error"`
		} `json:"files"`
	}
	if json.Unmarshal([]byte(ResultText(raw)), &result) != nil {
		return nil
	}
	failed := make(map[string]string)
	for _, f := range result.Files {
		failed[paths.Absolute(cwd, f.FilePath)] = f.Error
	}
	return failed
}

// notChanged lists the files that a call did not change, with reasons.
func notChanged(cwd string, changes []fileChange, result json.RawMessage) string {
	failed := failedFiles(cwd, result)
	return "Not changed by droid: " + fileNames(cwd, changes, func(path, name string) string {
		if why := failed[path]; why != "" {
			return verbatim(name) + " (" + verbatim(why) + ")"
		}
		return verbatim(name)
	})
}

func same(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// diffLines returns the changed lines from the result of an Edit (0.99 to 0.225), nil if it has none.
func diffLines(cwd string, raw json.RawMessage) *fileChange {
	file, lines := EditedLines(raw)
	if len(lines) == 0 {
		return nil
	}
	var before, after strings.Builder
	c := fileChange{path: paths.Absolute(cwd, file), part: true}
	for _, l := range lines {
		if l.Type != "added" {
			before.WriteString(l.Content + "\n")
		}
		if l.Type != "removed" {
			after.WriteString(l.Content + "\n")
		}
		if l.Type != "unchanged" && c.line == 0 {
			c.line = max(l.Old, l.New)
		}
	}
	c.old, c.new = new(before.String()), new(after.String())
	return &c
}
