package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"droid-acp/internal/sys/files"
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
