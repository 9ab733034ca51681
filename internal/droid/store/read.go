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

// maxSummaryAt bounds how far into a session's file its summary is looked for, in
// bytes: droid writes it right behind the first line, with what it knows of the
// directory.
const maxSummaryAt = 1 << 20

// Summary is the text that a conversation became when droid compacted it into the
// session of this id (0.215 and 0.225: the line compaction_state behind the first one).
// It is "" for a session that does not begin with one. The error is that of reading the
// store, or a *NotFoundError.
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

// maxResults is how many bytes at the end of a session's file are looked through for results.
const maxResults = 1 << 20

// Results are the texts that the model got as the results of these calls, by the calls' ids, as far as they stand near the
// end of the session's file. droid writes those of calls that were made together when all have ended (0.225). The error is that of reading
// the store, or a *NotFoundError.
func (s *Store) Results(id string, calls []string) (map[string]string, error) {
	return fromCopies(s, id, func(c candidate) (map[string]string, error) {
		end, _, err := files.ReadTail(c.path(), maxResults)
		return resultsIn(end, calls), err
	})
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

// settingsLimit is how many bytes of a session's settings are read. Those of droid have
// 1 to 3 KB, and what a client had added to the system prompt.
const settingsLimit = 4 << 20

// SystemPrompt returns what droid adds to its system prompt whenever it loads the
// session, "" for nothing. droid stores it since 0.215 for whoever opened the session
// with it, and copies it to sessions that it makes of this one by forking, rewinding or
// compacting (0.215, 0.225). It is "" too for a session that the store does not have or
// that has no settings yet.
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
		return "", nil // one of another kind
	}
	return prompt.Append, nil
}
