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
	skipLine bool // the rest of a too long line follows
}

// maxLines is how many bytes of such a file are read at once. A longer line is skipped.
const maxLines = 1 << 20

// Subagent returns the lines of a subagent's session file from an offset on, and the offset behind them. An incomplete line is left for the
// next call. The file must be a regular file, no symbolic link, and begin with that session and its caller. The error comes from reading
// the store, or is a *NotFoundError, also if droid has not created the file yet.
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
