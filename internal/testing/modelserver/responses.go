package modelserver

import (
	"encoding/json"
	"fmt"
)

// responses is OpenAI's newer API. Its answers, and the conversation in its requests, are lists of items: reasoning, messages, tool calls,
// results.
type responses struct{}

func (responses) decode(body []byte) (call, error) {
	var in struct {
		Stream       bool            `json:"stream"`
		Instructions json.RawMessage `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return call{}, err
	}
	c := call{stream: in.Stream}
	if in.Instructions != nil {
		c.messages = append(c.messages, Message{"system", in.Instructions})
	}
	said, err := inputMessages(in.Input)
	if err != nil {
		return call{}, err
	}
	c.messages = append(c.messages, said...)
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{name: t.Name, freeform: t.Type == "custom"})
	}
	return c, nil
}

// Signature stands for what a provider uses to verify its own thinking when it is sent back.
const Signature = "c2NyaXB0ZWQ="

// inputMessages converts the items of a request into messages. Consecutive items of the model are one answer.
func inputMessages(input json.RawMessage) ([]Message, error) {
	var prompt string
	if json.Unmarshal(input, &prompt) == nil {
		return []Message{{"user", input}}, nil
	}
	var items []struct {
		Message
		Type   string          `json:"type"`
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(input, &items); err != nil {
		return nil, err
	}
	var out []Message
	for _, item := range items {
		m := item.Message
		switch item.Type {
		case "function_call_output", "custom_tool_call_output":
			m = Message{"tool", item.Output}
		case "reasoning", "function_call", "custom_tool_call":
			m = Message{"assistant", nil}
		}
		last := len(out) - 1
		switch {
		case m.Role != "assistant" || last < 0 || out[last].Role != "assistant":
			out = append(out, m)
		case m.Content != nil:
			out[last].Content = m.Content
		}
	}
	return out, nil
}

// response returns the object of an answer, as at its beginning and end.
func (responses) response(c call, status string, output []any) object {
	r := object{"id": fmt.Sprintf("resp_%d", c.number), "object": "response", "created_at": 1, "model": ModelName, "status": status,
		"output": output, "error": nil, "incomplete_details": nil, "usage": nil, "parallel_tool_calls": true}
	if status == itemDone {
		r["usage"] = object{"input_tokens": 100, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": 10, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 110}
	}
	return r
}

// Statuses of responses and their items.
const (
	itemRunning = "in_progress"
	itemDone    = "completed"
)

func itemID(c call, b block) string { return fmt.Sprintf("item_%d_%d", c.number, b.index) }

// item returns a block as an item of the answer, empty or complete.
func item(c call, b block, status string) object {
	content := ""
	if status == itemDone {
		content = b.content
	}
	i := object{"id": itemID(c, b), "status": status}
	switch {
	case b.kind == thinkingBlock:
		i["type"], i["summary"] = "reasoning", []any{}
		if status == itemDone {
			i["summary"], i["encrypted_content"] = []any{summary(content)}, Signature
		}
	case b.kind == textBlock:
		i["type"], i["role"], i["content"] = "message", "assistant", []any{}
		if status == itemDone {
			i["content"] = []any{outputText(content)}
		}
	case c.freeform(b.name):
		i["type"], i["call_id"], i["name"], i["input"] = "custom_tool_call", b.id, b.name, content
	default:
		i["type"], i["call_id"], i["name"], i["arguments"] = "function_call", b.id, b.name, content
	}
	return i
}

func summary(text string) object { return object{"type": "summary_text", "text": text} }

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}}
}

func items(c call, blocks []block) []any {
	out := []any{}
	for _, b := range blocks {
		out = append(out, item(c, b, itemDone))
	}
	return out
}

func (f responses) whole(c call, blocks []block) any {
	return f.response(c, itemDone, items(c, blocks))
}

func (responses) failure(_ int, message string) any {
	return object{"error": object{"message": message, "type": "scripted_error", "param": nil, "code": "scripted"}}
}

func (f responses) stream(c call) stream { return &responseStream{call: c} }

// responseStream is one streamed response.
type responseStream struct {
	call   call
	number int // number of the last event
}

// event returns an event, which has its type in its name and in its data.
func (s *responseStream) event(kind string, data object) event {
	data["type"], data["sequence_number"] = kind, s.number
	s.number++
	return event{kind, data}
}

// of returns an event of a block's item.
func (s *responseStream) of(b block, kind string, data object) event {
	data["item_id"], data["output_index"] = itemID(s.call, b), b.index
	switch b.kind {
	case thinkingBlock:
		data["summary_index"] = 0
	case textBlock:
		data["content_index"] = 0
	}
	return s.event(kind, data)
}

func (s *responseStream) begin() []event {
	begun := responses{}.response(s.call, itemRunning, []any{})
	return []event{s.event("response.created", object{"response": begun}), s.event("response.in_progress", object{"response": begun})}
}

func (s *responseStream) open(b block) []event {
	events := []event{s.event("response.output_item.added", object{"output_index": b.index, "item": item(s.call, b, itemRunning)})}
	switch b.kind {
	case thinkingBlock:
		events = append(events, s.of(b, "response.reasoning_summary_part.added", object{"part": summary("")}))
	case textBlock:
		events = append(events, s.of(b, "response.content_part.added", object{"part": outputText("")}))
	}
	return events
}

// subject returns the prefix of the names of a block's events, and the name of its complete content in their last one.
func (s *responseStream) subject(b block) (kind, content string) {
	switch {
	case b.kind == thinkingBlock:
		return "response.reasoning_summary_text", "text"
	case b.kind == textBlock:
		return "response.output_text", "text"
	case s.call.freeform(b.name):
		return "response.custom_tool_call_input", "input"
	}
	return "response.function_call_arguments", "arguments"
}

func (s *responseStream) piece(b block, piece string) []event {
	kind, _ := s.subject(b)
	return []event{s.of(b, kind+".delta", object{"delta": piece})}
}

func (s *responseStream) end(b block) []event {
	kind, content := s.subject(b)
	events := []event{s.of(b, kind+".done", object{content: b.content})}
	switch b.kind {
	case thinkingBlock:
		events = append(events, s.of(b, "response.reasoning_summary_part.done", object{"part": summary(b.content)}))
	case textBlock:
		events = append(events, s.of(b, "response.content_part.done", object{"part": outputText(b.content)}))
	}
	return append(events, s.event("response.output_item.done", object{"output_index": b.index, "item": item(s.call, b, itemDone)}))
}

func (s *responseStream) finish(blocks []block) []event {
	return []event{s.event("response.completed", object{"response": responses{}.response(s.call, itemDone, items(s.call, blocks))})}
}
