package export

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// maxDepth bounds the nested quotes and lists that one line opens. The parser visits all of them for each following line.
	maxDepth = 50
	// maxAddressFactor bounds the total length of addresses on the page, as a multiple of the text's, beyond the first maxSmall bytes. A long
	// address that is defined once may be referenced many times.
	maxAddressFactor = 32
	maxSmall         = 256 << 10
)

// reader parses CommonMark with tables and bare URLs. goldmark's own extension package would cost each start of the program a millisecond.
var reader = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(bareURLs{}, 999))...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(tables{}, 200))...),
	)
})

// converted converts Markdown to HTML. It returns false if the input is too deeply nested or the output would be huge.
func converted(source string) (page string, ok bool) {
	if depth(source) > maxDepth {
		return "", false
	}
	var b bytes.Buffer
	w := &writer{left: maxSmall + maxAddressFactor*len(source)}
	err := renderer.NewRenderer(renderer.WithNodeRenderers(util.Prioritized(html.NewRenderer(), 1000), util.Prioritized(w, 100))).
		Render(&b, []byte(source), reader().Parse(text.NewReader([]byte(source))))
	return b.String(), err == nil
}

// depth returns the maximum number of quotes and lists that one line opens.
func depth(source string) (deepest int) {
	for line := range strings.Lines(source) {
		begun := 0
		for line = strings.TrimLeft(line, " \t"); line != ""; line = strings.TrimLeft(line, " \t") {
			rest := strings.TrimLeft(line, "0123456789")
			if rest == "" || strings.IndexByte(">-+*.)", rest[0]) < 0 || rest[0] != '>' && len(rest) > 1 && strings.IndexByte(" \t\r\n", rest[1]) < 0 {
				break // no marker, or one without a blank
			}
			begun, line = begun+1, rest[1:]
		}
		deepest = max(deepest, begun)
	}
	return deepest
}

// writer renders the nodes that the default renderer would omit or trust too much: HTML, links, images.
type writer struct{ left int } // remaining bytes of addresses

var errHuge = errors.New("the page would be huge")

// RegisterFuncs implements renderer.NodeRenderer.
func (w *writer) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindHeading, func(b util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		level := min(n.(*ast.Heading).Level+2, 6) // below the page's own headings
		return tag(b, entering, fmt.Sprintf("<h%d>", level), fmt.Sprintf("</h%d>\n", level))
	})
	to.Register(ast.KindCodeBlock, codeBlock)
	to.Register(ast.KindFencedCodeBlock, codeBlock)
	to.Register(ast.KindHTMLBlock, func(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		block := n.(*ast.HTMLBlock)
		words := string(block.Lines().Value(source))
		if block.HasClosure() {
			words += string(block.ClosureLine.Value(source))
		}
		return tag(b, entering, `<p class="typed">`+escaped(strings.Trim(words, "\n"))+"</p>\n", "")
	})
	to.Register(ast.KindRawHTML, func(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		return tag(b, entering, escaped(string(n.(*ast.RawHTML).Segments.Value(source))), "")
	})
	to.Register(ast.KindLink, w.link)
	to.Register(ast.KindImage, w.image)
	to.Register(ast.KindAutoLink, func(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		l, scheme := n.(*ast.AutoLink), ""
		if l.AutoLinkType == ast.AutoLinkEmail {
			scheme = "mailto:"
		}
		begin, end := anchor(scheme + string(l.URL(source)))
		return tag(b, entering, begin+escaped(string(l.Label(source)))+end, "")
	})
	to.Register(kindElement, func(b util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		begin, end := "<"+n.(*tableElement).name+">", "</"+n.(*tableElement).name+">\n"
		return tag(b, entering, begin, end)
	})
}

// tag writes the beginning or end of a node.
func tag(b util.BufWriter, entering bool, begin, end string) (ast.WalkStatus, error) {
	if !entering {
		begin = end
	}
	_, err := b.WriteString(begin)
	return ast.WalkContinue, err
}

func codeBlock(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	return tag(b, entering, blockOfCode(string(n.Lines().Value(source))), "")
}

// anchor returns the tags of a link, "" unless the address is a web or mail address.
func anchor(of string) (begin, end string) {
	u, err := url.Parse(strings.TrimSpace(of))
	if err != nil {
		return "", ""
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "mailto", (scheme == "http" || scheme == "https") && u.Host != "":
		return `<a href="` + escaped(u.String()) + `" rel="noreferrer noopener">`, "</a>"
	}
	return "", ""
}

// link renders a link. Other addresses follow the text in parentheses.
func (w *writer) link(b util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	begin, end, err := w.around(n.(*ast.Link).Destination)
	if err != nil {
		return ast.WalkStop, err
	}
	return tag(b, entering, begin, end)
}

// around returns what surrounds the text of a link.
func (w *writer) around(destination []byte) (begin, end string, err error) {
	if w.left -= len(destination); w.left < 0 {
		return "", "", errHuge
	}
	to := string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(destination))))
	if begin, end = anchor(to); begin == "" && to != "" {
		end = ` <span class="to">(` + escaped(to) + ")</span>"
	}
	return begin, end, nil
}

// image renders an image as a link, since the page loads nothing.
func (w *writer) image(b util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	begin, end, err := w.around(n.(*ast.Image).Destination)
	if err != nil || !entering {
		return ast.WalkContinue, err
	}
	words := "image"
	if alt := labelOf(n, source); alt != "" {
		words = "image: " + alt
	}
	_, err = b.WriteString(begin + escaped(words) + end)
	return ast.WalkSkipChildren, err
}

// labelOf returns the text in a node.
func labelOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// bareURLs turns web addresses after a blank or a bracket into links.
type bareURLs struct{}

// Trigger implements parser.InlineParser.
func (bareURLs) Trigger() []byte { return []byte{' ', '('} }

// sentence holds characters that end a sentence or emphasis, but not an address.
const sentence = ".,:;!?'*_~"

// Parse implements parser.InlineParser. It excludes punctuation after the address.
func (bareURLs) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, at := block.PeekLine()
	before := 1 - len(bytes.TrimLeft(line[:1], " ("))
	found := line[before:]
	if pc.IsInLinkLabel() || !bytes.HasPrefix(found, []byte("https://")) && !bytes.HasPrefix(found, []byte("http://")) {
		return nil
	}
	if end := bytes.IndexAny(found, " \t\r\n<>`\"|"); end >= 0 {
		found = found[:end]
	}
	for found = bytes.TrimRight(found, sentence); bytes.HasSuffix(found, []byte(")")) && bytes.Count(found, []byte(")")) > bytes.Count(found, []byte("(")); {
		found = bytes.TrimRight(found[:len(found)-1], sentence)
	}
	begin := at.Start + before
	if before > 0 {
		ast.MergeOrAppendTextSegment(parent, at.WithStop(begin))
	}
	block.Advance(before + len(found))
	return ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(begin, begin+len(found))))
}
