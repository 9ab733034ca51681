package modelserver

import "encoding/json"

// messages is Anthropic's API.
type messages struct{}

func (messages) decode(body []byte) (call, error) {
	var in struct {
		Stream   bool            `json:"stream"`
		System   json.RawMessage `json:"system"`
		Messages []Message       `json:"messages"`
		Tools    []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return call{}, err
	}
	c := call{stream: in.Stream}
	if len(in.System) > 0 {
		c.messages = append(c.messages, Message{Role: "system", Content: in.System})
	}
	for _, m := range in.Messages {
		c.messages = append(c.messages, partsOf(m)...)
	}
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{name: t.Name})
	}
	return c, nil
}

// partsOf returns the tool results in a user message, one message each, and its remaining content.
func partsOf(m Message) (out []Message) {
	var parts []json.RawMessage
	if m.Role != "user" || json.Unmarshal(m.Content, &parts) != nil {
		return []Message{m}
	}
	var rest []json.RawMessage
	for _, part := range parts {
		var p struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(part, &p) == nil && p.Type == "tool_result" {
			out = append(out, Message{Role: "tool", Content: p.Content})
		} else {
			rest = append(rest, part)
		}
	}
	if len(rest) > 0 {
		content, _ := json.Marshal(rest) // it was decoded from JSON
		out = append(out, Message{Role: "user", Content: content})
	}
	return out
}

func messagesStop(blocks []block) string {
	if endsInTools(blocks) {
		return "tool_use"
	}
	return "end_turn"
}

func messagesUsage() object { return object{"input_tokens": 100, "output_tokens": 10} }

func messagesWhole(content []any, stop any) object {
	return object{"id": "msg_scripted", "type": "message", "role": "assistant", "model": ModelName, "content": append([]any{}, content...),
		"stop_reason": stop, "stop_sequence": nil, "usage": messagesUsage()}
}

// messagesBlock returns a block without its content.
func messagesBlock(b block) object {
	switch b.kind {
	case thinkingBlock:
		return object{"type": "thinking", "thinking": "", "signature": ""}
	case toolBlock:
		return object{"type": "tool_use", "id": b.id, "name": b.name, "input": object{}}
	}
	return object{"type": "text", "text": ""}
}

func (messages) whole(_ call, blocks []block) any {
	var content []any
	for _, b := range blocks {
		o := messagesBlock(b)
		switch b.kind {
		case thinkingBlock:
			o["thinking"], o["signature"] = b.content, "c2lnbmVk"
		case textBlock:
			o["text"] = b.content
		case toolBlock:
			o["input"] = json.RawMessage(b.content)
		}
		content = append(content, o)
	}
	return messagesWhole(content, messagesStop(blocks))
}

func (messages) failure(_ int, message string) any {
	return object{"type": "error", "error": object{"type": "scripted_error", "message": message}}
}

func (messages) stream(call) stream { return messagesStream{} }

// messagesStream is one streamed answer.
type messagesStream struct{}

func messagesEvent(name string, fields object) []event {
	fields["type"] = name
	return []event{{name: name, data: fields}}
}

func (messagesStream) begin() []event {
	return messagesEvent("message_start", object{"message": messagesWhole(nil, nil)})
}

func (messagesStream) open(b block) []event {
	return messagesEvent("content_block_start", object{"index": b.index, "content_block": messagesBlock(b)})
}

func (messagesStream) piece(b block, text string) []event {
	var delta object
	switch b.kind {
	case thinkingBlock:
		delta = object{"type": "thinking_delta", "thinking": text}
	case textBlock:
		delta = object{"type": "text_delta", "text": text}
	case toolBlock:
		delta = object{"type": "input_json_delta", "partial_json": text}
	}
	return messagesEvent("content_block_delta", object{"index": b.index, "delta": delta})
}

func (messagesStream) end(b block) (events []event) {
	if b.kind == thinkingBlock {
		events = messagesEvent("content_block_delta", object{"index": b.index, "delta": object{"type": "signature_delta", "signature": "c2lnbmVk"}})
	}
	return append(events, messagesEvent("content_block_stop", object{"index": b.index})...)
}

func (messagesStream) finish(blocks []block) []event {
	return append(messagesEvent("message_delta", object{"delta": object{"stop_reason": messagesStop(blocks), "stop_sequence": nil}, "usage": messagesUsage()}),
		messagesEvent("message_stop", object{})...)
}
