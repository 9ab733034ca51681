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

// Step is one answer of the model: thinking, then text, then tool calls. With a Status it is an error.
type Step struct {
	Thinking string
	Text     string
	Tools    []ToolCall

	// Delay precedes each piece (a word of text or thinking, a tenth of a tool's arguments).
	Delay time.Duration

	// Hang keeps the connection open without further output after the pieces, until the client disconnects.
	Hang bool
	// Break cuts the connection after the pieces.
	Break bool

	// Status, if not 0, answers with this HTTP status and Body, or with an error object in the API's format if Body is empty.
	Status int
	Body   string

	// Times, if not 0, is how many calls the step answers before the next step replaces it: so a call that fails once can succeed when
	// repeated.
	Times int
}

// ToolCall is one tool call. An empty ID is replaced by a unique one: if an ID is repeated, droid withholds the result from a model of the
// provider Responses (0.99 to 0.225).
type ToolCall struct {
	ID   string
	Name string
	Args any
}

// Raw are arguments that are sent unchanged: those of a tool that accepts text, like ApplyPatch (0.225).
type Raw string

// errBroken makes the server reset the connection.
var errBroken = errors.New("the script breaks the stream")

// play writes the step as the answer of one call; named converts its texts.
func (p Step) play(ctx context.Context, w http.ResponseWriter, f format, c call, named func(string) string) error {
	if p.Status != 0 {
		return p.fail(w, f)
	}
	blocks, err := p.blocks(c.number)
	if err != nil {
		return err
	}
	for i := range blocks {
		blocks[i].content = named(blocks[i].content)
	}
	if !c.stream {
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(f.whole(c, blocks))
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := sse{w: w, flush: http.NewResponseController(w).Flush}
	s := f.stream(c)
	if err := out.send(s.begin()); err != nil {
		return err
	}
	for i, b := range blocks {
		cut := i == len(blocks)-1 && (p.Hang || p.Break)
		if err := p.say(ctx, out, s, b, cut); err != nil {
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
	return out.send(s.finish(blocks))
}

// say streams one block, without its end if cut is set.
func (p Step) say(ctx context.Context, out sse, s stream, b block, cut bool) error {
	if err := out.send(s.open(b)); err != nil {
		return err
	}
	for _, piece := range b.pieces() {
		if err := wait(ctx, p.Delay); err != nil {
			return err
		}
		if err := out.send(s.piece(b, piece)); err != nil {
			return err
		}
	}
	if cut {
		return nil
	}
	return out.send(s.end(b))
}

// fail answers with Status.
func (p Step) fail(w http.ResponseWriter, f format) error {
	body := []byte(p.Body)
	if p.Body == "" {
		var err error
		if body, err = json.Marshal(f.failure(p.Status, fmt.Sprintf("scripted %d", p.Status))); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	_, err := w.Write(body)
	return err
}

// blocks returns the parts of the answer to the call of this number, in order.
func (p Step) blocks(number int) ([]block, error) {
	var out []block
	add := func(b block) {
		b.index = len(out)
		out = append(out, b)
	}
	if p.Thinking != "" {
		add(block{kind: thinkingBlock, content: p.Thinking})
	}
	if p.Text != "" {
		add(block{kind: textBlock, content: p.Text})
	}
	for i, t := range p.Tools {
		args, err := t.arguments()
		if err != nil {
			return nil, err
		}
		id := t.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", number, i)
		}
		add(block{kind: toolBlock, id: id, name: t.Name, content: args})
	}
	return out, nil
}

// pieces splits a block as a model streams it.
func (b block) pieces() []string {
	if b.kind != toolBlock {
		words := strings.SplitAfter(b.content, " ")
		if last := len(words) - 1; words[last] == "" {
			words = words[:last]
		}
		return words
	}
	var out []string
	runes := []rune(b.content)
	for piece := range slices.Chunk(runes, len(runes)/10+1) {
		out = append(out, string(piece))
	}
	return out
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
