package export

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMarkdown(t *testing.T) {
	for source, want := range map[string]string{
		"# One\n\ntwo":                      "<h3>One</h3>\n<p>two</p>\n",
		"###### Six":                        "<h6>Six</h6>\n",
		"- [x] a\n- [ ] b":                  "<ul>\n<li><span role=\"img\" aria-label=\"done\">☑</span> a</li>\n<li><span role=\"img\" aria-label=\"to do\">☐</span> b</li>\n</ul>\n",
		"~~a~~ `b<c`":                       "<p><del>a</del> <code>b&lt;c</code></p>\n",
		"|a|b|\n|-|-:|\n|1|2|":              "<table>\n<thead>\n<tr>\n<th>a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td align=\"right\">2</td>\n</tr>\n</tbody>\n</table>\n",
		"[a](https://e.com/x?a=1&b=2)":      "<p><a href=\"https://e.com/x?a=1&amp;b=2\" rel=\"noreferrer noopener\">a</a></p>\n",
		"[a](javascript:x) [b](src/a.go)":   "<p>a <span class=\"to\">(javascript:x)</span> b <span class=\"to\">(src/a.go)</span></p>\n",
		"![a *b*](https://e.com/x.png)":     "<p><a href=\"https://e.com/x.png\" rel=\"noreferrer noopener\">image: a b</a></p>\n",
		"![](file:///x.png)":                "<p>image <span class=\"to\">(file:///x.png)</span></p>\n",
		"![a](data:image/png;base64,AA==)":  "<p><img alt=\"image: a\" src=\"data:image/png;base64,AA==\"></p>\n",
		"https://e.com/a www.e.com a@e.com": "<p><a href=\"https://e.com/a\" rel=\"noreferrer noopener\">https://e.com/a</a> <a href=\"http://www.e.com\" rel=\"noreferrer noopener\">www.e.com</a> <a href=\"mailto:a@e.com\" rel=\"noreferrer noopener\">a@e.com</a></p>\n",
		"<b>List<String></b>":               "<p>&lt;b&gt;List&lt;String&gt;&lt;/b&gt;</p>\n",
		"<details>\nhidden\n</details>":     "<p class=\"typed\">&lt;details&gt;\nhidden\n&lt;/details&gt;</p>\n",
		"```nosuchlanguage\na <b>\n```":     "<pre tabindex=\"0\"><code>a &lt;b&gt;\n</code></pre>\n",
		"    indented\n":                    "<pre tabindex=\"0\"><code>indented\n</code></pre>\n",
		"```diff\n+a\n-b\n```":              "<pre tabindex=\"0\"><code><span class=\"add\">+a\n</span><span class=\"del\">-b\n</span></code></pre>\n",
		"rm \u202ethis":                     "<p>rm \\u202ethis</p>\n",
	} {
		require.Equal(t, want, string(newPainter(time.Now()).Markdown(source)), source)
	}
}

// Code keeps each of its signs, whatever the lexer of its language makes of it.
func TestCodeKeepsItsText(t *testing.T) {
	p := newPainter(time.Now())
	for what, text := range map[string]string{
		"go": "a\r\nb\n\n\n", "python": "x", "html": "<a href='x'>&amp;</a>", "bash": "cat <<E\n$x\nE\n", "a.json": `{"a":[1,2`,
		"php": "<?php echo 1 ?> x", "markdown": "# a\n```go\nx\n```", "rust": "'", "perl": "\x00", "yaml": "a: |\n  b\n", "jsx": "<A b={c}/>", "dockerfile": "RUN \\\n x",
	} {
		coloured := p.code(what, text)
		require.Equal(t, strings.ReplaceAll(text, "\x00", "\uFFFD"), unmarked(coloured), what)
	}
}

func TestLexers(t *testing.T) {
	p := newPainter(time.Now())
	for what, name := range map[string]string{"go": "Go", "Go ": "Go", "sh": "Bash", "main.go": "Go", "MAIN.PY": "Python", "x.tar.gz": "", "README": "", "": "", "nosuch": "", "a.nosuch": "", "a." + strings.Repeat("x", 99): ""} {
		for range 2 {
			got := ""
			if lexer := p.lexerFor(what); lexer != nil {
				got = lexer.Config().Name
			}
			require.Equal(t, name, got, what)
		}
	}
}

// unmarked is the text of HTML that has spans only.
func unmarked(s string) string {
	var b strings.Builder
	for s != "" {
		text, rest, _ := strings.Cut(s, "<")
		b.WriteString(text)
		_, s, _ = strings.Cut(rest, ">")
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&#34;", `"`, "&#39;", "'").Replace(b.String())
}

// Long Markdown is read in pieces that end at empty lines outside of code.
func TestPieces(t *testing.T) {
	code := "```\na\n\nb\n\n```\n"
	require.Equal(t, []string{"one\n\n", code + "\n", "two\n"}, pieces("one\n\n"+code+"\ntwo\n", 16))
	require.Equal(t, []string{strings.Repeat("x", 50)}, pieces(strings.Repeat("x", 50), 16))
	require.Equal(t, []string{"~~~\n\n" + strings.Repeat("y\n\n", 20)}, pieces("~~~\n\n"+strings.Repeat("y\n\n", 20), 16))
	long := strings.Repeat("word ", 200) + "**strong**\n\n"
	page := string(newPainter(time.Now()).Markdown(strings.Repeat(long, 200)))
	require.Equal(t, 200, strings.Count(page, "<strong>"))
	huge := strings.Repeat("> ", maxMarkdown)
	require.Equal(t, `<p class="typed">`+strings.Repeat("&gt; ", maxMarkdown)+"</p>\n", string(newPainter(time.Now()).Markdown(huge)))
}

// A page that has had its time shows the rest as plain text, whole.
func TestLatePageIsPlain(t *testing.T) {
	p := newPainter(time.Now().Add(-2 * maxPainting))
	require.Equal(t, "<p class=\"typed\">**a** &lt;b&gt;</p>\n", string(p.Markdown("**a** <b>")))
	require.Equal(t, "func &lt;", p.code("go", "func <"))
}

func TestTerminalSequencesAreLeftOut(t *testing.T) {
	p := newPainter(time.Now())
	require.Equal(t, "red plain link \\x1b", p.Text("\x1b[1;31mred\x1b[0m plain \x1b]8;;https://e.com\x1b\\link\x1b]8;;\x07 \x1b"))
}
