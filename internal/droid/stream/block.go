package stream

import (
	"bytes"
	"encoding/json"

	"droid-acp/internal/text/rawjson"
)

// ContentBlock is one block of a message. Type determines which fields are set: "text", "thinking", "tool_use", "tool_result", "image" or
// "document". Raw holds the whole block, unless it consists of a text only.
type ContentBlock struct {
	Type      string
	Text      string
	Thinking  string
	ID        string          // tool_use
	Name      string          // tool_use
	Input     json.RawMessage // tool_use; shares Raw
	ToolUseID string          // tool_result
	Content   json.RawMessage // tool_result; shares Raw
	IsError   bool            // tool_result
	Raw       json.RawMessage
}

// UnmarshalJSON decodes the block. A block whose known fields have unexpected types keeps only its Type and Raw. Blocks may be hundreds of
// megabytes long, so nothing is copied twice.
func (b *ContentBlock) UnmarshalJSON(data []byte) error {
	if text, ok := bareText(data); ok {
		*b = ContentBlock{Type: "text", Text: text}
		return nil
	}
	raw := bytes.Clone(data)
	var p struct {
		Type      string        `json:"type"`
		Text      string        `json:"text"`
		Thinking  string        `json:"thinking"`
		ID        string        `json:"id"`
		Name      string        `json:"name"`
		Input     rawjson.Value `json:"input"`
		ToolUseID string        `json:"tool_use_id"`
		Content   rawjson.Value `json:"content"`
		IsError   bool          `json:"is_error"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		var t struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(raw, &t) // a block without a readable type is unknown, not an error
		*b = ContentBlock{Type: t.Type, Raw: raw}
		return nil
	}
	*b = ContentBlock{p.Type, p.Text, p.Thinking, p.ID, p.Name, json.RawMessage(p.Input), p.ToolUseID, json.RawMessage(p.Content), p.IsError, raw}
	return nil
}

// bareText returns the text of a block that has only a type and a text.
func bareText(data []byte) (text string, ok bool) {
	var kind, raw []byte
	for name, value := range rawjson.Fields(data) {
		switch string(name) {
		case "type":
			kind = value
		case "text":
			raw = value
		default:
			return "", false
		}
	}
	if string(inner(kind)) != "text" || !rawjson.IsString(raw) {
		return "", false
	}
	return rawjson.Unquote(raw), true
}

// JSON returns the block as droid wrote it, except for white space.
func (b ContentBlock) JSON() json.RawMessage {
	if b.Raw != nil {
		return b.Raw
	}
	raw, _ := json.Marshal(struct { // two strings can always be encoded
		Type string `json:"type"`
		Text string `json:"text"`
	}{b.Type, b.Text})
	return raw
}
