package store

import (
	"bytes"
	"fmt"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// Offset is how far the file of a subagent's session was read. The zero value is its beginning.
type Offset struct {
	path     string
	at       int64
	skipLine bool // what follows is the rest of a line that is too long
}

// maxLines is how many bytes of such a file are read at once. A line that is longer is left out.
const maxLines = 1 << 20

// Subagent returns what the file of a subagent's session says from a place on, and the place behind that. Of a line that is
// not whole yet nothing is returned, so that the next call has it. A file is a subagent's if it is a regular one, no
// symbolic link, and begins with that session and one that called it. The error is that of reading the store, or a
// *NotFoundError, also while droid has not begun the file.
func (s *Store) Subagent(id string, from Offset) (lines []stream.ChildLine, to Offset, err error) {
	if from.path != "" {
		return readOn(id, from)
	}
	to, err = fromCopies(s, id, func(c candidate) (Offset, error) {
		lines, to, err = readOn(id, Offset{path: c.path()})
		return to, err
	})
	return lines, to, err
}

func readOn(id string, from Offset) (lines []stream.ChildLine, to Offset, err error) {
	data, err := files.ReadRange(from.path, from.at, maxLines)
	if err != nil {
		return nil, from, err
	}
	to = from
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		switch {
		case !whole && len(data) < maxLines:
			return lines, to, nil // the rest of it is still to come
		case !whole:
			to.at, to.skipLine = to.at+int64(len(data)), true
			return lines, to, nil
		}
		begins := to.at == 0
		to.at += int64(len(line)) + 1
		data = rest
		if to.skipLine {
			to.skipLine = false
			continue
		}
		l, ok := stream.DecodeChildLine(line)
		if begins && !(ok && l.Type == stream.ChildBegins && l.ID == id && l.Caller != "") {
			return nil, from, fmt.Errorf("%w: it is not that of the subagent", errForeign)
		}
		if ok {
			lines = append(lines, l)
		}
	}
	return lines, to, nil
}
