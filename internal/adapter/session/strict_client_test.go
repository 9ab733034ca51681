package session_test

import (
	"encoding/json"
	"fmt"
)

// strictError reports what clients reject that are stricter than the schema (Toad 0.6.18): a rawInput or rawOutput that is no object, and a
// diff without the key oldText, which is null for a new file. The editor of these tests checks all that the agent writes.
func strictError(m wireMessage) error {
	type call struct {
		RawInput, RawOutput json.RawMessage
		Content             json.RawMessage
	}
	var p struct {
		Update   call
		ToolCall call
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return nil // others look at that
	}
	for _, c := range []call{p.Update, p.ToolCall} {
		for name, raw := range map[string]json.RawMessage{"rawInput": c.RawInput, "rawOutput": c.RawOutput} {
			if len(raw) > 0 && raw[0] != '{' {
				return fmt.Errorf("%s is no object: %s", name, raw)
			}
		}
		var items []map[string]json.RawMessage
		_ = json.Unmarshal(c.Content, &items) // a chunk's content is one object
		for _, item := range items {
			if _, ok := item["oldText"]; string(item["type"]) == `"diff"` && !ok {
				return fmt.Errorf("a diff without oldText: %s", c.Content)
			}
		}
	}
	return nil
}
