package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/text/rawjson"
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

// textContent is a text as the content of a call, none for an empty one.
func textContent(text string) []protocol.ToolContent {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []protocol.ToolContent{protocol.TextContent(text)}
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

const (
	// maxRaw bounds the input of a call that is passed on as it is, in bytes. Editors
	// show it only where they have nothing better.
	maxRaw = 256 << 10
	// maxRawText bounds each text in an input that is larger than that.
	maxRawText = 4 << 10
)

// boundedInput is an input with its long texts cut where it is large: a file to
// create is in the diff already.
func boundedInput(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxRaw {
		return raw
	}
	fields := inputFields(raw)
	if len(fields) == 0 {
		return nil
	}
	for name, value := range fields { // one after the other: a file is in one of them
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

// inputFields are the fields of a tool's input, which was decoded as a part of droid's message; none of an
// input that is no object.
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
