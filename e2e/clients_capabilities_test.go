//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// capabilitySets are the two extremes of client declarations. All of the agent's messages in these tests are checked against the client's
// declaration (acptest.Conversation).
var capabilitySets = map[string]map[string]any{
	"none": {},
	"all": {
		"terminal": true,
		"auth":     map[string]any{"terminal": true},
		"session": map[string]any{"notices": map[string]any{}, "compaction": map[string]any{},
			"configOptions": map[string]any{"boolean": map[string]any{}}},
		"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}},
		"plan":        map[string]any{}, "subagents": map[string]any{},
		"_meta": map[string]any{"terminal_output": true, "terminal-auth": true},
		// fs is tested separately: with it the agent reads and writes the editor's files, see files_test.go.
	},
}

// A client that declares everything and one that declares nothing have the same conversation, each within its declaration: text, an edit, a
// command, a plan, a question and a model that fails at first.
func TestCapabilitySets(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		questionModel(model, "ask")
		for name := range capabilitySets {
			model.On("work for "+name, modelserver.Step{Status: 500, Times: 1}, modelserver.Step{Thinking: "Hm. ", Text: "I work. ", Tools: []modelserver.ToolCall{
				{Name: "TodoWrite", Args: map[string]any{"todos": "1. [in_progress] Work"}},
				toCreate(name+".txt", "new\n"),
				execute("run-"+name, "echo out"),
			}}, modelserver.Step{Text: "Done."})
		}
		for name, set := range capabilitySets {
			c := startAgent(t, h).onPermission(allowOnce)
			forms := 0
			c.onForm(func(json.RawMessage) string {
				forms++
				return `{"action":"accept","content":{"question_01":"Blue"}}`
			})
			s := c.openAs(h, set)
			end := s.prompt("work for " + name).end(turnLimit)
			require.Nil(t, end.Err, name)
			require.Contains(t, end.text(), "Done.", name)
			require.Nil(t, s.prompt("ask").end(turnLimit).Err, name)
			seen := c.transcriptOfAll()
			require.Contains(t, seen, `"sessionUpdate":"plan`, name)
			require.Contains(t, seen, `"type":"diff"`, name)
			require.Contains(t, seen, "out", name)
			all := name == "all"
			require.Equal(t, all, forms > 0, name)
			require.Equal(t, all, strings.Contains(seen, `"terminal_output"`), name)
			require.Equal(t, all && h.version == newDroid, strings.Contains(seen, `"sessionUpdate":"notice"`), name)
			t.Logf("%s: %d permission requests, %d forms, %d lines", name, len(c.asked()), forms, c.seen())
			c.end(h)
		}
	})
}

// transcriptOfAll returns everything the agent wrote, one message per line.
func (c *client) transcriptOfAll() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, l := range c.lines {
		fmt.Fprintln(&b, l.raw)
	}
	return b.String()
}

// strictError returns an error for what Toad 0.6.18 rejects although the schema allows it: raw input and output that are not objects, and a
// diff without the key oldText.
func strictError(raw string) error {
	type call struct {
		RawInput, RawOutput, Content json.RawMessage
	}
	var m struct {
		Params struct{ Update, ToolCall call }
	}
	if json.Unmarshal([]byte(raw), &m) != nil {
		return nil // others are checked elsewhere
	}
	for _, c := range []call{m.Params.Update, m.Params.ToolCall} {
		if len(c.RawInput) > 0 && c.RawInput[0] != '{' || len(c.RawOutput) > 0 && c.RawOutput[0] != '{' {
			return fmt.Errorf("rawInput and rawOutput are objects")
		}
		var items []map[string]json.RawMessage
		_ = json.Unmarshal(c.Content, &items) // a chunk's content is one object
		for _, item := range items {
			if _, ok := item["oldText"]; string(item["type"]) == `"diff"` && !ok {
				return fmt.Errorf("a diff without oldText")
			}
		}
	}
	return nil
}
