package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Step is one answer of the model: thinking, then text, then tool calls. A
// Status makes it fail instead.
type Step struct {
	Thinking string
	Text     string
	Tools    []ToolCall

	// Delay comes before each piece (a word of text or thinking, a tenth of a
	// tool's arguments).
	Delay time.Duration

	// Hang makes the model say nothing more after its pieces until the client
	// goes away.
	Hang bool
	// Break cuts the connection after the pieces.
	Break bool

	// Status, when not 0, answers with this HTTP status and Body, or with an
	// error object of OpenAI's form when Body is empty.
	Status int
	Body   string

	// Times, when not 0, is how many calls the step answers before the next step
	// takes its place: a step that fails once is repeated as the next one.
	Times int
}

// ToolCall is one call of a tool. An empty ID gets one that is unique in the
// step.
type ToolCall struct {
	ID   string
	Name string
	Args any
}

// Raw are arguments that are sent as they stand: droid takes those of tools like
// ApplyPatch for text (0.225).
type Raw string

// errBroken makes the server cut the connection.
var errBroken = errors.New("the script breaks the stream")

// delta is one piece of a streamed completion, or the message of a whole one.
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

// play writes the step as the answer of one call.
func (p Step) play(ctx context.Context, w http.ResponseWriter, stream bool) error {
	if p.Status != 0 {
		return p.fail(w)
	}
	if !stream {
		return p.whole(w)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := sse{w: w, flush: http.NewResponseController(w).Flush}
	if err := out.flush(); err != nil {
		return err
	}
	pieces, err := p.pieces()
	if err != nil {
		return err
	}
	for _, d := range pieces {
		if err := wait(ctx, p.Delay); err != nil {
			return err
		}
		if err := out.delta(d); err != nil {
			return err
		}
	}
	switch {
	case p.Hang:
		<-ctx.Done()
		return ctx.Err()
	case p.Break:
		return errBroken
	}
	return out.end(p.finish())
}

func (p Step) finish() string {
	if len(p.Tools) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// fail answers with Status.
func (p Step) fail(w http.ResponseWriter) error {
	body := p.Body
	if body == "" {
		body = fmt.Sprintf(`{"error":{"message":"scripted %d","type":"scripted_error","code":"scripted"}}`, p.Status)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	_, err := w.Write([]byte(body))
	return err
}

// whole answers a call that does not stream.
func (p Step) whole(w http.ResponseWriter) error {
	message := delta{Role: "assistant", Content: p.Text, Reasoning: p.Thinking}
	for i, t := range p.Tools {
		args, err := t.arguments()
		if err != nil {
			return err
		}
		message.ToolCalls = append(message.ToolCalls, t.wire(i, args))
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]any{
		"id": "scripted", "object": "chat.completion", "created": 1, "model": ModelName, "usage": usage(),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": p.finish()}},
	})
}

// pieces splits the answer as a model streams it.
func (p Step) pieces() ([]delta, error) {
	out := []delta{{Role: "assistant"}}
	for _, w := range words(p.Thinking) {
		out = append(out, delta{Reasoning: w})
	}
	for _, w := range words(p.Text) {
		out = append(out, delta{Content: w})
	}
	for i, t := range p.Tools {
		args, err := t.arguments()
		if err != nil {
			return nil, err
		}
		out = append(out, delta{ToolCalls: []wireTool{t.wire(i, "")}})
		for piece := range slices.Chunk([]byte(args), len(args)/10+1) {
			w := wireTool{Index: i}
			w.Function.Arguments = string(piece)
			out = append(out, delta{ToolCalls: []wireTool{w}})
		}
	}
	return out, nil
}

// words splits text after its spaces.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

func (t ToolCall) arguments() (string, error) {
	if raw, ok := t.Args.(Raw); ok {
		return string(raw), nil
	}
	args, err := json.Marshal(t.Args)
	if err != nil {
		return "", fmt.Errorf("encoding the arguments of %s: %w", t.Name, err)
	}
	return string(args), nil
}

func (t ToolCall) wire(index int, args string) wireTool {
	w := wireTool{Index: index, ID: t.ID, Type: "function"}
	if w.ID == "" {
		w.ID = fmt.Sprintf("call_%s_%d", t.Name, index)
	}
	w.Function.Name, w.Function.Arguments = t.Name, args
	return w
}

func usage() map[string]int {
	return map[string]int{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
}

// sse writes server-sent events.
type sse struct {
	w     http.ResponseWriter
	flush func() error
}

func (s sse) event(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.raw(string(data))
}

func (s sse) raw(data string) error {
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", data); err != nil {
		return err
	}
	return s.flush()
}

func completion(choices []any) map[string]any {
	return map[string]any{"id": "scripted", "object": "chat.completion.chunk", "created": 1, "model": ModelName, "choices": choices}
}

func (s sse) delta(d delta) error {
	return s.event(completion([]any{map[string]any{"index": 0, "delta": d, "finish_reason": nil}}))
}

func (s sse) end(finish string) error {
	if err := s.event(completion([]any{map[string]any{"index": 0, "delta": struct{}{}, "finish_reason": finish}})); err != nil {
		return err
	}
	last := completion([]any{})
	last["usage"] = usage()
	if err := s.event(last); err != nil {
		return err
	}
	return s.raw("[DONE]")
}

// wait returns after d, or earlier with the error of ctx.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
