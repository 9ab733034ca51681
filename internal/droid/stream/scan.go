package stream

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// fieldScanner walks the fields of one JSON object without decoding or copying
// them. It expects JSON that json.Valid accepts.
//
// It exists for text deltas: encoding/json spends several times as long on the
// envelope as on the text.
type fieldScanner struct {
	data []byte
	pos  int
}

// scanFields starts on data, which must be one valid JSON value. ok is false
// when that is no object.
func scanFields(data []byte) (s fieldScanner, ok bool) {
	i := skipSpace(data, 0)
	if i == len(data) || data[i] != '{' {
		return fieldScanner{}, false
	}
	return fieldScanner{data: data, pos: i + 1}, true
}

// next returns the next field: its name without quotes and its raw value. Both
// alias the data.
func (s *fieldScanner) next() (name, value []byte, ok bool) {
	i := skipSpace(s.data, s.pos)
	if i < len(s.data) && s.data[i] == ',' {
		i = skipSpace(s.data, i+1)
	}
	if i >= len(s.data) || s.data[i] != '"' {
		return nil, nil, false
	}
	end := skipString(s.data, i)
	name = s.data[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name = []byte(unquote(s.data[i:end]))
	}
	i = skipSpace(s.data, end)
	i = skipSpace(s.data, i+1) // the colon
	end = skipValue(s.data, i)
	s.pos = end
	return name, s.data[i:end], true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index behind the string that begins at i.
func skipString(b []byte, i int) int {
	i++
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		slashes := 0
		for k := i + n - 1; k >= i && b[k] == '\\'; k-- {
			slashes++
		}
		i += n + 1
		if slashes%2 == 0 {
			return i
		}
	}
}

// skipValue returns the index behind the value that begins at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for ; i < len(b); i++ {
		switch b[i] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

// isString reports whether the raw value is a JSON string.
func isString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' }

// unquote returns the string that a raw JSON string stands for, and "" for any
// other value. Invalid UTF-8 becomes U+FFFD, as in encoding/json.
func unquote(raw []byte) string {
	if !isString(raw) {
		return ""
	}
	return textOf(raw[1 : len(raw)-1])
}

// textOf returns the string that the inside of a raw JSON string stands for.
func textOf(body []byte) string {
	if bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		return string(body)
	}
	return unescape(body)
}

// unescape is the string that the inside of a valid raw JSON string stands for. It
// makes one copy, where encoding/json makes two.
func unescape(body []byte) string {
	var out strings.Builder
	out.Grow(len(body))
	for len(body) > 0 {
		plain := bytes.IndexByte(body, '\\')
		if plain < 0 {
			plain = len(body)
		}
		writeValid(&out, body[:plain])
		if body = body[plain:]; len(body) < 2 {
			break
		}
		body = body[min(len(body), writeEscape(&out, body)):]
	}
	return out.String()
}

// writeValid writes text with each byte that is no UTF-8 as U+FFFD.
func writeValid(out *strings.Builder, text []byte) {
	if utf8.Valid(text) {
		out.Write(text)
		return
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		out.WriteRune(r)
		text = text[n:]
	}
}

// writeEscape writes what the escape that body begins with stands for, and returns
// its length.
func writeEscape(out *strings.Builder, body []byte) int {
	switch c := body[1]; c {
	case 'b':
		out.WriteByte('\b')
	case 'f':
		out.WriteByte('\f')
	case 'n':
		out.WriteByte('\n')
	case 'r':
		out.WriteByte('\r')
	case 't':
		out.WriteByte('\t')
	case 'u':
		r := hexRune(body)
		if utf16.IsSurrogate(r) {
			if both := utf16.DecodeRune(r, hexRune(body[min(6, len(body)):])); both != utf8.RuneError {
				out.WriteRune(both)
				return 12
			}
			r = utf8.RuneError
		}
		out.WriteRune(r)
		return 6
	default: // a quote, a slash, a backslash
		out.WriteByte(c)
	}
	return 2
}

// hexRune is the number in an escape "\u0000" at the beginning of body, -1 when
// there is none.
func hexRune(body []byte) rune {
	if len(body) < 6 || body[0] != '\\' || body[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(body[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// smallInt reads a plain non-negative integer of at most nine digits.
func smallInt(raw []byte) (n int, ok bool) {
	if len(raw) == 0 || len(raw) > 9 {
		return 0, false
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
