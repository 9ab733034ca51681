package export

import (
	"html"
	"regexp"
	"strings"
	"sync"

	"droid-acp/internal/text/visible"
)

// escaped escapes text for HTML. NUL, which HTML does not allow, becomes U+FFFD.
func escaped(text string) string {
	return html.EscapeString(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}

// terminal matches terminal control sequences.
var terminal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))")
})

// Text makes plain text readable: it removes terminal control sequences and escapes characters that hide something.
func (p *textRenderer) Text(text string) string {
	if strings.Contains(text, "\x1b") {
		text = terminal().ReplaceAllString(text, "")
	}
	return visible.Text(text)
}

// erase matches the control sequences that erase a line or its rest.
var erase = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-2]?K") })

// Screen is Text with carriage returns applied as in a terminal: programs that show progress overwrite the line.
func (p *textRenderer) Screen(text string) string {
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

// Line is Text on one line.
func (p *textRenderer) Line(text string) string { return visible.Line(text) }
