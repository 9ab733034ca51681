// Package rawjson reads JSON without decoding or copying it: members of an object, the extent of a value, the text of a string. It also
// encodes strings. It expects valid JSON; for other input the results are arbitrary, but it terminates. The stream decoder, jsonrpc and
// serve use it.
package rawjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is a raw value that aliases the decoded input. json.RawMessage would copy it, holding a message of megabytes once more for each
// level. Use it only with json.Unmarshal, and do not change the input while the value is in use.
type Value []byte

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = data
	return nil
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return json.RawMessage(v).MarshalJSON() }

// IsObject reports whether data, one valid JSON value, is an object.
func IsObject(data []byte) bool {
	i := SkipSpace(data, 0)
	return i < len(data) && data[i] == '{'
}

// Fields iterates over the members of an object: unquoted name and raw value, both aliasing data, which must be one valid JSON value. Any
// other value has no members.
//
// It exists for text deltas: encoding/json takes several times as long for the envelope as for the text.
func Fields(data []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if !IsObject(data) {
			return
		}
		for i := SkipSpace(data, 0) + 1; ; {
			i = SkipSpace(data, i)
			if i < len(data) && data[i] == ',' {
				i = SkipSpace(data, i+1)
			}
			if i >= len(data) || data[i] != '"' {
				return
			}
			end := SkipString(data, i)
			name := data[i+1 : end-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				name = []byte(Unquote(data[i:end]))
			}
			begin := SkipSpace(data, SkipSpace(data, end)+1) // after the colon
			i = SkipValue(data, begin)
			if !yield(name, data[begin:i]) {
				return
			}
		}
	}
}

// Field returns the raw value of the first member called name, or nil.
func Field(data []byte, name string) []byte {
	for n, value := range Fields(data) {
		if string(n) == name {
			return value
		}
	}
	return nil
}

// ListErrorDetail completes an error "must be a list" after json.Unmarshal failed on a list of objects, without naming Go types.
func ListErrorDetail(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return ": " + err.Error()
	case wrong.Field == "":
		return "; it is of the JSON type " + wrong.Value
	}
	return "; the " + wrong.Field + " of one is of the JSON type " + wrong.Value
}

// SkipSpace returns the index after the white space at i.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// SkipString returns the index after the string that begins at i.
func SkipString(b []byte, i int) int {
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

// SkipValue returns the index after the value that begins at i.
func SkipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return SkipString(b, i)
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
			i = SkipString(b, i)
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

// IsString reports whether the raw value is a JSON string.
func IsString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' }

// Unquote decodes a raw JSON string; for any other value it returns "". Invalid UTF-8 becomes U+FFFD, as in encoding/json.
func Unquote(raw []byte) string {
	if !IsString(raw) {
		return ""
	}
	return UnquoteBody(raw[1 : len(raw)-1])
}

// UnquoteBody decodes the contents of a raw JSON string, without its quotes.
func UnquoteBody(body []byte) string {
	if bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		return string(body)
	}
	return unescape(body)
}

// unescape decodes the contents of a valid raw JSON string. It makes one copy, where encoding/json makes two.
func unescape(body []byte) string {
	var out strings.Builder
	out.Grow(len(body))
	WriteUnquoted(&out, body)
	return out.String()
}

// WriteUnquoted decodes the contents of a raw JSON string into out.
func WriteUnquoted(out *strings.Builder, body []byte) {
	for len(body) > 0 {
		plain := bytes.IndexByte(body, '\\')
		if plain < 0 {
			plain = len(body)
		}
		writeValid(out, body[:plain])
		if body = body[plain:]; len(body) < 2 {
			break
		}
		body = body[min(len(body), writeEscape(out, body)):]
	}
}

// writeValid writes text, replacing each invalid byte by U+FFFD.
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

// writeEscape decodes the escape at the beginning of body, and returns its length.
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
		r := HexRune(body)
		if utf16.IsSurrogate(r) {
			if both := utf16.DecodeRune(r, HexRune(body[min(6, len(body)):])); both != utf8.RuneError {
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

// MarshalLine encodes a value as a line of JSON, including the newline. HTML characters are not escaped, which would make code or a page
// several times as long.
func MarshalLine(value any) ([]byte, error) {
	var line bytes.Buffer
	to := json.NewEncoder(&line)
	to.SetEscapeHTML(false)
	err := to.Encode(value)
	return line.Bytes(), err
}

// AppendString appends text as a JSON string. HTML characters are not escaped; encoding/json would make them six times as long. U+2028 and
// U+2029 are escaped, since some programs take them for line ends.
func AppendString(buf []byte, text string) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, '"')
	copied := 0 // number of bytes of text already in buf
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if broken := r == utf8.RuneError && n == 1; c >= utf8.RuneSelf && !broken && r != '\u2028' && r != '\u2029' {
			i += n
			continue
		}
		buf = append(buf, text[copied:i]...)
		switch i += n; c {
		case '"', '\\':
			buf = append(buf, '\\', c)
		case '\b':
			buf = append(buf, '\\', 'b')
		case '\f':
			buf = append(buf, '\\', 'f')
		case '\n':
			buf = append(buf, '\\', 'n')
		case '\r':
			buf = append(buf, '\\', 'r')
		case '\t':
			buf = append(buf, '\\', 't')
		default:
			buf = append(buf, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15]) // U+FFFD for invalid UTF-8
		}
		copied = i
	}
	return append(append(buf, text[copied:]...), '"')
}

// HexRune decodes an escape "\u0000" at the beginning of body. It returns -1 if there is none.
func HexRune(body []byte) rune {
	if len(body) < 6 || body[0] != '\\' || body[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(body[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// LineTemplate is a line except for one string in it, and except for the contents of an optional second string behind it, which is ignored
// and has a fixed length. Thousands of text deltas differ only there, so comparing with a LineTemplate replaces parsing them. The zero
// value matches nothing.
type LineTemplate struct {
	before, between, behind []byte // including the quotes of the strings
	aside                   int    // length of the second string, without its quotes
}

// NewLineTemplate returns the shape of a line. text and aside are raw strings, subslices of line; aside may be nil. If aside is before
// text, it is treated as fixed.
func NewLineTemplate(line, text, aside []byte) LineTemplate {
	begin := cap(line) - cap(text) // its index in line
	end := begin + len(text) - 1
	s := LineTemplate{before: bytes.Clone(line[:begin+1]), behind: bytes.Clone(line[end:])}
	if at := cap(line) - cap(aside) + 1; IsString(aside) && at > end {
		s.aside = len(aside) - len(`""`)
		s.between, s.behind = s.behind[:at-end], s.behind[at-end+s.aside:]
	}
	return s
}

// Cut returns the contents of the variable string, without quotes, if line has this shape.
func (s *LineTemplate) Cut(line []byte) (text []byte, ok bool) {
	text, ok = bytes.CutPrefix(line, s.before)
	if !ok || len(s.before) == 0 {
		return nil, false
	}
	if text, ok = bytes.CutSuffix(text, s.behind); !ok {
		return nil, false
	}
	if len(s.between) > 0 {
		at := len(text) - s.aside
		if at < 0 || !validBody(text[at:]) {
			return nil, false
		}
		if text, ok = bytes.CutSuffix(text[:at], s.between); !ok {
			return nil, false
		}
	}
	return text, validBody(text)
}

// validBody reports whether b is valid inside the quotes of a JSON string.
func validBody(b []byte) bool {
	for i := plainLen(b); i < len(b); i += plainLen(b[i:]) {
		if b[i] != '\\' || i+1 == len(b) {
			return false
		}
		if b[i+1] != 'u' {
			if bytes.IndexByte([]byte(`"\/bfnrt`), b[i+1]) < 0 {
				return false
			}
			i += 2
			continue
		}
		if HexRune(b[i:]) < 0 {
			return false
		}
		i += 6
	}
	return true
}

// plainLen returns the number of bytes of b before the first control character, quote or backslash.
func plainLen(b []byte) (n int) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(b); n += 8 { // eight at a time: a relay spends most of its time here for a long text
		x := binary.NativeEndian.Uint64(b[n:])
		quote, backslash := x^each*'"', x^each*'\\'
		if ((x-each*' ')&^x|(quote-each)&^quote|(backslash-each)&^backslash)&high != 0 {
			break
		}
	}
	for n < len(b) && b[n] >= ' ' && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}
