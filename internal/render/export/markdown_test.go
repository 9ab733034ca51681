package export

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMarkdown(t *testing.T) {
	for source, want := range map[string]string{
		"# One\n\ntwo":                     "<h3>One</h3>\n<p>two</p>\n",
		"###### Six":                       "<h6>Six</h6>\n",
		"- [x] a\n- [ ] b":                 "<ul>\n<li>[x] a</li>\n<li>[ ] b</li>\n</ul>\n",
		"~~a~~ `b<c`":                      "<p>~~a~~ <code>b&lt;c</code></p>\n",
		"|a|b|\n|-|-:|\n|1|2|":             "<table><thead><tr><th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody><tr><td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
		"[a](https://e.com/x?a=1&b=2)":     "<p><a href=\"https://e.com/x?a=1&amp;b=2\" rel=\"noreferrer noopener\">a</a></p>\n",
		"[a](javascript:x) [b](src/a.go)":  "<p>a <span class=\"to\">(javascript:x)</span> b <span class=\"to\">(src/a.go)</span></p>\n",
		"![a *b*](https://e.com/x.png)":    "<p><a href=\"https://e.com/x.png\" rel=\"noreferrer noopener\">image: a b</a></p>\n",
		"![](file:///x.png)":               "<p>image <span class=\"to\">(file:///x.png)</span></p>\n",
		"![a](data:image/png;base64,AA==)": "<p>image: a <span class=\"to\">(data:image/png;base64,AA==)</span></p>\n",
		"https://e.com/a_b_c.":             "<p><a href=\"https://e.com/a_b_c\" rel=\"noreferrer noopener\">https://e.com/a_b_c</a>.</p>\n",
		"**http://e.com** (https://e.com/(a)), x:http://e.com [http://e.com](b)": "<p><strong><a href=\"http://e.com\" rel=\"noreferrer noopener\">http://e.com</a></strong> (<a href=\"https://e.com/(a)\" rel=\"noreferrer noopener\">https://e.com/(a)</a>), x:http://e.com http://e.com <span class=\"to\">(b)</span></p>\n",
		"https:// https://":             "<p>https:// https://</p>\n",
		"\\&amp; &copy; [a](&amp;b\\*)": "<p>&amp;amp; © a <span class=\"to\">(&amp;b*)</span></p>\n",
		"<b>List<String></b>":           "<p>&lt;b&gt;List&lt;String&gt;&lt;/b&gt;</p>\n",
		"<details>\nhidden\n</details>": "<p class=\"typed\">&lt;details&gt;\nhidden\n&lt;/details&gt;</p>\n",
		"```nosuchlanguage\na <b>\n```": "<pre tabindex=\"0\"><code>a &lt;b&gt;\n</code></pre>\n",
		"    indented\n":                "<pre tabindex=\"0\"><code>indented\n</code></pre>\n",
		"```diff\n+a\n-b\n```":          "<pre tabindex=\"0\"><code>+a\n-b\n</code></pre>\n",
		"rm \u202ethis":                 "<p>rm \\u202ethis</p>\n",
	} {
		require.Equal(t, want, string(newPainter(time.Now()).Markdown(source)), source)
	}
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

// A wide table with short rows does not become huge.
func TestWideTable(t *testing.T) {
	source := strings.Repeat("|a", 5000) + "|\n" + strings.Repeat("|-", 5000) + "|\n" + strings.Repeat("|b\n", 10_000)
	page := string(newPainter(time.Now()).Markdown(source))
	require.Equal(t, 10_000, strings.Count(page, "<td>b</td>"))
	require.Less(t, len(page), 12*len(source))
}

// A row with more or fewer cells than the table, often one with code that contains the separator, keeps its content.
func TestCellsAreKept(t *testing.T) {
	for source, cells := range map[string]int{"|a|\n|-|\n|b|": 2, "|a|b|\n|-|-|\n|`c || d`|e|": 6, "|a|\n|-|\n|b\\|c|": 2, "a|b\n-|-\nc|d|e": 5, "> |a|\n> |-|\n> |b|": 2,
		"x\n\n- y\n  |a|\n  |-|\n  |b|\n\nz": 2, "x\n\n- y\n  |a|\n  |-|\n  |b|c|\n\nz": 3, "a\n|-|\n": 1, "|a|b|\n|:-:|:-|\n|c": 3, "x\ny\na\n|-|\n|b|c": 3, "a|b\n|-|": 0, "a\n-\nb": 0} {
		page := string(newPainter(time.Now()).Markdown(source))
		require.Equal(t, cells, strings.Count(page, "</th>")+strings.Count(page, "</td>"), "%q %q", source, page)
		for _, sign := range "abcdexyz" {
			text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, "")
			require.Equal(t, strings.Count(source, string(sign)), strings.Count(text, string(sign)), "%q %q", source, page)
		}
	}
}

// A long address that is used many times makes no huge page.
func TestHugePageIsText(t *testing.T) {
	for address, use := range map[string]string{"x:" + strings.Repeat("b", 32<<10): "[a] ", "data:image/png;base64," + strings.Repeat("AAAA", 8<<10): "![a]", "https://e.com/" + strings.Repeat("b", 32<<10): "[a] "} {
		source := "[a]: " + address + "\n\n" + strings.Repeat(use, 7000)
		page := string(newPainter(time.Now()).Markdown(source))
		require.True(t, page == `<p class="typed">`+source+"</p>\n", "%d bytes", len(page))
	}
}

// Lists and quotes in each other without an end are not read.
func TestDeepListsAreText(t *testing.T) {
	for marker, begun := range map[string]int{"1. ": 100, "- ": 100, ">": 100, "> 12) *\t": 300, "--": 0, "a > ": 0, "1.5 ": 0, "- a": 1, "|-": 0} {
		text := strings.Repeat(marker, 100)
		require.Equal(t, begun, depth("a\n  "+text+"\nb"), marker)
		page := string(newPainter(time.Now()).Markdown(text + strings.Repeat("\n", 30_000)))
		require.Equal(t, begun > maxDepth, strings.HasPrefix(page, `<p class="typed">`), marker)
	}
}

// Markdown is read as it is often written.
func TestLists(t *testing.T) {
	for source, want := range map[string]string{
		"3. a\n4. b\n   - c\n":  "<ol start=\"3\">\n<li>a</li>\n<li>b\n<ul>\n<li>c</li>\n</ul>\n</li>\n</ol>\n",
		"- a\n\n- b":            "<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n",
		"> a  \n> **b** *c*":    "<blockquote>\n<p>a<br>\n<strong>b</strong> <em>c</em></p>\n</blockquote>\n",
		"a\n***\n&lt;b&gt; \\*": "<p>a</p>\n<hr>\n<p>&lt;b&gt; *</p>\n",
		"- ```go\n  x\n  ```":   "<ul>\n<li>\n<pre tabindex=\"0\"><code>x\n</code></pre>\n</li>\n</ul>\n",
		"[**a**](mailto:a@b.c)": "<p><a href=\"mailto:a@b.c\" rel=\"noreferrer noopener\"><strong>a</strong></a></p>\n",
		"<a@b.c> <x:y>":         "<p><a href=\"mailto:a@b.c\" rel=\"noreferrer noopener\">a@b.c</a> &lt;x:y&gt;</p>\n",
	} {
		require.Equal(t, want, string(newPainter(time.Now()).Markdown(source)), source)
	}
}

// A page that has had its time shows the rest as plain text, whole.
func TestLatePageIsPlain(t *testing.T) {
	p := newPainter(time.Now().Add(-2 * maxRenderTime))
	require.Equal(t, "<p class=\"typed\">**a** &lt;b&gt;</p>\n", string(p.Markdown("**a** <b>")))
}

// The user's text is shown as a whole, even if it looks like a fence.
func TestTypedIsKept(t *testing.T) {
	for source, want := range map[string]string{
		"```ls -la``` what is it?\nb": "<p class=\"typed\">```ls -la``` what is it?\nb</p>\n",
		"~~~gone~~~ a\nb":             "<p class=\"typed\">~~~gone~~~ a</p>\n<pre tabindex=\"0\"><code>b</code></pre>\n",
		"```go title\nx\n```":         "<p class=\"typed\">```go title</p>\n<pre tabindex=\"0\"><code>x\n</code></pre>\n",
		"``` go\nx\n```":              "<pre tabindex=\"0\"><code>x\n</code></pre>\n",
	} {
		require.Equal(t, want, string(newPainter(time.Now()).Typed(source)), source)
	}
	require.Len(t, pieces("```x``` y\n\nz\n\n", 8), 2, "code in a line opens no block")
}

func TestTerminalSequencesAreLeftOut(t *testing.T) {
	p := newPainter(time.Now())
	require.Equal(t, "red plain link \\x1b", p.Text("\x1b[1;31mred\x1b[0m plain \x1b]8;;https://e.com\x1b\\link\x1b]8;;\x07 \x1b"))
}
