package droids

import (
	"encoding/json"

	"droid-acp/internal/testing/fixture"
)

// Line is a line of a conversation, as read or written.
type Line struct {
	Dir     fixture.Dir
	Text    []byte
	Message bool // it is JSON; otherwise a remark, or an invalid line of the client
}

// Fold removes what depends on a machine's speed from a conversation: streamed text becomes one piece; of the repeated states of a tool
// call, or of its progress, the first and the last remain.
func Fold(lines []Line) []Line {
	var out []Line
	for _, line := range lines {
		n := len(out)
		switch what := repeats(line); {
		case what.kind == "" || n == 0 || repeats(out[n-1]) != what:
			out = append(out, line)
		case what.text:
			out[n-1].Text = joined(out[n-1].Text, line.Text)
		case n > 1 && repeats(out[n-2]) == what:
			out[n-1] = line
		default:
			out = append(out, line)
		}
	}
	return out
}

// repetition identifies what a line may repeat.
type repetition struct {
	kind, id string
	text     bool
}

type repeated struct {
	Params struct {
		Notification struct {
			Type, MessageID, ToolUseID, TextDelta string
			BlockIndex                            int
			ToolUse                               struct{ ID string }
		}
	}
}

func repeats(line Line) repetition {
	var m repeated
	if !line.Message || line.Dir != fixture.FromDroid || json.Unmarshal(line.Text, &m) != nil {
		return repetition{}
	}
	n := m.Params.Notification
	switch n.Type {
	case "assistant_text_delta", "thinking_text_delta":
		return repetition{n.Type, n.MessageID, true}
	case "tool_call":
		return repetition{n.Type, n.ToolUse.ID, false}
	case "tool_progress_update":
		return repetition{n.Type, n.ToolUseID, false}
	}
	return repetition{}
}

// joined returns the first of two pieces with the text of both.
func joined(first, second []byte) []byte {
	var a, b map[string]any
	if json.Unmarshal(first, &a) != nil || json.Unmarshal(second, &b) != nil {
		return first
	}
	of := func(m map[string]any) map[string]any {
		params, _ := m["params"].(map[string]any)
		n, _ := params["notification"].(map[string]any)
		return n
	}
	before, _ := of(a)["textDelta"].(string)
	more, _ := of(b)["textDelta"].(string)
	of(a)["textDelta"] = before + more
	out, err := json.Marshal(a)
	if err != nil {
		return first
	}
	return out
}
