package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// format is how a provider's API puts requests and answers on the wire.
type format interface {
	decode(body []byte) (call, error)
	// stream begins one answer.
	stream(c call) stream
	// whole is the answer to a call that does not stream.
	whole(c call, blocks []block) any
	// failure is the API's error object.
	failure(status int, message string) any
}

// stream puts one answer into events: begin, then for each block open, piece for
// each of its pieces, and end of the block, then finish.
type stream interface {
	begin() []event
	open(b block) []event
	piece(b block, text string) []event
	end(b block) []event
	finish(blocks []block) []event
}

// call is a request as all formats have it.
type call struct {
	number   int // of the request, from 1: makes ids unique
	stream   bool
	messages []Message
	tools    []tool
}

// tool is a tool that is offered to the model.
type tool struct {
	name     string
	freeform bool // it takes text, not a JSON object
}

// freeform tells whether the tool of this name was offered as one that takes
// text.
func (c call) freeform(name string) bool {
	for _, t := range c.tools {
		if t.name == name {
			return t.freeform
		}
	}
	return false
}

// Message is one message of a request. Its role is system, user, assistant or,
// for one tool's result, tool; what the model said in one answer is one message.
type Message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// Text joins the text of m, whether it came as a string or as parts.
func (m Message) Text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts) // content without text has none
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// kind is what a block of an answer is.
type kind int

const (
	thinkingBlock kind = iota
	textBlock
	toolBlock
)

// block is a part of an answer.
type block struct {
	kind    kind
	index   int    // among the blocks of the answer
	id      string // of a tool call
	name    string // of the tool
	content string // text, or the tool's arguments
}

// endsInTools tells whether the answer calls tools.
func endsInTools(blocks []block) bool {
	return len(blocks) > 0 && blocks[len(blocks)-1].kind == toolBlock
}

// object is a JSON object on the wire.
type object = map[string]any

// event is one server-sent event.
type event struct {
	name string // "" for none
	data any    // Raw is sent as it stands
}

// sse writes server-sent events.
type sse struct {
	w     http.ResponseWriter
	flush func() error
}

func (s sse) send(events []event) error {
	for _, e := range events {
		if err := s.event(e); err != nil {
			return err
		}
	}
	return s.flush()
}

func (s sse) event(e event) error {
	data, isRaw := e.data.(Raw)
	if !isRaw {
		encoded, err := json.Marshal(e.data)
		if err != nil {
			return err
		}
		data = Raw(encoded)
	}
	if e.name != "" {
		if _, err := fmt.Fprintf(s.w, "event: %s\n", e.name); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.w, "data: %s\n\n", data)
	return err
}
