package export

import (
	"strings"
	"time"

	"droid-acp/internal/text/visible"
)

const (
	// maxMarkdown bounds how much Markdown is read in one piece, in bytes. The time
	// that this takes grows with the square of the length for some texts made to be slow:
	// a second for this many.
	maxMarkdown = 64 << 10
	// maxPainting bounds how long one page takes for Markdown. What comes after is shown
	// as plain text.
	maxPainting = 10 * time.Second
)

// painter makes HTML of Markdown and of other text, for one page.
type painter struct{ until time.Time }

func newPainter(now time.Time) *painter { return &painter{until: now.Add(maxPainting)} }

// Markdown makes HTML of Markdown. HTML in it is shown as text, images as links, and
// only addresses that a person may want to follow become links. A long text is read in
// pieces; what cannot be cut is shown as plain text.
func (p *painter) Markdown(source string) string {
	var b strings.Builder
	for _, piece := range pieces(visible.Text(source), maxMarkdown) {
		var html string
		read := false
		if len(piece) <= maxMarkdown && time.Now().Before(p.until) {
			html, read = converted(piece)
		}
		if !read {
			html = `<p class="typed">` + escaped(piece) + "</p>\n"
		}
		b.WriteString(html)
	}
	return b.String()
}

// pieces cuts a text at empty lines that are in no block of code, so that each piece
// has at most limit bytes where there are such lines.
func pieces(source string, limit int) (list []string) {
	begin, cut, at, fence := 0, 0, 0, ""
	for line := range strings.Lines(source) {
		word := strings.TrimSpace(line)
		switch {
		case fence != "" && strings.HasPrefix(word, fence) && strings.Trim(word, fence[:1]) == "":
			fence = ""
		case fence == "":
			fence = fenceOf(word)
		}
		if at += len(line); at-begin > limit && cut > begin {
			list, begin = append(list, source[begin:cut]), cut
		}
		if word == "" && fence == "" {
			cut = at
		}
	}
	return append(list, source[begin:])
}

// fenceOf is the fence that a line begins with, "" for none. One of backticks that has
// more of them behind it is code in a line.
func fenceOf(word string) string {
	for _, sign := range []string{"`", "~"} {
		rest := strings.TrimLeft(word, sign)
		if n := len(word) - len(rest); n >= 3 && (sign == "~" || !strings.Contains(rest, sign)) {
			return word[:n]
		}
	}
	return ""
}

// Typed makes HTML of what a user typed: every space as it is, code between fences as code.
func (p *painter) Typed(source string) string {
	var b strings.Builder
	source = visible.Text(source)
	begin, at, fence := 0, 0, ""
	flush := func(end int) {
		held := source[begin:end]
		switch {
		case fence != "":
			b.WriteString(blockOfCode(held))
		case strings.Trim(held, "\r\n") != "":
			b.WriteString(`<p class="typed">` + escaped(strings.Trim(held, "\r\n")) + "</p>\n")
		}
	}
	for line := range strings.Lines(source) {
		word, next := strings.TrimSpace(line), at+len(line)
		switch opens := fenceOf(word); {
		case fence == "" && opens != "":
			flush(at)
			fence, begin = opens, next
			if strings.ContainsAny(strings.TrimSpace(word[len(opens):]), " \t") { // more than the name of a language
				b.WriteString(`<p class="typed">` + escaped(word) + "</p>\n")
			}
		case fence != "" && word == fence:
			flush(at)
			fence, begin = "", next
		}
		at = next
	}
	flush(at)
	return b.String()
}

// blockOfCode is code on lines of its own.
func blockOfCode(text string) string {
	return `<pre tabindex="0"><code>` + escaped(text) + "</code></pre>\n"
}
