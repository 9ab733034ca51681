package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/render"
	"droid-acp/internal/text/patch"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/udiff"
)

// editInput is the input of droid's editing tools (0.99 to 0.225).
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

// diff returns the diff of the replacement. Line numbers are unknown, and so is whether its last line is complete.
func (r replacement) diff() (lines []diffLine) {
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

// planned returns the changes that the input of a call requests.
func (b *builder) planned(c *openCall) (changes []fileDiff) {
	var in editInput
	if json.Unmarshal(c.input, &in) != nil {
		return nil // another form changes no file
	}
	file := paths.Relative(b.CWD, in.FilePath+in.Path)
	add := func(name string, lines []diffLine) {
		if len(lines) > 0 {
			changes = append(changes, fileDiff{File: name, Lines: lines})
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

// patched returns the changes of a patch, or its lines if it cannot be parsed.
func (b *builder) patched(text string) (changes []fileDiff) {
	files, err := patch.Parse(text)
	if err != nil {
		return []fileDiff{{File: "patch", Lines: signed(' ', text)}}
	}
	for _, f := range files {
		name := paths.Relative(b.CWD, f.Path)
		change := fileDiff{File: name, Lines: signed('+', f.Text)}
		if f.MoveTo != "" {
			change.File = name + " → " + paths.Relative(b.CWD, f.MoveTo)
		}
		if f.Op == patch.Delete {
			change.File = name + " (deleted)"
		}
		for _, h := range f.Hunks {
			change.Lines = append(change.Lines, diffLine{Sign: '@', Text: strings.TrimSpace("@@ " + h.Anchor)})
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

// edited returns the change with context from the result of an Edit.
func (b *builder) edited(content json.RawMessage) (fileDiff, bool) {
	file, lines := render.EditedLines(content)
	if len(lines) == 0 {
		return fileDiff{}, false
	}
	change := fileDiff{File: paths.Relative(b.CWD, file)}
	for len(lines) > 0 {
		n := hunk(lines)
		change.Lines = append(change.Lines, hunkLines(lines[:n])...)
		lines = lines[n:]
	}
	return change, true
}

// hunk returns the number of adjacent lines.
func hunk(lines []render.EditedLine) int {
	old, now := 0, 0 // the next line numbers
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

// hunkLines formats lines of a file as a unified diff.
func hunkLines(lines []render.EditedLine) []diffLine {
	out := make([]diffLine, 1, len(lines)+1)
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
		out = append(out, diffLine{Sign: sign, Text: string(sign) + strings.TrimRight(l.Content, "\r\n")})
	}
	out[0] = diffLine{Sign: '@', Text: fmt.Sprintf("@@ -%d,%d +%d,%d @@", old, olds, now, news)}
	if old == 0 && now == 0 { // line numbers are unknown
		return out[1:]
	}
	return out
}

// diff returns the unified diff of two texts.
func diff(before, after string) (lines []diffLine) {
	for _, l := range udiff.Lines(before, after) {
		lines = append(lines, diffLine{Sign: byte(l.Kind), Text: strings.TrimRight(l.Text, "\r")})
	}
	return lines
}

// signed returns lines of text, all with the same sign.
func signed(sign byte, text string) (lines []diffLine) {
	for line := range strings.Lines(text) {
		lines = append(lines, diffLine{Sign: sign, Text: string(sign) + strings.TrimRight(line, "\r\n")})
	}
	return lines
}
