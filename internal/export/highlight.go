package export

import (
	"html"
	"html/template"
	"regexp"
	"strings"
	"sync"

	"droid-acp/internal/visible"
)

// maxColoured bounds the code that gets colours, in bytes. Longer code is shown without:
// colours make a page several times as large.
const maxColoured = 64 << 10

// code writes code as HTML, with colours if what it is, the name of a language or of a
// file, is in the table.
func code(what, text string) string {
	if g := grammarFor(what); g != nil && len(text) <= maxColoured {
		return g.coloured(text)
	}
	return escaped(text)
}

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

// Code makes HTML of code in a language or of a file.
func (p *painter) Code(what, text string) template.HTML {
	return template.HTML(code(what, p.Text(text)))
}
