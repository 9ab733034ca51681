// Package visible makes text safe to display. Text by a model, droid or a file may contain characters that move the cursor, change the
// writing direction or are invisible, and so mislead the reader. They are shown as escapes, so that a user who approves a command sees all
// of it. Everything shown to users passes through it.
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

// Text makes multi-line text safe. It keeps newlines and tabs.
func Text(s string) string {
	if isPlainASCII(s) {
		return s
	}
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), goEscape)
}

// Exact is Text for commands, paths and the like, where exact characters matter: it also escapes characters that only look like a space.
func Exact(s string) string {
	var b strings.Builder
	for _, r := range Text(s) {
		if r > unicode.MaxASCII && (unicode.Is(unicode.Zs, r) || r == emptyBraille) {
			b.WriteString(goEscape(r, 0))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

const emptyBraille = '\u2800'

// Line makes text safe and joins its lines, with a visible sign between them, for titles and names.
func Line(s string) string {
	if isPlainASCII(s) && !strings.ContainsAny(s, "\n\t") {
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

// JSONLine makes a line of JSON safe without changing its meaning.
func JSONLine(line string) string {
	if isPlainASCII(line) {
		return line
	}
	return escape(line, jsonEscape)
}

// JSONStrings makes all strings of a JSON value safe, including member names, for those who display decoded strings. It changes only what
// would be hidden. Invalid JSON becomes null.
func JSONStrings(value []byte) []byte {
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

// safeString is Text for a JSON string. Invalid bytes and unpaired surrogates become U+FFFD.
func safeString(quoted []byte) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return []byte(`""`) // not a string
	}
	safe := Text(text)
	if safe == text && utf8.Valid(quoted) && !bytes.Contains(quoted, []byte(`\u`)) {
		return quoted
	}
	quoted, _ = json.Marshal(safe) // a string always encodes
	return quoted
}

// SafeWriter is an io.Writer that makes text safe.
type SafeWriter struct {
	to   io.Writer
	rest []byte // incomplete character or carriage return, to be continued by the next Write
}

// NewWriter returns a SafeWriter to w. It is not safe for concurrent use; call Flush at the end.
func NewWriter(w io.Writer) *SafeWriter { return &SafeWriter{to: w} }

// Write writes all complete characters.
func (s *SafeWriter) Write(p []byte) (int, error) {
	text := append(s.rest, p...)
	end := len(text) - unfinished(text)
	s.rest = append([]byte(nil), text[end:]...)
	if err := s.put(text[:end]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what may be incomplete.
func (s *SafeWriter) Flush() error {
	text := s.rest
	s.rest = nil
	return s.put(text)
}

func (s *SafeWriter) put(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := io.WriteString(s.to, Text(string(text)))
	return err
}

// unfinished returns how many bytes at the end of text depend on what follows.
func unfinished(text []byte) int {
	if bytes.HasSuffix(text, []byte("\r")) {
		return 1
	}
	return len(text) - CompleteLen(text)
}

// CompleteLen returns the length of text without an incomplete character at its end.
func CompleteLen(text []byte) int {
	for i := max(0, len(text)-utf8.UTFMax); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			return i
		}
	}
	return len(text)
}

// isPlainASCII reports whether s consists of printable ASCII, tabs and newlines.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// escape replaces each character that hides something by form(r, invalid).
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
			after = '\\' // it will become an escape
		}
		switch {
		case invalid:
			b.WriteString(form(r, s[i]))
			r = '\\'
		case isHidden(r) && !(isJoiner(r) && joinerNeeded(before, after)) && !(isVariationSelector(r) && hasVariants(before, after)):
			b.WriteString(form(r, 0))
			r = '\\'
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// goEscape returns an escape as in Go and shells.
func goEscape(r rune, invalid byte) string {
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

// jsonEscape returns a JSON escape. Invalid bytes become U+FFFD, as in decoders.
func jsonEscape(r rune, _ byte) string {
	if r == '\r' {
		return " " // outside of strings, where it is white space
	}
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// isHidden reports whether r controls a terminal, changes the writing direction, breaks lines, or is invisible.
func isHidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // visible
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isJoiner reports whether r is a zero-width joiner or non-joiner, which some scripts and emoji need.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joinerNeeded reports whether the neighbours of a joiner need it. Elsewhere it would only hide that two commands, paths or names differ.
func joinerNeeded(before, after rune) bool {
	switch {
	case before < 0:
		return after >= 0 && isJoinable(after)
	case after < 0:
		return isJoinable(before) || isVariationSelector(before)
	}
	return (isJoinable(before) || isVariationSelector(before)) && isJoinable(after)
}

func isJoinable(r rune) bool { return hasForms(r) && !unicode.Is(unicode.Han, r) }

// withoutForms are scripts whose letters look the same beside a joiner or a variation selector.
var withoutForms = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Georgian, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
}

// hasForms reports whether the look of r may depend on an invisible character beside it. That of an accent does not, since its letter is one
// of those scripts.
func hasForms(r rune) bool {
	const firstAccent, lastAccent = '\u0300', '\u036f'
	accent := firstAccent <= r && r <= lastAccent
	return r > unicode.MaxASCII && !accent && !isHidden(r) && !unicode.IsSpace(r) && !unicode.In(r, withoutForms...)
}

// isVariationSelector reports whether r is a variation selector.
func isVariationSelector(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

// hasVariants reports whether a variation selector is meaningful after before: in ASCII only for keycaps.
func hasVariants(before, after rune) bool {
	const cap = '\u20e3'
	return hasForms(before) || after == cap && strings.ContainsRune("#*0123456789", before)
}
