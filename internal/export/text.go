package export

import (
	"html"
	"regexp"
	"strings"
	"sync"

	"droid-acp/internal/visible"
)

// escaped makes text part of HTML. A NUL, which HTML cannot have, becomes the sign for
// what cannot be shown.
func escaped(text string) string {
	return html.EscapeString(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}

// terminal finds the sequences by which programs colour and move in a terminal.
var terminal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))")
})

// Text makes plain text fit to be read: without the sequences of terminals, and with
// the signs that hide something shown as escapes.
func (p *painter) Text(text string) string {
	if strings.Contains(text, "\x1b") {
		text = terminal().ReplaceAllString(text, "")
	}
	return visible.Text(text)
}

// Line is Text in one line.
func (p *painter) Line(text string) string { return visible.Line(text) }
