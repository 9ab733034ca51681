package adapter

import (
	"encoding/json"
	"strings"

	"droid-acp/internal/patch"
	"droid-acp/internal/paths"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

const (
	// maxReplaced bounds the text that replacing makes, in bytes: a short text in
	// many places may become a long one in each.
	maxReplaced = 4 << 20
	// maxScanned bounds the text that replacements are looked for in, in bytes, each
	// time it is gone through anew; some 100 ms of work.
	maxScanned = 128 << 20
	// maxChanges and maxShown bound the changes of one call that are shown, by their
	// number and in bytes. The others are told.
	maxChanges = 100
	maxShown   = 4 << 20
	// maxNames bounds the names in a sentence.
	maxNames = 10
	// maxDiff bounds what one diff shows, old and new together, in bytes. Of larger
	// files only the lines that change are shown.
	maxDiff = 1 << 20
	// maxBeginning bounds what is shown of a change that is longer than that, in
	// bytes.
	maxBeginning = 16 << 10
)

// edit is the view of a call that changes files.
type edit struct {
	changes []change
	texts   map[string]fileText // read for it before it is described
}

// change is what a call does to one file. Old and new are the whole file, or,
// where that is not known, the lines that change.
type change struct {
	path     string  // absolute
	old, new *string // nil: there is no such file
	part     bool    // not the whole file
	from     string  // name until now of a file that cannot be read, absolute
	line     int     // first line that changes, from 1; 0 when it is not known
}

func isEdit(name string) bool {
	switch name {
	case "Create", "Edit", "MultiEdit", "ApplyPatch":
		return true
	}
	return false
}

// whole is a change of which both texts are known.
func whole(path string, oldText, newText *string) change {
	c := change{path: path, old: oldText, new: newText}
	var before, after string
	if oldText != nil {
		before = *oldText
	}
	if newText != nil {
		after = *newText
	}
	c.line = firstDifference(before, after)
	return c
}

// firstDifference is the number of the first line in which two texts differ,
// from 1.
func firstDifference(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + strings.Count(a[:n], "\n")
}

// replacement is one change of an Edit or MultiEdit (0.99 to 0.225).
type replacement struct {
	OldStr    string `json:"old_str"`
	NewStr    string `json:"new_str"`
	ChangeAll bool   `json:"change_all"`
}

// plannedChanges are the changes that the input of a call asks for. Files are
// read for it, small ones: this is before the call runs. In a conversation of
// the past they have long changed.
func (s *Session) plannedChanges(name string, raw json.RawMessage) []change {
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
	path := paths.Absolute(s.cwd, in.FilePath)
	switch {
	case name == "ApplyPatch":
		return s.patchChanges(in.Input)
	case in.FilePath == "":
	case name == "Create" && in.Content != nil:
		old, _ := s.readText(path)
		return []change{whole(path, old, in.Content)}
	case name == "Edit" && (in.OldStr != "" || in.NewStr != ""):
		return s.replacements(path, []replacement{in.replacement})
	case name == "MultiEdit":
		return s.replacements(path, in.Changes)
	}
	return nil
}

func (s *Session) replacements(path string, list []replacement) []change {
	if old, known := s.readText(path); known && old != nil {
		if text, ok := replacedIn(*old, list); ok {
			return []change{whole(path, old, &text)}
		}
	}
	var out []change
	for _, r := range list {
		out = append(out, change{path: path, old: &r.OldStr, new: &r.NewStr, part: true})
	}
	return out
}

// replacedIn is a text after replacements, false when one does not fit, the text
// gets too long, or it would take too long.
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

// patchChanges are the changes of an ApplyPatch. Its parts follow on each other.
func (s *Session) patchChanges(text string) []change {
	files, err := patch.Parse(text)
	if err != nil {
		return nil
	}
	var out changeList
	read := func(path string) (*string, bool) {
		if c := out.whole(path); c != nil {
			return c.new, true
		}
		return s.readText(path)
	}
	for _, f := range files {
		path := paths.Absolute(s.cwd, f.Path)
		old, known := read(path)
		switch f.Op {
		case patch.Add:
			out.add(whole(path, old, &f.Text))
		case patch.Delete:
			out.add(whole(path, old, nil))
		case patch.Update:
			replaced, _ := read(paths.Absolute(s.cwd, f.MoveTo))
			out.add(s.updated(path, old, known, f, replaced)...)
		}
	}
	return out.list
}

// updated are the changes of a file that a patch updates, and of the one whose
// name it gets.
func (s *Session) updated(path string, old *string, known bool, f patch.File, replaced *string) []change {
	if known && old != nil {
		if text, err := f.Apply(*old); err == nil {
			if f.MoveTo == "" {
				return []change{whole(path, old, &text)}
			}
			return []change{whole(path, old, nil), whole(paths.Absolute(s.cwd, f.MoveTo), replaced, &text)}
		}
	}
	var out []change
	for _, h := range f.Hunks {
		before, after := strings.Join(h.Old, "\n"), strings.Join(h.New, "\n")
		out = append(out, change{path: path, old: &before, new: &after, part: true})
	}
	if f.MoveTo != "" {
		out = append(out, change{path: paths.Absolute(s.cwd, f.MoveTo), from: path, part: true})
	}
	return out
}

// editEnded shows what an edit has changed, or was refused to change.
func (s *Session) editEnded(ev quirks.ToolEnded, e *edit, update *protocol.ToolCall) {
	if ev.Unfinished {
		return
	}
	var without []change
	if update.Status == protocol.StatusCompleted {
		e.changes, without = s.done(e.changes, ev.Content)
	}
	update.Content = diffs(s.cwd, e.changes)
	if len(without) > 0 {
		update.Content = append(update.Content, protocol.TextContent(notChanged(s.cwd, without, ev.Content)))
	}
	update.Locations = changeLocations(e.changes)
	if update.Status == protocol.StatusFailed || len(e.changes) == 0 {
		update.Content = append(update.Content, resultContent(ev.Content)...)
	}
}

// done compares the changes with what is on disk now and with droid's result,
// which know better where another call or a hook changed the same file. Files of
// several that are as they were come back apart: of a patch that adds two files
// droid 0.99 adds the first, and 0.225 leaves out what does not fit; both call
// that a success.
func (s *Session) done(changes []change, result json.RawMessage) (made, without []change) {
	lines, failed := diffLines(s.cwd, result), failedFiles(s.cwd, result)
	if len(changes) == 0 && lines != nil {
		return []change{*lines}, nil
	}
	for _, c := range changes {
		now, known := s.readText(c.path)
		switch {
		case failed[c.path] != "":
			without = append(without, c)
		case !c.part && (!known || same(now, c.new)):
			made = append(made, c)
		case lines != nil && len(changes) == 1:
			return []change{*lines}, nil
		case !c.part && !same(now, c.old):
			made = append(made, whole(c.path, c.old, now))
		case !c.part && len(changes) > 1:
			without = append(without, c)
		default:
			made = append(made, c)
		}
	}
	if lines != nil && changes[0].part {
		return []change{*lines}, nil
	}
	return made, without
}

// failedFiles are the files that an ApplyPatch did not change, with droid's
// words for it (0.225).
func failedFiles(cwd string, raw json.RawMessage) map[string]string {
	var result struct {
		Files []struct {
			FilePath string `json:"file_path"`
			Error    string `json:"error"`
		} `json:"files"`
	}
	if json.Unmarshal([]byte(resultText(raw)), &result) != nil {
		return nil
	}
	failed := make(map[string]string)
	for _, f := range result.Files {
		failed[paths.Absolute(cwd, f.FilePath)] = f.Error
	}
	return failed
}

// notChanged names the files that a call left as they were, and why.
func notChanged(cwd string, changes []change, result json.RawMessage) string {
	failed := failedFiles(cwd, result)
	return "Not changed by droid: " + fileNames(cwd, changes, func(path string) string {
		if why := failed[path]; why != "" {
			return " (" + why + ")"
		}
		return ""
	})
}

func same(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// diffLines reads the lines that an Edit changed from its result (0.99 to
// 0.225), nil when it has none.
func diffLines(cwd string, raw json.RawMessage) *change {
	var result struct {
		FilePath  string `json:"file_path"`
		DiffLines []struct {
			Type       string
			Content    string
			LineNumber struct{ Old, New int }
		} `json:"diffLines"`
	}
	text := resultText(raw)
	if json.Unmarshal([]byte(text), &result) != nil || len(result.DiffLines) == 0 || result.FilePath == "" {
		return nil
	}
	var before, after strings.Builder
	c := change{path: paths.Absolute(cwd, result.FilePath), part: true}
	for _, l := range result.DiffLines {
		if l.Type != "added" {
			before.WriteString(l.Content + "\n")
		}
		if l.Type != "removed" {
			after.WriteString(l.Content + "\n")
		}
		if l.Type != "unchanged" && c.line == 0 {
			c.line = max(l.LineNumber.Old, l.LineNumber.New)
		}
	}
	b, a := before.String(), after.String()
	c.old, c.new = &b, &a
	return &c
}
