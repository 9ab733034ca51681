package store

import (
	"bufio"
	"encoding/json"
	"io"

	"droid-acp/internal/sys/files"
)

// maxSummaryAt bounds how far into a session's file its summary is looked for, in
// bytes: droid writes it right behind the first line, with what it knows of the
// directory.
const maxSummaryAt = 1 << 20

// Summary is the text that a conversation became when droid compacted it into the
// session of this id (0.215 and 0.225: the line compaction_state behind the first one).
// It is "" for a session that does not begin with one. The error is that of reading the
// store, or a *NotFoundError.
func (s *Store) Summary(id string) (string, error) {
	found, cause, err := s.copies(id)
	if err != nil {
		return "", err
	}
	for _, c := range found {
		f, _, err := files.Open(c.path())
		if err != nil {
			cause = err
			continue
		}
		defer f.Close()
		return summaryIn(io.LimitReader(f, maxSummaryAt)), nil
	}
	return "", &NotFoundError{ID: id, Err: cause}
}

// summaryIn is the summary before the first message of a session's file.
func summaryIn(file io.Reader) string {
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		var e struct {
			Type    string `json:"type"`
			Summary string `json:"summaryText"`
		}
		if json.Unmarshal(line, &e) == nil {
			switch e.Type {
			case "compaction_state":
				return e.Summary
			case "message":
				return ""
			}
		}
		if err != nil {
			return ""
		}
	}
}
