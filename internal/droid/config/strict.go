package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"droid-acp/internal/text/rawjson"
)

// maxNesting is the maximum nesting of objects and lists in a project's file.
const maxNesting = 32

// prototypes are names by which JavaScript code can change the properties of all objects. droid's parser interprets "__proto__" so (0.99 to
// 0.225).
var prototypes = []string{"__proto__", "constructor", "prototype"}

// DecodeStrictly decodes a file that is one JSON object, with comments, and rejects whatever droid may interpret differently: a duplicate
// key, a name in prototypes, anything but plain JSON. The object is nil if the file does not exist; an error in the text is an *Error.
func (f File) DecodeStrictly() (map[string]any, error) {
	data, err := f.read()
	if data == nil {
		return nil, err
	}
	plain := WithoutComments(data)
	for _, end := range []string{"\u2028", "\u2029"} {
		if bytes.Count(data, []byte(end)) != bytes.Count(plain, []byte(end)) {
			return nil, at(data, 0, "a comment holds a character that ends it for some readers")
		}
	}
	if !utf8.Valid(data) {
		return nil, at(data, 0, "it is not UTF-8")
	}
	if err := json.Unmarshal(plain, new(any)); err != nil {
		return nil, located(plain, err)
	}
	s := strictReader{json.NewDecoder(bytes.NewReader(plain)), plain}
	value, err := s.value(0)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, at(plain, 0, "it is no JSON object")
	}
	return object, nil
}

// strictReader reads the values of valid JSON token by token, since decoding into a map would hide duplicate keys.
type strictReader struct {
	*json.Decoder
	data []byte
}

func (s strictReader) fault(what string) error { return at(s.data, int(s.InputOffset())-1, what) }

func at(data []byte, offset int, what string) *Error {
	line, column := Position(data, offset)
	return &Error{line, column, what}
}

// value reads one value at a nesting depth.
func (s strictReader) value(depth int) (any, error) {
	token, err := s.Token()
	if err != nil {
		return nil, err
	}
	open, ok := token.(json.Delim)
	switch {
	case !ok:
		return token, nil
	case depth >= maxNesting:
		return nil, s.fault("this is nested too deep")
	case open == '[':
		list := []any{}
		for s.More() {
			v, err := s.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = s.Token()
		return list, err
	}
	object := map[string]any{}
	for s.More() {
		if token, err = s.Token(); err != nil {
			return nil, err
		}
		key, _ := token.(string) // the decoder accepts only strings
		if _, twice := object[key]; twice {
			return nil, s.fault(fmt.Sprintf("%.40q stands here twice", key))
		}
		if slices.Contains(prototypes, key) {
			return nil, s.fault(fmt.Sprintf("the name %q means something else to droid", key))
		}
		if object[key], err = s.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err = s.Token()
	return object, err
}

// WithoutComments returns JSON with its comments ("//" to the end of the line, "/*" to "*/") replaced by blanks; droid's settings files may
// contain them. Everything else keeps its position. A comment that does not end keeps its "/*" and is invalid JSON.
func WithoutComments(data []byte) []byte {
	out := bytes.Clone(data)
	for i := 0; i < len(out); {
		switch {
		case out[i] == '"':
			i = rawjson.SkipString(out, i)
		case out[i] == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end, ok := commentEnd(out, i)
			if !ok {
				return out
			}
			for ; i < end; i++ {
				if out[i] != '\n' && out[i] != '\r' {
					out[i] = ' '
				}
			}
		default:
			i++
		}
	}
	return out
}

// commentEnd returns where the comment that begins at i ends, and whether it does.
func commentEnd(data []byte, i int) (end int, ok bool) {
	line := data[i+1] == '/'
	for i += 2; i < len(data); i++ {
		switch {
		case line && (data[i] == '\n' || data[i] == '\r'):
			return i, true
		case !line && data[i] == '*' && i+1 < len(data) && data[i+1] == '/':
			return i + 2, true
		}
	}
	return len(data), line
}
