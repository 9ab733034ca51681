package modelserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// ModelName is the model's name in the settings; droid uses ModelID.
const (
	ModelName = "scripted-1"
	ModelID   = "custom:Scripted-0"
)

// Provider is droid's name for the API of a custom model (0.99 to 0.225).
type Provider string

// The APIs of custom models in droid.
const (
	ChatCompletions Provider = "generic-chat-completion-api" // POST {base}/chat/completions
	Responses       Provider = "openai"                      // POST {base}/responses
	Messages        Provider = "anthropic"                   // POST {base}/v1/messages
)

// Model is a custom model in droid's settings. droid chooses its tools by the model: ApplyPatch, instead of Create and Edit, is for every
// model of Responses in 0.99, and for names like gpt-5 in 0.225.
type Model struct {
	URL      string   // Server.URL or RefusedURL
	Name     string   // "" for ModelName
	Provider Provider // "" for ChatCompletions
}

// version is the last element of a server's URL.
const version = "/v1"

// WriteSettings makes the droids of this HOME use the model at a base URL by default: in sessionDefaultSettings.model of
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

// RefusedURL returns the base URL of a model that refuses connections: a loopback port that was just free.
func RefusedURL() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	url := "http://" + l.Addr().String() + version
	return url, l.Close()
}
