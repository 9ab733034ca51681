package modelserver

import (
	"cmp"
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

// Provider is droid's word for the API of a custom model (0.99 to 0.225).
type Provider string

// The APIs that droid has for a custom model.
const (
	ChatCompletions Provider = "generic-chat-completion-api" // POST {base}/chat/completions
	Responses       Provider = "openai"                      // POST {base}/responses
	Messages        Provider = "anthropic"                   // POST {base}/v1/messages
)

// Model is a custom model of droid's settings. droid chooses the tools that it
// offers by it: ApplyPatch, in place of Create and Edit, is for every model of
// Responses in 0.99, and for names like gpt-5 in 0.225.
type Model struct {
	URL      string   // Server.URL or RefusedURL
	Name     string   // "" for ModelName
	Provider Provider // "" for ChatCompletions
}

// version ends the URL of a server.
const version = "/v1"

// WriteSettings makes the droids of this HOME use the model at the base URL url for
// every session without being told: the default is in sessionDefaultSettings.model of
// .factory/settings.json (0.99 to 0.225).
func WriteSettings(home, url string) error { return WriteSettingsFor(home, Model{URL: url}) }

// WriteSettingsFor is WriteSettings for any model.
func WriteSettingsFor(home string, m Model) error {
	settings := map[string]any{
		"customModels": []map[string]any{{
			"model": cmp.Or(m.Name, ModelName), "displayName": "Scripted", "baseUrl": m.URL, "apiKey": "none",
			"provider": cmp.Or(m.Provider, ChatCompletions), "maxOutputTokens": 4096, "noImageSupport": false,
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
	url := "http://" + l.Addr().String() + version
	return url, l.Close()
}
