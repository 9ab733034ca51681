package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"droid-acp/internal/sys/files"
)

// maxSummaryAt is how far into a session's file its summary is searched, in bytes: droid writes it right after the first line, with its
// information on the directory.
const maxSummaryAt = 1 << 20

// Summary returns the text into which droid compacted the conversation that continues in the session of this ID (0.215 and 0.225: the line
// compaction_state after the first one). It is "" for a session that does not begin with one. The error comes from reading the store, or is
// a *NotFoundError.
func (s *Store) Summary(id string) (string, error) {
	return fromCopies(s, id, func(c candidate) (string, error) {
		f, _, err := files.Open(c.path())
		if err != nil {
			return "", err
		}
		defer f.Close()
		return summaryIn(io.LimitReader(f, maxSummaryAt)), nil
	})
}

// summaryIn returns the summary before the first message of a session's file.
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

// maxResults is how many bytes at the end of a session's file are searched for results.
const maxResults = 1 << 20

// Results returns the result texts that the model got for these calls, by the calls' IDs, as far as they are near the end of the session's
// file. droid writes the results of parallel calls when all have ended (0.225). The error comes from reading the store, or is a
// *NotFoundError.
func (s *Store) Results(id string, calls []string) (map[string]string, error) {
	return fromCopies(s, id, func(c candidate) (map[string]string, error) {
		end, _, err := files.ReadTail(c.path(), maxResults)
		return resultsIn(end, calls), err
	})
}

// resultsIn returns the results in lines of a session's file, the newest of each call.
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
		_ = json.Unmarshal(line, &m) // a damaged or truncated line is used as far as it can be decoded
		for _, b := range m.Message.Content {
			if slices.Contains(calls, b.ToolUseID) && strings.TrimSpace(b.Content) != "" {
				results[b.ToolUseID] = b.Content
			}
		}
	}
	return results
}

// settingsLimit is how many bytes of a session's settings are read. droid's own have 1 to 3 KB; a client's addition to the system prompt
// comes on top.
const settingsLimit = 4 << 20

// SystemPrompt returns what droid adds to its system prompt when it loads the session, "" for nothing. Since 0.215 droid stores it if the
// session was opened with it, and copies it to sessions made by forking, rewinding or compacting this one (0.215, 0.225). It is also "" for
// a session that is not in the store or has no settings yet.
func (s *Store) SystemPrompt(id string) (string, error) {
	found, _, err := s.copies(id)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return readSystemPrompt(found[0].dir.file(id + ".settings.json"))
}

func readSystemPrompt(path string) (string, error) {
	data, err := files.Read(path, settingsLimit)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var settings struct {
		SystemPrompt json.RawMessage `json:"systemPrompt"`
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	var prompt struct {
		Append string `json:"append"`
	}
	if len(settings.SystemPrompt) == 0 || json.Unmarshal(settings.SystemPrompt, &prompt) != nil {
		return "", nil // one of another type
	}
	return prompt.Append, nil
}
