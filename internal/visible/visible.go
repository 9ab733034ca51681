// Package visible makes text safe to show. What a model, droid or a file wrote
// may hold signs that move the cursor, turn the direction of writing or take no
// room, and so make a person read something else than what is there. Such signs
// are shown as escapes: who approves a command sees all of it.
package visible

import (
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

// Writer makes all that is written to w safe. Each Write is a text of its own.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ io.Writer }

func (w writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
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
		case hides(r) && !(joins(r) && joined(before, after)):
			b.WriteString(form(r, 0))
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
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// joins reports the two signs that join or part letters of some scripts, and the
// parts of an emoji.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joined reports whether signs that stand beside a joiner are of those that need
// it: in ASCII, where commands, paths and names are alike but for it, it hides.
func joined(before, after rune) bool {
	needs := func(r rune) bool { return r > unicode.MaxASCII && !hides(r) && !unicode.IsSpace(r) }
	switch {
	case before < 0:
		return after >= 0 && needs(after)
	case after < 0:
		return needs(before)
	}
	return needs(before) && needs(after)
}
