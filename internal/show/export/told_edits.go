package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/show"
	"droid-acp/internal/text/patch"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/udiff"
)

// editInput is the input of droid's tools that change files (0.99 to 0.225).
type editInput struct {
	FilePath string `json:"file_path"`
	Path     string `json:"path"`
	replacement
	Changes []replacement `json:"changes"`
	Content string        `json:"content"`
	Patch   string        `json:"patch"`
	Input   string        `json:"input"`
}

type replacement struct {
	OldStr  string `json:"old_str"`
	OldText string `json:"old_string"`
	NewStr  string `json:"new_str"`
	NewText string `json:"new_string"`
	All     bool   `json:"change_all"`
}

// diff is what the replacement changes. Where its lines stand in the file is not known,
// and whether its end is that of a line neither.
func (r replacement) diff() (lines []Line) {
	for i, l := range diff(r.OldStr+r.OldText, r.NewStr+r.NewText) {
		switch {
		case l.Sign == '\\' || i == 0:
			continue
		case l.Sign == '@':
			l.Text = "@@"
		}
		lines = append(lines, l)
	}
	return lines
}

// planned are the changes that the input of a call says.
func (b *builder) planned(c *call) (changes []Change) {
	var in editInput
	if json.Unmarshal(c.input, &in) != nil {
		return nil // an input of another shape changes no file
	}
	file := paths.Relative(b.CWD, in.FilePath+in.Path)
	add := func(name string, lines []Line) {
		if len(lines) > 0 {
			changes = append(changes, Change{File: name, Lines: lines})
		}
	}
	for _, r := range append([]replacement{in.replacement}, in.Changes...) {
		name := file
		if r.All {
			name += " (wherever it stands)"
		}
		add(name, r.diff())
	}
	add(file, signed('+', in.Content))
	if text := in.Patch + in.Input; text != "" {
		changes = append(changes, b.patched(text)...)
	}
	return changes
}

// patched are the changes that a patch says, or its lines where it cannot be read.
func (b *builder) patched(text string) (changes []Change) {
	files, err := patch.Parse(text)
	if err != nil {
		return []Change{{File: "patch", Lines: signed(' ', text)}}
	}
	for _, f := range files {
		name := paths.Relative(b.CWD, f.Path)
		change := Change{File: name, Lines: signed('+', f.Text)}
		if f.MoveTo != "" {
			change.File = name + " → " + paths.Relative(b.CWD, f.MoveTo)
		}
		if f.Op == patch.Delete {
			change.File = name + " (deleted)"
		}
		for _, h := range f.Hunks {
			change.Lines = append(change.Lines, Line{Sign: '@', Text: strings.TrimSpace("@@ " + h.Anchor)})
			change.Lines = append(change.Lines, replacement{OldStr: joined(h.Old), NewStr: joined(h.New)}.diff()...)
		}
		changes = append(changes, change)
	}
	return changes
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// edited is the change as the result of an Edit tells it, with the lines around it.
func (b *builder) edited(content json.RawMessage) (Change, bool) {
	file, lines := show.EditedLines(content)
	if len(lines) == 0 {
		return Change{}, false
	}
	change := Change{File: paths.Relative(b.CWD, file)}
	for len(lines) > 0 {
		n := hunk(lines)
		change.Lines = append(change.Lines, hunkLines(lines[:n])...)
		lines = lines[n:]
	}
	return change, true
}

// hunk is how many lines stand together in the file.
func hunk(lines []show.EditedLine) int {
	old, now := 0, 0 // the numbers of the lines that follow
	for i, l := range lines {
		if l.Old != 0 && old != 0 && l.Old != old || l.New != 0 && now != 0 && l.New != now {
			return i
		}
		if l.Old != 0 {
			old = l.Old + 1
		}
		if l.New != 0 {
			now = l.New + 1
		}
	}
	return len(lines)
}

// hunkLines are lines of a file as a unified diff has them.
func hunkLines(lines []show.EditedLine) []Line {
	out := make([]Line, 1, len(lines)+1)
	var old, now, olds, news int
	for _, l := range lines {
		sign := byte(' ')
		switch l.Type {
		case "removed":
			sign = '-'
		case "added":
			sign = '+'
		}
		if sign != '+' {
			olds++
		}
		if sign != '-' {
			news++
		}
		old = cmp.Or(old, l.Old)
		now = cmp.Or(now, l.New)
		out = append(out, Line{Sign: sign, Text: string(sign) + strings.TrimRight(l.Content, "\r\n")})
	}
	out[0] = Line{Sign: '@', Text: fmt.Sprintf("@@ -%d,%d +%d,%d @@", old, olds, now, news)}
	if old == 0 && now == 0 { // droid does not tell where
		return out[1:]
	}
	return out
}

// diff is the unified diff of two texts.
func diff(before, after string) (lines []Line) {
	for _, l := range udiff.Lines(before, after) {
		lines = append(lines, Line{Sign: byte(l.Kind), Text: strings.TrimRight(l.Text, "\r")})
	}
	return lines
}

// signed are lines of text that all have one sign.
func signed(sign byte, text string) (lines []Line) {
	for line := range strings.Lines(text) {
		lines = append(lines, Line{Sign: sign, Text: string(sign) + strings.TrimRight(line, "\r\n")})
	}
	return lines
}
