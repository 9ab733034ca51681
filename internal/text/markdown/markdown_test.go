package markdown

import (
	"bytes"
	"html"
	"math/rand"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// What a command writes decides neither how its block of code ends nor how long
// it takes to find out: a megabyte of backticks took minutes.
func TestFencedIsLongerThanAnyRun(t *testing.T) {
	require.Equal(t, "```\na\n```", Fenced("", "a\n"))
	require.Equal(t, "`````sh\na```` b ``` c\n`````", Fenced("sh", "a```` b ``` c"))
	run := strings.Repeat("`", 1<<20)
	require.Equal(t, "`"+run+"\n"+run+"\n`"+run, Fenced("", run))
}

func TestCode(t *testing.T) {
	require.Equal(t, "`a b`", Code("a b"))
	require.Equal(t, "`` a`b ``", Code("a`b"))
	require.Equal(t, "``` ``a` ```", Code("``a`"))
	require.Equal(t, "`  `", Code(""))
}

// What Markdown shows of an escaped text is the text, with all that Zed's parser knows and goldmark has
// (crates/markdown/src/parser.rs, PARSE_OPTIONS: tables, footnotes, tasks, straight quotes made typographic, …).
func TestEscapedShowsTheText(t *testing.T) {
	reader := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote,
		extension.Typographer, extension.DefinitionList))
	shows := func(text string) string {
		var page bytes.Buffer
		require.NoError(t, reader.Convert([]byte(text), &page))
		line := strings.TrimSuffix(strings.TrimPrefix(page.String(), "<p>"), "</p>\n")
		require.NotContains(t, line, "<", "markup of %q", text)
		return html.UnescapeString(line)
	}
	for _, text := range []string{
		"Read src/__init__.py", "Grep a*b*c in x", "`x`", "``", "1. one", "1) one", "- one", "# one", "> one", "+ one", "[x](y)", "![x](y)", "<b>x</b>",
		"https://example.com/a_b_c?d=e&amp;f", "--- ... 'a' \"b\" <<c>>", `a\*b`, `C:\dir\__x__`, "~~x~~ ^x^ $x$", "[^1]: x", "[ ] x", "***", "===", "x {#id}", "&lt;",
		"  four    spaces", "a|b", ": x", "@x #y", "x\\",
	} {
		require.Equal(t, strings.TrimSpace(text), shows(Escaped(text)), "%q", Escaped(text))
	}
	const pieces = "ab1 \\`*_{}[]()<>#+-.!|~^$&='\":;/@?%,é"
	require.NoError(t, quick.Check(func(picks []byte) bool {
		var text strings.Builder
		for _, pick := range picks {
			runes := []rune(pieces)
			text.WriteRune(runes[int(pick)%len(runes)])
		}
		want := strings.TrimSpace(text.String())
		return want == "" || shows(Escaped(want)) == want
	}, &quick.Config{MaxCount: 2000, Rand: rand.New(rand.NewSource(1))}))
}

// A model may write a million digits, and the session waits for them.
func TestEscapedIsLinear(t *testing.T) {
	digits := strings.Repeat("1", 1<<20)
	require.Equal(t, digits+`\.`+digits, Escaped(digits+"."+digits))
}
