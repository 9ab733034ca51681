//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
)

// strictError is what Toad 0.6.18 does not take though the schema does: raw input
// and output that are no objects, and a diff without the key oldText.
func strictError(raw string) error {
	type call struct {
		RawInput, RawOutput, Content json.RawMessage
	}
	var m struct {
		Params struct{ Update, ToolCall call }
	}
	if json.Unmarshal([]byte(raw), &m) != nil {
		return nil // others look at that
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
