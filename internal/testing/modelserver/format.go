package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// format is the wire format of a provider's API.
type format interface {
	decode(body []byte) (call, error)
	// stream begins one answer.
	stream(c call) stream
	// whole returns the answer to a call that does not stream.
	whole(c call, blocks []block) any
	// failure returns the API's error object.
	failure(status int, message string) any
}

// stream converts one answer into events: begin, then for each block open, piece for each of its pieces, and end, then finish.
type stream interface {
	begin() []event
	open(b block) []event
	piece(b block, text string) []event
	end(b block) []event
	finish(blocks []block) []event
}

// call is a request, independent of the format.
type call struct {
	number   int // of the request, from 1: makes IDs unique
	stream   bool
	messages []Message
	tools    []tool
}

// tool is a tool offered to the model.
type tool struct {
	name     string
	freeform bool // it accepts text, not a JSON object
}

// freeform reports whether the tool of this name accepts text.
func (c call) freeform(name string) bool {
	for _, t := range c.tools {
		if t.name == name {
			return t.freeform
		}
	}
	return false
}

// Message is one message of a request. Its role is system, user, assistant or, for one tool's result, tool; one answer of the model is one
// message.
type Message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// Text returns the text of m, whether it is a string or parts.
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

// kind is the kind of a block.
type kind int

const (
	thinkingBlock kind = iota
	textBlock
	toolBlock
)

// block is a part of an answer.
type block struct {
	kind    kind
	index   int    // in the answer
	id      string // of a tool call
	name    string // of the tool
	content string // text, or the tool's arguments
}

// endsInTools reports whether the answer calls tools.
func endsInTools(blocks []block) bool {
	return len(blocks) > 0 && blocks[len(blocks)-1].kind == toolBlock
}

// object is a JSON object on the wire.
type object = map[string]any

// event is one server-sent event.
type event struct {
	name string // "" for none
	data any    // Raw is sent unchanged
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
