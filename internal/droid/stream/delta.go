package stream

import (
	"strings"

	"droid-acp/internal/text/rawjson"
)

// deltaShape is the line of a text delta without the text. The next delta of the same message differs only there (0.99 to 0.215), and in
// the traceparent of its _meta (0.225), which is irrelevant for a delta.
type deltaShape struct {
	rawjson.LineTemplate
	line  Line
	delta TextDelta // without its text
}

// shapeOf returns the shape of a line, of which text and meta are parts.
func shapeOf(data, text, meta []byte, line Line, delta TextDelta) deltaShape {
	line.Event, delta.Text = nil, ""
	return deltaShape{rawjson.NewLineTemplate(data, text, traceparent(meta)), line, delta}
}

// traceparent returns meta's W3C traceparent with its quotes, or nil.
func traceparent(meta []byte) []byte {
	if value := rawjson.Field(meta, "traceparent"); rawjson.IsString(value) {
		return value
	}
	return nil
}

// decode decodes a line of the same shape.
func (s *deltaShape) decode(data []byte) (Line, bool) {
	text, ok := s.Cut(data)
	if !ok {
		return Line{}, false
	}
	line, delta := s.line, s.delta
	delta.Text = rawjson.UnquoteBody(text)
	line.Event = delta
	return line, true
}

// More decodes a line that is a text delta and differs from the previous one only in its text, which it appends to text. It returns false
// for any other line.
func (d *Decoder) More(text *strings.Builder, data []byte) bool {
	raw, ok := d.shape.Cut(data)
	if ok {
		rawjson.WriteUnquoted(text, raw)
	}
	return ok
}
