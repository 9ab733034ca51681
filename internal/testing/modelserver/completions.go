package modelserver

import "encoding/json"

// chatCompletions is OpenAI's older API, which many providers implement.
type chatCompletions struct{}

func (chatCompletions) decode(body []byte) (call, error) {
	var in struct {
		Stream   bool      `json:"stream"`
		Messages []Message `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return call{}, err
	}
	c := call{stream: in.Stream, messages: in.Messages}
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{name: t.Function.Name})
	}
	return c, nil
}

// delta is one piece of a streamed completion, or the message of a complete one.
type delta struct {
	Role      string     `json:"role,omitempty"`
	Content   string     `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []wireTool `json:"tool_calls,omitempty"`
}

type wireTool struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func newWireTool(b block, index int, args string) wireTool {
	w := wireTool{Index: index, ID: b.id, Type: "function"}
	w.Function.Name, w.Function.Arguments = b.name, args
	return w
}

func completion(kind string, choices ...any) object {
	return object{"id": "scripted", "object": kind, "created": 1, "model": ModelName, "choices": append([]any{}, choices...)}
}

func completionUsage() object {
	return object{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
}

func completionFinish(blocks []block) string {
	if endsInTools(blocks) {
		return "tool_calls"
	}
	return "stop"
}

func (chatCompletions) whole(_ call, blocks []block) any {
	message := delta{Role: "assistant"}
	for _, b := range blocks {
		switch b.kind {
		case thinkingBlock:
			message.Reasoning = b.content
		case textBlock:
			message.Content = b.content
		case toolBlock:
			message.ToolCalls = append(message.ToolCalls, newWireTool(b, len(message.ToolCalls), b.content))
		}
	}
	whole := completion("chat.completion", object{"index": 0, "message": message, "finish_reason": completionFinish(blocks)})
	whole["usage"] = completionUsage()
	return whole
}

func (chatCompletions) failure(_ int, message string) any {
	return object{"error": object{"message": message, "type": "scripted_error", "code": "scripted"}}
}

func (chatCompletions) stream(call) stream { return &completionStream{} }

// completionStream is one streamed completion.
type completionStream struct {
	tools int // number of tool calls so far
}

func chunk(d any, finish any) event {
	return event{data: completion("chat.completion.chunk", object{"index": 0, "delta": d, "finish_reason": finish})}
}

func (*completionStream) begin() []event { return []event{chunk(delta{Role: "assistant"}, nil)} }

func (s *completionStream) open(b block) []event {
	if b.kind != toolBlock {
		return nil
	}
	s.tools++
	return []event{chunk(delta{ToolCalls: []wireTool{newWireTool(b, s.tools-1, "")}}, nil)}
}

func (s *completionStream) piece(b block, piece string) []event {
	var d delta
	switch b.kind {
	case thinkingBlock:
		d.Reasoning = piece
	case textBlock:
		d.Content = piece
	case toolBlock:
		w := wireTool{Index: s.tools - 1}
		w.Function.Arguments = piece
		d.ToolCalls = []wireTool{w}
	}
	return []event{chunk(d, nil)}
}

func (*completionStream) end(block) []event { return nil }

func (*completionStream) finish(blocks []block) []event {
	last := completion("chat.completion.chunk")
	last["usage"] = completionUsage()
	return []event{chunk(struct{}{}, completionFinish(blocks)), {data: last}, {data: Raw("[DONE]")}}
}
