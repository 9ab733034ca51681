package stream

import "bytes"

// deltaShape is all of a text delta's line but the text. The next delta of the same message
// differs only there (0.99 to 0.225), so the rest of it needs to be compared only, not to be
// read again: droid writes thousands of them.
type deltaShape struct {
	before, behind []byte // with the quotes of the text; empty for none
	line           Line
	delta          TextDelta // without its text
}

// shapeOf is the shape of a line, of which text is a part.
func shapeOf(data, text []byte, line Line, delta TextDelta) deltaShape {
	begin := cap(data) - cap(text) // where text stands in data
	line.Event, delta.Text = nil, ""
	return deltaShape{bytes.Clone(data[:begin+1]), bytes.Clone(data[begin+len(text)-1:]), line, delta}
}

// fits decodes a line of the same shape.
func (s *deltaShape) fits(data []byte) (Line, bool) {
	text, ok := bytes.CutPrefix(data, s.before)
	if !ok || len(s.before) == 0 {
		return Line{}, false
	}
	if text, ok = bytes.CutSuffix(text, s.behind); !ok || !insideString(text) {
		return Line{}, false
	}
	line, delta := s.line, s.delta
	delta.Text = textOf(text)
	line.Event = delta
	return line, true
}

// insideString reports whether b may stand between the quotes of a JSON string.
func insideString(b []byte) bool {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c < ' ' || c == '"':
			return false
		case c != '\\':
		case i+1 == len(b):
			return false
		case b[i+1] == 'u':
			if len(b) < i+6 || hexRune(b[i:]) < 0 {
				return false
			}
			i += 5
		case bytes.IndexByte([]byte(`"\/bfnrt`), b[i+1]) < 0:
			return false
		default:
			i++
		}
	}
	return true
}
