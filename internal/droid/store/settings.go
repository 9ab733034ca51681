package store

import (
	"encoding/json"
	"fmt"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
)

// storedNames has the names that droid reports settings by, where its files have others (0.99 to 0.225).
var storedNames = map[string]string{"model": "modelId", "specModeModel": "specModeModelId"}

// Settings returns the settings that droid has stored with a session. The error is as in Find, or that of reading them.
func (s *Store) Settings(id string) (stream.Settings, error) {
	return fromCopies(s, id, func(c candidate) (settings stream.Settings, err error) {
		path := c.dir.file(id + ".settings.json")
		data, err := files.Read(path, settingsLimit)
		if err != nil {
			return settings, err
		}
		var stored map[string]json.RawMessage
		if err = json.Unmarshal(data, &stored); err != nil {
			return settings, fmt.Errorf("%s: %w", path, err)
		}
		for name, reported := range storedNames {
			if value, there := stored[name]; there {
				stored[reported] = value
				delete(stored, name)
			}
		}
		data, err = json.Marshal(stored)
		if err == nil {
			err = json.Unmarshal(data, &settings)
		}
		return settings, err
	})
}
