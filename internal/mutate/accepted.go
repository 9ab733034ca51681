package mutate

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Accepted is a survivor that somebody looked at, with the reason why no test needs
// to notice it.
type Accepted struct {
	Key
	Reason string
}

// String is the entry in the form that ReadAccepted reads.
func (a Accepted) String() string {
	lines := []string{
		fmt.Sprintf("%s/%s %s %s", a.Package, a.File, a.Func, a.Operator),
		"- " + a.Before,
		"+ " + a.After,
		a.Reason,
	}
	return strings.Join(lines, "\n") + "\n"
}

// ReadAccepted reads a list of accepted survivors. Empty lines separate its entries,
// and lines that begin with "#" are comments. An entry is a line with the file, the
// function and the operator, one with "- " and the source before, one with "+ " and
// the source after, then the reason. Errors name the entry's first line.
func ReadAccepted(r io.Reader) ([]Accepted, error) {
	var all []Accepted
	var entry []string
	finish := func() error {
		if len(entry) == 0 {
			return nil
		}
		a, err := parseAccepted(entry)
		all, entry = append(all, a), nil
		return err
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "#"):
		case line != "":
			entry = append(entry, line)
		default:
			if err := finish(); err != nil {
				return nil, err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return all, finish()
}

// parseAccepted reads the lines of one entry.
func parseAccepted(lines []string) (Accepted, error) {
	wrong := func(what string) (Accepted, error) {
		return Accepted{}, fmt.Errorf("the entry %q %s", lines[0], what)
	}
	head := strings.Fields(lines[0])
	if len(head) != 3 || !slices.Contains(operators, Operator(head[2])) {
		return wrong("does not begin with a file, a function and an operator")
	}
	slash := strings.LastIndexByte(head[0], '/')
	if slash < 0 {
		return wrong("names no file with its folder")
	}
	if len(lines) < 3 || lines[1][0] != '-' || lines[2][0] != '+' {
		return wrong(`lacks a line that begins with "-" and one with "+" after it`)
	}
	if len(lines) == 3 {
		return wrong("gives no reason")
	}
	return Accepted{
		Key: Key{
			Package: head[0][:slash], File: head[0][slash+1:], Func: head[1], Operator: Operator(head[2]),
			Before: strings.TrimSpace(lines[1][1:]), After: strings.TrimSpace(lines[2][1:]),
		},
		Reason: strings.Join(lines[3:], " "),
	}, nil
}
