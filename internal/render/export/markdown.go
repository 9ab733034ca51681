package export

import (
	"strings"
	"time"

	"droid-acp/internal/text/visible"
)

const (
	// maxMarkdown bounds the Markdown parsed in one piece, in bytes. For adversarial input the time grows with the square of the length: a
	// second for this many bytes.
	maxMarkdown = 64 << 10
	// maxRenderTime bounds the time for the Markdown of one page. The rest is shown as plain text.
	maxRenderTime = 10 * time.Second
)

// textRenderer converts Markdown and other text of one page to HTML.
type textRenderer struct{ until time.Time }

func newPainter(now time.Time) *textRenderer { return &textRenderer{until: now.Add(maxRenderTime)} }

// Markdown converts Markdown to HTML. HTML in it is shown as text, images become links, and only web and mail addresses become links. A
// long text is parsed in pieces; what cannot be split is shown as plain text.
func (p *textRenderer) Markdown(source string) string {
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

// pieces splits a text at empty lines outside code blocks into pieces of at most limit bytes, where possible.
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

// fenceOf returns the code fence at the beginning of a line, or "". Backticks followed by more of them are inline code.
func fenceOf(word string) string {
	for _, sign := range []string{"`", "~"} {
		rest := strings.TrimLeft(word, sign)
		if n := len(word) - len(rest); n >= 3 && (sign == "~" || !strings.Contains(rest, sign)) {
			return word[:n]
		}
	}
	return ""
}

// Typed converts text typed by the user to HTML: it keeps white space, and shows fenced code as code.
func (p *textRenderer) Typed(source string) string {
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
			if strings.ContainsAny(strings.TrimSpace(word[len(opens):]), " \t") { // more than a language name
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

// blockOfCode returns a code block.
func blockOfCode(text string) string {
	return `<pre tabindex="0"><code>` + escaped(text) + "</code></pre>\n"
}
