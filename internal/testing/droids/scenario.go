// Package droids has data about droid's protocol in all versions that npm has, and reads and compares it. Its main types are Recorded and
// Scenario; the e2e tests record with it, and its own tests check the data and write the tables. testdata/droids in the repository has
//
//   - scenarios: conversations to be had, a file each (Scenario);
//   - recordings: what droids made of them, an archive for each version (`make record`). Of droid's own
//     texts nothing is kept: of what it says there are names, and the words that the scenario put there;
//   - vocabulary: the names that stand in its program, a file for each version (`make vocabulary`).
//
// Compare describes how one version differs from another (`make compare`), Checks the properties of each; docs/dev/droids.md shows them as
// tables.
package droids

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"droid-acp/internal/testing/modelserver"
)

// Scenario is a conversation to record with a droid: the answers of its model, and the steps of its client. In all its texts $WORK, $HOME
// and $SELF stand for the session's directory, HOME, and a program that is an MCP server if it is started with the environment of the e2e
// tests.
type Scenario struct {
	Name     string               `json:"-"` // the file's name without .json
	About    string               // its purpose
	Provider modelserver.Provider // the model's; "" for chat completions
	Model    map[string][]modelserver.Step
	Files    map[string]string // files that exist in the session's directory
	Moves    []Move

	text string // the text of the file
}

// Move is one step of the client; one of the fields is set, and those of its group.
type Move struct {
	// Call sends a request and waits for the answer; with Until it repeats that, for some seconds, until the answer contains that text.
	// With NoWait the next step does not wait for the answer.
	Call   string
	Params json.RawMessage
	Until  string
	NoWait bool
	// Prompt sends a user's message, and waits for its (empty) answer.
	Prompt string
	// Await waits for a notification with these fields, since the last prompt or Await.
	Await map[string]any
	// Answer waits for droid's next request and answers it; Leave waits for it without answering.
	Answer json.RawMessage
	Leave  bool
	// Close closes droid's input.
	Close bool
	// Line is sent unchanged.
	Line string
}

// LoadScenarios reads the scenarios in a directory, ordered by name.
func LoadScenarios(dir string) ([]*Scenario, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no scenarios in %s: %w", dir, err)
	}
	var all []*Scenario
	for _, path := range paths {
		s, err := loadScenario(path, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// At returns the scenario with its placeholders, such as "$WORK", replaced.
func (s *Scenario) At(dir string, places map[string]string) (*Scenario, error) {
	return loadScenario(filepath.Join(dir, s.Name+".json"), places)
}

func loadScenario(path string, places map[string]string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Name: strings.TrimSuffix(filepath.Base(path), ".json"), text: string(text)}
	for name, place := range places {
		s.text = strings.ReplaceAll(s.text, name, place)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(s.text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("reading scenario %s: %w", s.Name, err)
	}
	if s.About == "" || len(s.Moves) == 0 {
		return nil, fmt.Errorf("scenario %s does not say what it is about, or has no moves", s.Name)
	}
	return s, nil
}

// Own returns the scenario's texts, which droid may repeat, after At with the placeholders replaced.
func (s *Scenario) Own() []string {
	var doc any
	_ = json.Unmarshal([]byte(s.text), &doc) // it was decoded before
	var own []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			own = append(own, v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for name, one := range v {
				own = append(own, name)
				walk(one)
			}
		}
	}
	walk(doc)
	return own
}
