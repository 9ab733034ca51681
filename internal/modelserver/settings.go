package modelserver

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// ModelName is the model that the settings name to droid; droid calls it
// ModelID.
const (
	ModelName = "scripted-1"
	ModelID   = "custom:Scripted-0"
)

// WriteSettings makes the droids of this HOME use the model of s for every
// session without being told: the default is in sessionDefaultSettings.model
// (0.99 to 0.225).
func (s *Server) WriteSettings(home string) error { return WriteSettings(home, s.URL()) }

// WriteSettings writes .factory/settings.json of home for a model at the base
// URL url.
func WriteSettings(home, url string) error { return WriteSettingsFor(home, url, ModelName) }

// WriteSettingsFor is WriteSettings for a model with this name: droid chooses
// the tools that it offers by it, ApplyPatch for names like gpt-5.
func WriteSettingsFor(home, url, name string) error {
	settings := map[string]any{
		"customModels": []map[string]any{{
			"model": name, "displayName": "Scripted", "baseUrl": url, "apiKey": "none",
			"provider": "generic-chat-completion-api", "maxOutputTokens": 4096, "noImageSupport": false,
		}},
		"sessionDefaultSettings": map[string]any{"model": ModelID},
	}
	data, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Join(home, ".factory")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing droid's settings: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), data, 0o600); err != nil {
		return fmt.Errorf("writing droid's settings: %w", err)
	}
	return nil
}

// RefusedURL is the base URL of a model that refuses connections: a loopback
// port that was free a moment ago.
func RefusedURL() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	url := "http://" + l.Addr().String() + "/v1"
	return url, l.Close()
}
