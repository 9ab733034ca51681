package export

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"droid-acp/internal/visible"
)

const (
	// maxMarkdown bounds how much Markdown is read in one piece, in bytes. The time
	// that this takes grows with the square of the length for texts made to be slow.
	maxMarkdown = 64 << 10
	// maxPainting bounds how long one page takes for Markdown. What comes after is shown
	// as plain text.
	maxPainting = 10 * time.Second
)

// painter makes HTML of Markdown and of code, for one page.
type painter struct {
	markdown goldmark.Markdown
	until    time.Time
}

func newPainter(now time.Time) *painter {
	p := &painter{until: now.Add(maxPainting)}
	p.markdown = goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.TaskList, extension.Linkify),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(lower{}, 100))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(p, 100))),
	)
	return p
}

// late reports that the page has had its time.
func (p *painter) late() bool { return time.Now().After(p.until) }

// Markdown makes HTML of Markdown. HTML in it is shown as text, images as links, and
// only addresses that a person may want to follow become links. A long text is read in
// pieces; what cannot be cut is shown as plain text.
func (p *painter) Markdown(source string) template.HTML {
	var b strings.Builder
	for _, piece := range pieces(visible.Text(source), maxMarkdown) {
		var out bytes.Buffer
		if len(piece) > maxMarkdown || p.late() || p.markdown.Convert([]byte(piece), &out) != nil {
			b.WriteString(`<p class="typed">` + escaped(piece) + "</p>\n")
			continue
		}
		b.Write(out.Bytes())
	}
	return template.HTML(b.String())
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

// fenceOf is the fence that a line begins with, "" for none.
func fenceOf(word string) string {
	for _, sign := range []string{"`", "~"} {
		if n := len(word) - len(strings.TrimLeft(word, sign)); n >= 3 {
			return word[:n]
		}
	}
	return ""
}

// Typed makes HTML of what a user typed: every space as it is, code between fences as code.
func (p *painter) Typed(source string) template.HTML {
	var b strings.Builder
	source = visible.Text(source)
	begin, at, fence, language := 0, 0, "", ""
	flush := func(end int) {
		held := source[begin:end]
		switch {
		case fence != "":
			b.WriteString(blockOfCode(language, held))
		case strings.Trim(held, "\r\n") != "":
			b.WriteString(`<p class="typed">` + escaped(strings.Trim(held, "\r\n")) + "</p>\n")
		}
	}
	for line := range strings.Lines(source) {
		word, next := strings.TrimSpace(line), at+len(line)
		switch opens := fenceOf(word); {
		case fence == "" && opens != "":
			flush(at)
			fence, language, begin = opens, word[len(opens):], next
		case fence != "" && word == fence:
			flush(at)
			fence, begin = "", next
		}
		at = next
	}
	flush(at)
	return template.HTML(b.String())
}

// blockOfCode is code on lines of its own.
func blockOfCode(language, text string) string {
	language, _, _ = strings.Cut(strings.TrimSpace(language), " ")
	return `<pre tabindex="0"><code>` + code(language, text) + "</code></pre>\n"
}

// lower makes the headings of a text lower than those of the page.
type lower struct{}

// Transform implements parser.ASTTransformer.
func (lower) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			h.Level = min(h.Level+2, 6)
		}
		return ast.WalkContinue, nil
	})
}

// RegisterFuncs implements renderer.NodeRenderer for what is not shown as goldmark does.
func (p *painter) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, p.link)
	r.Register(ast.KindImage, p.image)
	r.Register(ast.KindAutoLink, p.autoLink)
	r.Register(ast.KindRawHTML, p.rawHTML)
	r.Register(ast.KindHTMLBlock, p.htmlBlock)
	r.Register(ast.KindCodeBlock, p.codeBlock)
	r.Register(ast.KindFencedCodeBlock, p.codeBlock)
	r.Register(extensionast.KindTaskCheckBox, p.checkBox)
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
	return template.HTMLEscapeString(u.String())
}

func openLink(w util.BufWriter, address string) {
	_, _ = w.WriteString(`<a href="` + address + `" rel="noreferrer noopener">`)
}

func (p *painter) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	to := string(node.(*ast.Link).Destination)
	switch safe := address(to); {
	case safe != "" && entering:
		openLink(w, safe)
	case safe != "":
		_, _ = w.WriteString("</a>")
	case !entering && to != "":
		_, _ = w.WriteString(` <span class="to">(` + escaped(to) + ")</span>")
	}
	return ast.WalkContinue, nil
}

// image shows an image whose data the text has, and the link of any other.
func (p *painter) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	to := string(node.(*ast.Image).Destination)
	words := "image"
	if alt := plainText(node, source); alt != "" {
		words = "image: " + alt
	}
	if mediaType, data, ok := strings.Cut(strings.TrimPrefix(to, "data:"), ";base64,"); ok && strings.HasPrefix(to, "data:") {
		if src := imageURL(mediaType, data); src != "" {
			_, _ = fmt.Fprintf(w, `<img alt="%s" src="%s">`, escaped(words), src)
			return ast.WalkSkipChildren, nil
		}
	}
	if safe := address(to); safe != "" {
		openLink(w, safe)
		_, _ = w.WriteString(escaped(words) + "</a>")
	} else {
		_, _ = w.WriteString(escaped(words) + ` <span class="to">(` + escaped(to) + ")</span>")
	}
	return ast.WalkSkipChildren, nil
}

// plainText is the text in a node.
func plainText(node ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func (p *painter) autoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.AutoLink)
	to := string(n.URL(source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(to), "mailto:") {
		to = "mailto:" + to
	}
	label := escaped(string(n.Label(source)))
	if safe := address(to); safe != "" {
		openLink(w, safe)
		label += "</a>"
	}
	_, _ = w.WriteString(label)
	return ast.WalkContinue, nil
}

// rawHTML and htmlBlock show HTML as the text that it is.
func (p *painter) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(escaped(string(node.(*ast.RawHTML).Segments.Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

func (p *painter) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		n := node.(*ast.HTMLBlock)
		lines := string(n.Lines().Value(source))
		if n.HasClosure() {
			lines += string(n.ClosureLine.Value(source))
		}
		_, _ = w.WriteString(`<p class="typed">` + escaped(strings.TrimRight(lines, "\n")) + "</p>\n")
	}
	return ast.WalkSkipChildren, nil
}

func (p *painter) codeBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		language := ""
		if fenced, ok := node.(*ast.FencedCodeBlock); ok {
			language = string(fenced.Language(source))
		}
		_, _ = w.WriteString(blockOfCode(language, string(node.Lines().Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

func (p *painter) checkBox(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		sign, words := "☐", "to do"
		if node.(*extensionast.TaskCheckBox).IsChecked {
			sign, words = "☑", "done"
		}
		_, _ = fmt.Fprintf(w, `<span role="img" aria-label="%s">%s</span> `, words, sign)
	}
	return ast.WalkContinue, nil
}
