package hooks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxKey is the most bytes of a key that can be one of ours, as written in JSON.
const maxKey = 256

var errStdin = errors.New("droid's message to the hook is not what was expected")

// readStdin reads what droid tells a hook: one JSON object. Only the parts of a Request
// are kept; the others, which may be huge (tool_response), take no memory. A field is
// known by its name in snake_case and in camelCase (0.99 gives both); the first counts.
// It does not wait for the end of stdin, only for that of the object.
func readStdin(stdin io.Reader) (Request, error) {
	s := &scanner{in: bufio.NewReaderSize(stdin, 64<<10), room: maxMessage}
	var r Request
	if c, err := s.next(); err != nil || c != '{' {
		return r, errStdin
	}
	seen := make(map[string]bool)
	for first := true; ; first = false {
		key, more, err := s.key(first)
		if err != nil {
			return Request{}, err
		}
		if !more {
			return r, nil
		}
		name, to := r.field(key)
		if to == nil || seen[name] {
			_, err = s.value(false)
		} else {
			seen[name] = true
			var text []byte
			if text, err = s.value(true); err == nil {
				err = json.Unmarshal(text, to)
			}
		}
		if err != nil {
			return Request{}, err
		}
	}
}

// field is where the value of a key of droid's belongs; nil when it is not wanted.
func (r *Request) field(key string) (name string, to any) {
	switch key {
	case "hook_event_name", "hookEventName":
		return "event", &r.Event
	case "session_id", "sessionId":
		return "session", &r.SessionID
	case "tool_name", "toolName":
		return "tool", &r.Tool
	case "tool_input", "toolInput":
		return "input", &r.Input
	}
	return "", nil
}

// scanner finds where JSON values end, and keeps those that are wanted, room bytes of
// them in all. It does not check values that it skips.
type scanner struct {
	in   *bufio.Reader
	room int
}

// next is the next byte that is no white space.
func (s *scanner) next() (byte, error) {
	for {
		c, err := s.in.ReadByte()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

// key reads to the value of an object's next member; more is false at the object's
// end. A key that is longer than any of ours is "".
func (s *scanner) key(first bool) (key string, more bool, err error) {
	c, err := s.next()
	if err == nil && c == '}' {
		return "", false, nil
	}
	if err == nil && !first {
		if c != ',' {
			return "", false, errStdin
		}
		c, err = s.next()
	}
	if err != nil || c != '"' {
		return "", false, errStdin
	}
	var text bytes.Buffer
	text.WriteByte('"')
	if err = s.rest(func(more []byte) bool {
		if text.Len() <= maxKey {
			text.Write(more[:min(len(more), maxKey+1)])
		}
		return true
	}); err != nil {
		return "", false, err
	}
	if text.Len() <= maxKey {
		if err = json.Unmarshal(text.Bytes(), &key); err != nil {
			return "", false, errStdin
		}
	}
	if c, err = s.next(); err != nil || c != ':' {
		return "", false, errStdin
	}
	return key, true, nil
}

// value reads one value, and returns its text if it is to be kept.
func (s *scanner) value(keep bool) ([]byte, error) {
	var text bytes.Buffer
	put := func(more []byte) bool {
		if keep {
			if s.room -= len(more); s.room < 0 {
				return false
			}
			text.Write(more)
		}
		return true
	}
	if _, err := s.next(); err != nil {
		return nil, errStdin
	}
	_ = s.in.UnreadByte() // it was just read
	for depth := 0; ; {
		next, err := s.in.Peek(1)
		if err != nil {
			return nil, errStdin
		}
		c := next[0]
		if err = s.take(1, put); err != nil {
			return nil, err
		}
		switch c {
		case '"':
			if err = s.rest(put); err != nil {
				return nil, err
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth < 0 {
			return nil, errStdin
		}
		if depth == 0 && s.atEnd(c) {
			return text.Bytes(), nil
		}
	}
}

// atEnd reports whether a value that is not inside another ends behind c.
func (s *scanner) atEnd(c byte) bool {
	if c == '"' || c == '}' || c == ']' {
		return true
	}
	switch after, err := s.in.Peek(1); {
	case err != nil:
		return true // the object is not closed, which the caller finds
	default:
		return bytes.IndexByte([]byte(" \t\r\n,}]:\""), after[0]) >= 0
	}
}

// rest reads a string behind its first quotation mark, to the last and with it.
func (s *scanner) rest(put func([]byte) bool) error {
	for {
		if _, err := s.in.Peek(1); err != nil {
			return errStdin
		}
		text, _ := s.in.Peek(s.in.Buffered()) // all of it is there
		end := bytes.IndexAny(text, `"\`)
		if end < 0 {
			end = len(text) - 1
		}
		last := text[end]
		if err := s.take(end+1, put); err != nil {
			return err
		}
		if last == '"' {
			return nil
		}
		if last == '\\' { // what follows ends nothing
			if err := s.take(1, put); err != nil {
				return err
			}
		}
	}
}

// take reads n bytes, which fit into the buffer.
func (s *scanner) take(n int, put func([]byte) bool) error {
	text, err := s.in.Peek(n)
	if err != nil || !put(text) {
		return errStdin
	}
	_, err = s.in.Discard(n)
	return err
}
