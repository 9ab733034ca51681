package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

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
	if in.System != nil {
		c.messages = append(c.messages, Message{"system", in.System})
	}
	for _, m := range in.Messages {
		split, err := m.withoutResults()
		if err != nil {
			return call{}, err
		}
		c.messages = append(c.messages, split...)
	}
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{name: t.Name})
	}
	return c, nil
}

// withoutResults takes the results of tools, which this API has in the user's
// messages, out of m: each is a message of its own, before what is left of m.
func (m Message) withoutResults() ([]Message, error) {
	var parts []json.RawMessage
	if json.Unmarshal(m.Content, &parts) != nil {
		return []Message{m}, nil // its content is a string
	}
	var out []Message
	rest := []json.RawMessage{}
	for _, raw := range parts {
		var part struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, err
		}
		if part.Type == "tool_result" {
			out = append(out, Message{"tool", part.Content})
		} else {
			rest = append(rest, raw)
		}
	}
	if len(rest) == 0 && len(out) > 0 {
		return out, nil
	}
	content, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	return append(out, Message{m.Role, content}), nil
}

// message is the object that an answer is, or begins with.
func (messages) message(c call) object {
	return object{"id": fmt.Sprintf("msg_%d", c.number), "type": "message", "role": "assistant", "model": ModelName,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 100, "output_tokens": 1}}
}

func messageStop(blocks []block) string {
	if endsInTools(blocks) {
		return "tool_use"
	}
	return "end_turn"
}

// Signature stands for what lets the provider trust its own thinking when it
// gets it back.
const Signature = "c2NyaXB0ZWQ="

func (f messages) whole(c call, blocks []block) any {
	content := []any{}
	for _, b := range blocks {
		switch b.kind {
		case thinkingBlock:
			content = append(content, object{"type": "thinking", "thinking": b.content, "signature": Signature})
		case textBlock:
			content = append(content, object{"type": "text", "text": b.content})
		case toolBlock:
			content = append(content, object{"type": "tool_use", "id": b.id, "name": b.name, "input": json.RawMessage(b.content)})
		}
	}
	message := f.message(c)
	message["content"], message["stop_reason"] = content, messageStop(blocks)
	message["usage"] = object{"input_tokens": 100, "output_tokens": 10}
	return message
}

func (messages) failure(status int, message string) any {
	kind := "api_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusForbidden:
		kind = "permission_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case 529:
		kind = "overloaded_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func (f messages) stream(c call) stream { return messageStream{f.message(c)} }

// messageStream is one streamed message.
type messageStream struct {
	message object
}

// messageEvent is an event, which has its type in its name and in its data.
func messageEvent(kind string, data object) event {
	data["type"] = kind
	return event{kind, data}
}

func (s messageStream) begin() []event {
	return []event{messageEvent("message_start", object{"message": s.message}), messageEvent("ping", object{})}
}

func (messageStream) open(b block) []event {
	var content object
	switch b.kind {
	case thinkingBlock:
		content = object{"type": "thinking", "thinking": "", "signature": ""}
	case textBlock:
		content = object{"type": "text", "text": ""}
	case toolBlock:
		content = object{"type": "tool_use", "id": b.id, "name": b.name, "input": object{}}
	}
	return []event{messageEvent("content_block_start", object{"index": b.index, "content_block": content})}
}

func blockDelta(b block, d object) event {
	return messageEvent("content_block_delta", object{"index": b.index, "delta": d})
}

func (messageStream) piece(b block, piece string) []event {
	var d object
	switch b.kind {
	case thinkingBlock:
		d = object{"type": "thinking_delta", "thinking": piece}
	case textBlock:
		d = object{"type": "text_delta", "text": piece}
	case toolBlock:
		d = object{"type": "input_json_delta", "partial_json": piece}
	}
	return []event{blockDelta(b, d)}
}

func (messageStream) end(b block) []event {
	stop := messageEvent("content_block_stop", object{"index": b.index})
	if b.kind == thinkingBlock {
		return []event{blockDelta(b, object{"type": "signature_delta", "signature": Signature}), stop}
	}
	return []event{stop}
}

func (messageStream) finish(blocks []block) []event {
	return []event{
		messageEvent("message_delta", object{"delta": object{"stop_reason": messageStop(blocks), "stop_sequence": nil}, "usage": object{"output_tokens": 10}}),
		messageEvent("message_stop", object{}),
	}
}
