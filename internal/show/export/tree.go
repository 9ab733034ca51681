package export

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"strings"

	"rsc.io/markdown"
)

const (
	// maxCells bounds the cells of tables in one piece of Markdown. The parser fills each
	// row to the width of its table, so a wide one with short rows would become huge.
	maxCells = 100_000
	// maxDepth bounds the quotes and lists that one line begins inside each other. The
	// parser goes through all of them for each line after it.
	maxDepth = 50
	// maxSwelling bounds how many times as long as a text its HTML becomes, beside the
	// first maxSmall bytes. A long address that is named once may be used many times.
	maxSwelling = 32
	maxSmall    = 256 << 10
)

// converted is Markdown as HTML. It reports false when the parser cannot read it, or
// should not.
func converted(source string) (page string, ok bool) {
	defer func() {
		if recover() != nil { // the parser ends so where it finds itself wrong
			page, ok = "", false
		}
	}()
	if depth(source) > maxDepth {
		return "", false
	}
	parser := markdown.Parser{Strikethrough: true, TaskListItems: true, AutoLinkText: true, AutoLinkAssumeHTTP: true, Table: cells(source) <= maxCells}
	w := writer{lines: strings.Split(source, "\n"), limit: maxSmall + maxSwelling*len(source)}
	w.blocks(parser.Parse(source).Blocks)
	return w.String(), w.Len() <= w.limit
}

// cells is how many cells the tables of a text have at most.
func cells(source string) int {
	widest, lines := 0, 0
	for line := range strings.Lines(source) {
		widest = max(widest, strings.Count(line, "|")+1)
		lines++
	}
	return widest * lines
}

// depth is how many quotes and lists a line of a text begins at most.
func depth(source string) (deepest int) {
	for line := range strings.Lines(source) {
		begun := 0
		for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
			rest := strings.TrimLeft(line, "0123456789")
			if rest == "" || strings.IndexByte(">-+*.)", rest[0]) < 0 || rest[0] != '>' && len(rest) > 1 && strings.IndexByte(" \t\r\n", rest[1]) < 0 {
				break // no sign, or one without a blank
			}
			begun, line = begun+1, rest[1:]
		}
		deepest = max(deepest, begun)
	}
	return deepest
}

// writer writes Markdown that is read as HTML. Each element, attribute and address of it
// is written here and not by the parser's own writer, which lets HTML through.
type writer struct {
	strings.Builder
	lines []string // of the text
	limit int      // bytes; behind it nothing more is written
}

func (w *writer) blocks(list []markdown.Block) {
	for _, b := range list {
		w.block(b)
	}
}

func (w *writer) block(b markdown.Block) {
	switch b := b.(type) {
	case *markdown.Text:
		w.inlines(b.Inline)
	case *markdown.Paragraph:
		w.element("p", b.Text)
		w.WriteString("\n")
	case *markdown.Heading:
		w.element(fmt.Sprintf("h%d", min(b.Level+2, 6)), b.Text) // lower than the page's own
		w.WriteString("\n")
	case *markdown.Quote:
		w.WriteString("<blockquote>\n")
		w.blocks(b.Blocks)
		w.WriteString("</blockquote>\n")
	case *markdown.List:
		w.list(b)
	case *markdown.CodeBlock:
		w.code(b)
	case *markdown.HTMLBlock: // the text that it is
		w.WriteString(`<p class="typed">` + escaped(strings.Trim(strings.Join(b.Text, "\n"), "\n")) + "</p>\n")
	case *markdown.ThematicBreak:
		w.WriteString("<hr>\n")
	case *markdown.Table:
		w.table(b)
	}
}

func (w *writer) element(name string, text *markdown.Text) {
	w.WriteString("<" + name + ">")
	w.inlines(text.Inline)
	w.WriteString("</" + name + ">")
}

func (w *writer) list(l *markdown.List) {
	begin, end := "<ul>\n", "</ul>\n"
	if l.Bullet == '.' || l.Bullet == ')' {
		begin, end = "<ol>\n", "</ol>\n"
		if l.Start != 1 {
			begin = fmt.Sprintf("<ol start=\"%d\">\n", l.Start)
		}
	}
	w.WriteString(begin)
	for _, item := range l.Items {
		w.WriteString("<li>")
		for i, b := range item.(*markdown.Item).Blocks {
			_, text := b.(*markdown.Text)
			if i == 0 && !text {
				w.WriteString("\n")
			}
			if w.block(b); text && i+1 < len(item.(*markdown.Item).Blocks) {
				w.WriteString("\n")
			}
		}
		w.WriteString("</li>\n")
	}
	w.WriteString(end)
}

func (w *writer) code(b *markdown.CodeBlock) {
	lines := b.Text
	for b.Fence == "" && len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	text := strings.Join(lines, "\n")
	if len(lines) > 0 {
		text += "\n"
	}
	w.WriteString(blockOfCode(text))
}

func (w *writer) table(t *markdown.Table) {
	if rows := w.lines[t.StartLine-1 : t.EndLine]; widest(rows) > len(t.Header) { // the parser leaves out what is too much
		w.WriteString(`<p class="typed">` + escaped(strings.Join(rows, "\n")) + "</p>\n")
		return
	}
	w.WriteString("<table>\n<thead>\n")
	w.row("th", t.Header, t.Align)
	w.WriteString("</thead>\n")
	if len(t.Rows) > 0 {
		w.WriteString("<tbody>\n")
		for _, row := range t.Rows {
			w.row("td", row, t.Align)
		}
		w.WriteString("</tbody>\n")
	}
	w.WriteString("</table>\n")
}

// widest is how many cells the rows of a table have at most.
func widest(rows []string) (most int) {
	for _, row := range rows {
		row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimLeft(strings.TrimSpace(row), "> \t"), "|"), "|")
		most = max(most, strings.Count(row, "|")-strings.Count(row, `\|`)+1)
	}
	return most
}

func (w *writer) row(cell string, texts []*markdown.Text, align []string) {
	w.WriteString("<tr>\n")
	for i, text := range texts {
		w.WriteString("<" + cell)
		if i < len(align) && align[i] != "" {
			w.WriteString(` align="` + escaped(align[i]) + `"`)
		}
		w.WriteString(">")
		w.inlines(text.Inline)
		w.WriteString("</" + cell + ">\n")
	}
	w.WriteString("</tr>\n")
}

func (w *writer) inlines(list []markdown.Inline) {
	for _, x := range list {
		if w.Len() <= w.limit {
			w.inline(x)
		}
	}
}

func (w *writer) inline(x markdown.Inline) {
	within := func(name string, inner []markdown.Inline) {
		w.WriteString("<" + name + ">")
		w.inlines(inner)
		w.WriteString("</" + name + ">")
	}
	switch x := x.(type) {
	case *markdown.Code:
		w.WriteString("<code>" + escaped(x.Text) + "</code>")
	case *markdown.Strong:
		within("strong", x.Inner)
	case *markdown.Emph:
		within("em", x.Inner)
	case *markdown.Del:
		within("del", x.Inner)
	case *markdown.HTMLTag: // the text that it is
		w.WriteString(escaped(x.Text))
	case *markdown.HardBreak:
		w.WriteString("<br>\n")
	case *markdown.SoftBreak:
		w.WriteString("\n")
	case *markdown.Task:
		w.task(x.Checked)
	case *markdown.Link:
		w.link(x)
	case *markdown.AutoLink:
		w.anchor(address(x.URL), escaped(x.Text))
	case *markdown.Image:
		w.image(x)
	default:
		w.WriteString(escaped(plainText([]markdown.Inline{x})))
	}
}

func (w *writer) task(done bool) {
	sign, words := "☐", "to do"
	if done {
		sign, words = "☑", "done"
	}
	w.WriteString(`<span role="img" aria-label="` + words + `">` + sign + "</span>")
}

// address is the address of a link as it may stand in an attribute, "" for one that is
// none to follow: only the web and mail are.
func address(of string) string {
	u, err := url.Parse(strings.TrimSpace(of))
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
	case "mailto":
	default:
		return ""
	}
	return html.EscapeString(u.String())
}

// anchor writes words that are HTML, as a link if there is an address to follow.
func (w *writer) anchor(to, words string) {
	if to != "" {
		words = `<a href="` + to + `" rel="noreferrer noopener">` + words + "</a>"
	}
	w.WriteString(words)
}

func (w *writer) link(l *markdown.Link) {
	words := writer{limit: w.limit}
	words.inlines(l.Inner)
	to := address(l.URL)
	w.anchor(to, words.String())
	if to == "" && l.URL != "" {
		w.WriteString(` <span class="to">(` + escaped(l.URL) + ")</span>")
	}
}

// image shows an image whose data the text has, and the link of any other.
func (w *writer) image(image *markdown.Image) {
	words := "image"
	if alt := plainText(image.Inner); alt != "" {
		words = "image: " + alt
	}
	if mediaType, data, ok := strings.Cut(strings.TrimPrefix(image.URL, "data:"), ";base64,"); ok && strings.HasPrefix(image.URL, "data:") {
		if src := imageURL(mediaType, data); src != "" {
			_, _ = fmt.Fprintf(w, `<img alt="%s" src="%s">`, escaped(words), src)
			return
		}
	}
	to := address(image.URL)
	w.anchor(to, escaped(words))
	if to == "" {
		w.WriteString(` <span class="to">(` + escaped(image.URL) + ")</span>")
	}
}

// plainText is the text of what stands in a line. The parser escapes it.
func plainText(list []markdown.Inline) string {
	var b bytes.Buffer
	for _, x := range list {
		x.PrintText(&b)
	}
	return html.UnescapeString(b.String())
}
