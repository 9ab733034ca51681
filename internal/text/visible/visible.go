// Package visible makes text safe to show. What a model, droid or a file wrote
// may hold signs that move the cursor, turn the direction of writing or take no
// room, and so make a person read something else than what is there. Such signs
// are shown as escapes: who approves a command sees all of it.
package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text makes text of several lines safe. Line ends and tabs stay as they are.
func Text(s string) string {
	if plain(s) {
		return s
	}
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), human)
}

// Exact is Text for what a machine takes as it stands, as a command or a path: signs that only look like a space
// are escaped there, too.
func Exact(s string) string {
	var b strings.Builder
	for _, r := range Text(s) {
		if r > unicode.MaxASCII && (unicode.Is(unicode.Zs, r) || r == emptyBraille) {
			b.WriteString(human(r, 0))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

const emptyBraille = '\u2800'

// Line makes text safe and puts it in one line, for titles and names. Where it
// had several lines, a sign shows where they ended.
func Line(s string) string {
	if plain(s) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(s, "\t", " ")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return Text(strings.Join(lines, " ⏎ "))
}

// JSON makes a line of JSON safe without a change of what it means.
func JSON(line string) string {
	if plain(line) {
		return line
	}
	return escape(line, inJSON)
}

// Values makes each text in a JSON value safe, names of members among them, so that who
// shows one of them shows it as it is. Only what hides something is changed: it means
// something else then. What is no JSON becomes null.
func Values(value []byte) []byte {
	if !json.Valid(value) {
		return []byte("null")
	}
	var safe []byte
	for rest := value; ; {
		begin := bytes.IndexByte(rest, '"')
		if begin < 0 {
			return append(safe, rest...)
		}
		end := begin + 1
		for rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		safe = append(append(safe, rest[:begin]...), safeString(rest[begin:end+1])...)
		rest = rest[end+1:]
	}
}

// safeString is Text for a string of JSON's. An invalid byte, or half a character, is the
// sign for what cannot be read.
func safeString(quoted []byte) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return []byte(`""`) // it is none
	}
	safe := Text(text)
	if safe == text && utf8.Valid(quoted) && !bytes.Contains(quoted, []byte(`\u`)) {
		return quoted
	}
	quoted, _ = json.Marshal(safe) // a string always encodes
	return quoted
}

// Stream makes all that is written to it safe.
type Stream struct {
	to   io.Writer
	rest []byte // of a letter, or a carriage return, that may go on in the next Write
}

// Writer is a Stream to w. Write it from one goroutine at a time, and at its end Flush it.
func Writer(w io.Writer) *Stream { return &Stream{to: w} }

// Write writes what is complete of p and of what was written before.
func (s *Stream) Write(p []byte) (int, error) {
	text := append(s.rest, p...)
	end := len(text) - unfinished(text)
	s.rest = append([]byte(nil), text[end:]...)
	if err := s.put(text[:end]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what may be incomplete.
func (s *Stream) Flush() error {
	text := s.rest
	s.rest = nil
	return s.put(text)
}

func (s *Stream) put(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := io.WriteString(s.to, Text(string(text)))
	return err
}

// unfinished is how many bytes at the end of a text depend on what follows.
func unfinished(text []byte) int {
	if bytes.HasSuffix(text, []byte("\r")) {
		return 1
	}
	return len(text) - Whole(text)
}

// Whole is how many bytes there are up to a character at the end of a text of which more may come.
func Whole(text []byte) int {
	for i := max(0, len(text)-utf8.UTFMax); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			return i
		}
	}
	return len(text)
}

// plain reports that nothing in s needs a second look: it is printable ASCII.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// escape puts what form returns in the place of each sign that hides something.
func escape(s string, form func(r rune, invalid byte) string) string {
	var b strings.Builder
	before := rune(-1)
	for i, r := range s {
		size := utf8.RuneLen(r)
		invalid := r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError))
		if invalid {
			size = 1
		}
		after, n := utf8.DecodeRuneInString(s[i+size:])
		switch {
		case n == 0:
			after = -1
		case after == utf8.RuneError && n == 1:
			after = '\\' // an escape will stand there
		}
		switch {
		case invalid:
			b.WriteString(form(r, s[i]))
			r = '\\'
		case hides(r) && !(joins(r) && joined(before, after)) && !(varies(r) && varied(before, after)):
			b.WriteString(form(r, 0))
			r = '\\'
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// human is an escape as Go and shells write it.
func human(r rune, invalid byte) string {
	switch {
	case invalid != 0:
		return fmt.Sprintf(`\x%02x`, invalid)
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xFFFF:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// inJSON is an escape of JSON's. Bytes that are no UTF-8 become what decoders
// make of them.
func inJSON(r rune, _ byte) string {
	if r == '\r' {
		return " " // it is white space there, as texts have it escaped
	}
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// hides reports signs that steer a terminal, turn the direction of writing, break
// lines, or cannot be seen.
func hides(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // has a shape
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// joins reports the two signs that join or part letters of some scripts, and the
// parts of an emoji.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joined reports whether signs that stand beside a joiner are of those that need
// it: in ASCII, where commands, paths and names are alike but for it, it hides.
func joined(before, after rune) bool {
	switch {
	case before < 0:
		return after >= 0 && needs(after)
	case after < 0:
		return needs(before) || varies(before)
	}
	return (needs(before) || varies(before)) && needs(after)
}

func needs(r rune) bool { return r > unicode.MaxASCII && !hides(r) && !unicode.IsSpace(r) }

// varies reports the signs that choose between the shapes of the one before them, as that of an emoji.
func varies(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

// varied reports whether a sign has several shapes: none of ASCII has, but as a key's cap.
func varied(before, after rune) bool {
	const cap = '\u20e3'
	return needs(before) || after == cap && strings.ContainsRune("#*0123456789", before)
}
