package store

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/sys/files"
)

// maxResults is how many bytes at the end of a session's file are looked through for results.
const maxResults = 1 << 20

// Results are the texts that the model got as the results of these calls, by the calls' ids, as far as they stand near the
// end of the session's file. droid writes those of calls that were made together when all have ended (0.225). The error is that of reading
// the store, or a *NotFoundError.
func (s *Store) Results(id string, calls []string) (map[string]string, error) {
	found, cause, err := s.copies(id)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		end, _, err := files.Tail(c.path(), maxResults)
		if err != nil {
			cause = err
			continue
		}
		return resultsIn(end, calls), nil
	}
	return nil, &NotFoundError{ID: id, Err: cause}
}

// resultsIn are the results in lines of a session's file, the newest of each call.
func resultsIn(lines []byte, calls []string) map[string]string {
	results := make(map[string]string)
	for line := range bytes.Lines(lines) {
		if !slices.ContainsFunc(calls, func(call string) bool { return bytes.Contains(line, []byte(call)) }) {
			continue
		}
		var m struct {
			Message struct {
				Content []struct {
					ToolUseID string `json:"tool_use_id"`
					Content   string `json:"content"`
				} `json:"content"`
			} `json:"message"`
		}
		_ = json.Unmarshal(line, &m) // of what is damaged, cut off or of another form as much as can be read
		for _, b := range m.Message.Content {
			if slices.Contains(calls, b.ToolUseID) && strings.TrimSpace(b.Content) != "" {
				results[b.ToolUseID] = b.Content
			}
		}
	}
	return results
}
