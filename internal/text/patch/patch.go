// Package patch parses the patches of droid's ApplyPatch tool ("*** Begin Patch") into Files and applies them to text. show uses it to
// show edits; it does not access files.
package patch

import (
	"errors"
	"fmt"
	"strings"
)

// Op is the operation of a patch on a file.
type Op string

// Operations of a patch.
const (
	Update Op = "update"
	Add    Op = "add"
	Delete Op = "delete"
)

// File is the part of a patch for one file.
type File struct {
	Op     Op
	Path   string // as written in the patch
	MoveTo string // new name of an updated file, or ""
	Hunks  []Hunk // of an update
	Text   string // of an added file, without a final newline
}

// Hunk replaces the lines Old by New.
type Hunk struct {
	Anchor string // a line before the hunk, or ""
	Old    []string
	New    []string
	AtEnd  bool // Old is the end of the file
}

const (
	begin     = "*** Begin Patch"
	end       = "*** End Patch"
	update    = "*** Update File: "
	add       = "*** Add File: "
	remove    = "*** Delete File: "
	moveTo    = "*** Move to: "
	endOfFile = "*** End of File"
)

// Parse parses a patch. Text before its first or after its last line is an error.
func Parse(text string) ([]File, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) < 2 || strings.TrimSpace(lines[0]) != begin || strings.TrimSpace(lines[len(lines)-1]) != end {
		return nil, fmt.Errorf("a patch begins with %q and ends with %q", begin, end)
	}
	var files []File
	lines = lines[1 : len(lines)-1]
	for len(lines) > 0 {
		file, n, err := parseFile(lines)
		if err != nil {
			return nil, err
		}
		files, lines = append(files, file), lines[n:]
	}
	if len(files) == 0 {
		return nil, errors.New("the patch names no file")
	}
	return files, nil
}

// parseFile parses the part for the first file and returns the number of its lines.
func parseFile(lines []string) (File, int, error) {
	n := 1
	for n < len(lines) && !isHeader(lines[n]) {
		n++
	}
	head, body := lines[0], lines[1:n]
	switch {
	case strings.HasPrefix(head, remove):
		return File{Op: Delete, Path: pathOf(head, remove)}, n, nil
	case strings.HasPrefix(head, add):
		text := make([]string, len(body))
		for i, line := range body {
			if !strings.HasPrefix(line, "+") {
				return File{}, 0, fmt.Errorf("line %q of an added file does not begin with +", line)
			}
			text[i] = line[1:]
		}
		return File{Op: Add, Path: pathOf(head, add), Text: strings.Join(text, "\n")}, n, nil
	case strings.HasPrefix(head, update):
		file := File{Op: Update, Path: pathOf(head, update)}
		if len(body) > 0 && strings.HasPrefix(body[0], moveTo) {
			file.MoveTo, body = pathOf(body[0], moveTo), body[1:]
		}
		err := file.parseHunks(body)
		return file, n, err
	}
	return File{}, 0, fmt.Errorf("line %q names no file", head)
}

func isHeader(line string) bool {
	return strings.HasPrefix(line, update) || strings.HasPrefix(line, add) || strings.HasPrefix(line, remove)
}

func pathOf(line, head string) string { return strings.TrimSpace(line[len(head):]) }

func (f *File) parseHunks(lines []string) error {
	var hunk *Hunk
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "@@"):
			f.Hunks = append(f.Hunks, Hunk{Anchor: strings.TrimSpace(line[2:])})
			hunk = &f.Hunks[len(f.Hunks)-1]
			continue
		case hunk == nil:
			f.Hunks = append(f.Hunks, Hunk{})
			hunk = &f.Hunks[0]
		}
		switch {
		case line == endOfFile:
			hunk.AtEnd = true
		case line == "":
			hunk.Old, hunk.New = append(hunk.Old, ""), append(hunk.New, "")
		case line[0] == ' ':
			hunk.Old, hunk.New = append(hunk.Old, line[1:]), append(hunk.New, line[1:])
		case line[0] == '-':
			hunk.Old = append(hunk.Old, line[1:])
		case line[0] == '+':
			hunk.New = append(hunk.New, line[1:])
		default:
			return fmt.Errorf("line %q begins with none of space, + and -", line)
		}
	}
	return nil
}
