package export

import (
	"html"
	"regexp"
	"strings"
	"sync"

	"droid-acp/internal/text/visible"
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

// erase finds the sequences by which a program clears a line, or the rest of it.
var erase = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-2]?K") })

// Screen is Text as a terminal shows it: what follows a carriage return is written over the line, as
// programs do that tell their progress.
func (p *painter) Screen(text string) string {
	if !strings.Contains(text, "\r") {
		return p.Text(text)
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		var shown []rune
		for piece := range strings.SplitSeq(strings.TrimRight(line, "\r"), "\r") {
			over := []rune(terminal().ReplaceAllString(piece, ""))
			if len(over) < len(shown) && !erase().MatchString(piece) {
				over = append(over, shown[len(over):]...)
			}
			shown = over
		}
		out.WriteString(string(shown))
		if end {
			out.WriteByte('\n')
		}
	}
	return visible.Text(out.String())
}

// Line is Text in one line.
func (p *painter) Line(text string) string { return visible.Line(text) }
