package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"droid-acp/internal/files"
	"droid-acp/internal/sessionid"
)

// settingsLimit is how many bytes of a session's settings are read. Those of droid have
// 1 to 3 KB, and what a client had added to the system prompt.
const settingsLimit = 4 << 20

// SystemPrompt returns what droid adds to its system prompt whenever it loads the
// session, "" for nothing. droid stores it since 0.215 for whoever opened the session
// with it, and copies it to sessions that it makes of this one by forking, rewinding or
// compacting (0.215, 0.225). It is "" too for a session that the store does not have or
// that has no settings yet.
func (s *Store) SystemPrompt(id string) (string, error) {
	if !sessionid.Valid(id) {
		return "", nil
	}
	dirs, _, err := s.directories()
	if err != nil {
		return "", err
	}
	path, newest := "", time.Time{}
	for _, dir := range dirs {
		// Of copies in several projects the one that was used last counts, as for Find.
		info, err := os.Stat(dir.file(id + transcript))
		if err == nil && info.Mode().IsRegular() && (path == "" || info.ModTime().After(newest)) {
			path, newest = dir.file(id+".settings.json"), info.ModTime()
		}
	}
	if path == "" {
		return "", nil
	}
	return readSystemPrompt(path)
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
