package show

import (
	"encoding/json"

	"droid-acp/internal/acp/protocol"
)

// ResultContent turns a tool result into ACP content: a JSON string, or an
// array of text and image blocks.
func ResultContent(raw json.RawMessage) []protocol.ToolContent {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil
		}
		return []protocol.ToolContent{protocol.TextContent(text)}
	}
	var blocks []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source struct {
			Data      string `json:"data"`
			MediaType string `json:"mediaType"`
		} `json:"source"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		if len(raw) == 0 {
			return nil
		}
		return []protocol.ToolContent{protocol.TextContent(string(raw))}
	}
	var out []protocol.ToolContent
	for _, b := range blocks {
		switch b.Type {
		case "text":
			out = append(out, protocol.TextContent(b.Text))
		case "image":
			out = append(out, protocol.ToolContent{Type: "content",
				Content: &protocol.Content{Type: "image", Data: b.Source.Data, MimeType: b.Source.MediaType}})
		default:
			out = append(out, protocol.TextContent("["+b.Type+"]"))
		}
	}
	return out
}

// ResultText is a result's text: the string itself, or its text blocks.
func ResultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	for _, c := range ResultContent(raw) {
		if c.Content != nil && c.Content.Text != nil {
			text += *c.Content.Text
		}
	}
	return text
}

// object passes JSON objects on and leaves out what is still empty.
func object(raw json.RawMessage) json.RawMessage {
	if len(inputFields(raw)) == 0 {
		return nil
	}
	return raw
}
