package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/rawjson"
)

// ResultContent converts a tool result to ACP content: a JSON string, or an array of text and image blocks.
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

// textContent returns text as the content of a call, nil if blank.
func textContent(text string) []protocol.ToolContent {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []protocol.ToolContent{protocol.TextContent(text)}
}

// ResultText returns a result's text: the string itself, or its text blocks.
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

// object returns raw if it is a non-empty object, else nil.
func object(raw json.RawMessage) json.RawMessage {
	if len(inputFields(raw)) == 0 {
		return nil
	}
	return raw
}

const (
	// maxRaw bounds the raw input that is passed on, in bytes. Editors show it only if they have nothing better.
	maxRaw = 256 << 10
	// maxRawText bounds each string of a larger input.
	maxRawText = 4 << 10
)

// boundedInput returns an input, with long strings shortened if it is large: a file to be created is in the diff anyway.
func boundedInput(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxRaw {
		return raw
	}
	fields := inputFields(raw)
	if len(fields) == 0 {
		return nil
	}
	for name, value := range fields { // one at a time, as one of them may be a whole file
		if len(value) <= maxRawText {
			continue
		}
		in := json.NewDecoder(bytes.NewReader(value))
		in.UseNumber()
		var long any
		if rawjson.IsString(value) {
			long = rawjson.Unquote(value)
		} else if in.Decode(&long) != nil {
			return nil
		}
		short, err := json.Marshal(shortened(long))
		if err != nil {
			return nil
		}
		fields[name] = short
	}
	short, err := json.Marshal(fields)
	if err != nil || len(short) > maxRaw {
		return nil
	}
	return short
}

// inputFields returns the members of a tool's input, which is valid JSON; empty if it is not an object.
func inputFields(raw json.RawMessage) map[string]rawjson.Value {
	out := map[string]rawjson.Value{}
	for name, value := range rawjson.Fields(raw) {
		out[string(name)] = value
	}
	return out
}

func shortened(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > maxRawText {
			return strings.ToValidUTF8(v[:maxRawText], "") + fmt.Sprintf("… (%d more bytes)", len(v)-maxRawText)
		}
	case []any:
		for i := range v {
			v[i] = shortened(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = shortened(v[key])
		}
	}
	return value
}
