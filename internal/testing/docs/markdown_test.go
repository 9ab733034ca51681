package docs

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"go.yaml.in/yaml/v3"
)

// document is a Markdown file as seen by the tests.
type document struct {
	path    string // relative to the repository, with slashes
	blocks  []block
	links   []place
	spans   []place // code within a line
	loose   []place // text that looks like a link that was not closed
	anchors map[string]bool
}

// block is a fenced code block.
type block struct {
	line int // of its first line
	lang string
	text string
}

// place is a word of a document and the line of the paragraph that it stands in.
type place struct {
	line int
	text string
}

// readDocuments reads all Markdown of the repository but that in testdata.
func readDocuments(t *testing.T) map[string]*document {
	t.Helper()
	found := map[string]*document{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && name != ".github" && path != root):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		path = filepath.ToSlash(path)
		found[path] = parseDocument(path, string(content))
		return err
	}))
	require.Greater(t, len(found), 8)
	return found
}

func parseDocument(path, content string) *document {
	d := &document{path: path, anchors: map[string]bool{}}
	source := []byte(content)
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function below returns no error
		if entering {
			d.add(n, source)
		}
		return ast.WalkContinue, nil
	})
	return d
}

func (d *document) add(n ast.Node, source []byte) {
	at := func(text string) place { return place{lineOf(n, source), text} }
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		d.blocks = append(d.blocks, block{lineOf(n, source), string(n.Language(source)), string(n.Lines().Value(source))})
	case *ast.Heading:
		d.addAnchor(slug(plain(n, source, true)))
	case *ast.Link:
		d.links = append(d.links, at(string(n.Destination)))
	case *ast.Image:
		d.links = append(d.links, at(string(n.Destination)))
	case *ast.AutoLink:
		d.links = append(d.links, at(string(n.URL(source))))
	case *ast.CodeSpan:
		d.spans = append(d.spans, at(plain(n, source, true)))
	case *ast.Paragraph, *ast.TextBlock:
		if words := plain(n, source, false); strings.Contains(words, "](") || strings.Contains(words, "][") {
			d.loose = append(d.loose, at(words))
		}
	}
}

// addAnchor adds the anchor of a heading. The second heading of one name gets a number.
func (d *document) addAnchor(name string) {
	for i, free := 1, name; ; i++ {
		if !d.anchors[free] {
			d.anchors[free] = true
			return
		}
		free = name + "-" + strconv.Itoa(i)
	}
}

// slug is the anchor that GitHub, GitLab and Forgejo give to a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// plain is the text that stands in a node; with all, also that of its code and links.
func plain(n ast.Node, source []byte, all bool) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		} else if all {
			b.WriteString(plain(c, source, true))
		}
	}
	return b.String()
}

// lineOf is the line in which the block of a node begins.
func lineOf(n ast.Node, source []byte) int {
	for ; n != nil; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			return 1 + strings.Count(string(source[:n.Lines().At(0).Start]), "\n")
		}
	}
	return 0
}

func TestDocumentsAreRead(t *testing.T) {
	d := parseDocument("a.md", "# A `b`, c!\n\n## A b c\n\ntext `code x`\n[l](to.md#x), [r]\n\n[r]: other.md\n\n```sh\nmake\n```\n\n"+
		"![p](p.svg)\n\n- a [b](c d)\n\n| x |\n|---|\n| `y` [l](in.md) |\n\nhttps://example.org/a\n")
	require.Equal(t, []block{{11, "sh", "make\n"}}, d.blocks)
	require.Equal(t, []place{{5, "to.md#x"}, {5, "other.md"}, {14, "p.svg"}, {20, "in.md"}, {22, "https://example.org/a"}}, d.links)
	require.Equal(t, []place{{1, "b"}, {5, "code x"}, {20, "y"}}, d.spans)
	require.Equal(t, []place{{16, "a [b](c d)"}}, d.loose)
	require.Equal(t, map[string]bool{"a-b-c": true, "a-b-c-1": true}, d.anchors)
}

// readBlock reads a code block of a language that this test knows. Editors take comments in
// their JSON, and commas before a closing bracket.
func readBlock(b block) error {
	switch b.lang {
	case "json", "jsonc":
		_, err := hujson.Parse([]byte(b.text))
		return err
	case "jsonl":
		for line := range strings.Lines(strings.TrimSpace(b.text)) {
			if err := json.Unmarshal([]byte(line), new(any)); err != nil {
				return err
			}
		}
	case "yaml":
		return yaml.Unmarshal([]byte(b.text), new(any))
	}
	return nil
}

func TestBlocks(t *testing.T) {
	for _, d := range readDocuments(t) {
		for _, b := range d.blocks {
			require.NoError(t, readBlock(b), "%s:%d", d.path, b.line)
		}
	}
	for _, bad := range []string{"```json\n{\"a\": [1}\n```\n", "```jsonl\n{}\n[\n```\n", "```yaml\na:\n  - b: c\n d: e\n```\n"} {
		require.Error(t, readBlock(parseDocument("a.md", bad).blocks[0]), bad)
	}
}
