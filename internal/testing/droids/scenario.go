// Package droids is what is known of droid's wire in all versions that npm has, as data, and what reads
// and compares it. testdata/droids of the repository has
//
//   - scenarios: conversations to be had, a file each (Scenario);
//   - recordings: what droids made of them, an archive for each version (`make record`). Of droid's own
//     texts nothing is kept: of what it says there are names, and the words that the scenario put there;
//   - vocabulary: the names that stand in its program, a file for each version (`make vocabulary`).
//
// Compare says what one version does otherwise than another (`make compare`), Quirks and Facts say what
// each does, and docs/dev/droids.md has that as tables.
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

// Scenario is a conversation to be had with a droid: what its model says, and what its client does.
// $WORK, $HOME and $SELF stand in all its texts for the session's directory, HOME, and a program that is
// an MCP server when it is started with the environment of the e2e tests.
type Scenario struct {
	Name     string               `json:"-"` // of the file, without .json
	About    string               // what it is there for
	Provider modelserver.Provider // of the model; "" for chat completions
	Model    map[string][]modelserver.Step
	Files    map[string]string // that lie in the session's directory before
	Moves    []Move

	text string // the file
}

// Move is one thing that the client does; one of the fields is set, and those of its group.
type Move struct {
	// Call sends a request and waits for the answer; with Until again and again, for some seconds, until
	// the answer has that text. Without NoWait nothing else happens before it is answered.
	Call   string
	Params json.RawMessage
	Until  string
	NoWait bool
	// Prompt sends a user's message, and waits for its (empty) answer.
	Prompt string
	// Await waits for a notification that has these fields, since the last prompt or what was awaited last.
	Await map[string]any
	// Answer waits for droid's next request and answers it. Leave waits for it, and does not.
	Answer json.RawMessage
	Leave  bool
	// Close closes droid's input.
	Close bool
	// Line is sent as it stands.
	Line string
}

// LoadScenarios reads the scenarios of a directory, in the order of their names.
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

// At is the scenario with its places filled in, such as "$WORK".
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

// Own are the words of the scenario: texts that droid may repeat. Of one with its places filled in they
// have these.
func (s *Scenario) Own() []string {
	var doc any
	_ = json.Unmarshal([]byte(s.text), &doc) // it was read before
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
