package export

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// allowed are the elements of a page with their attributes.
var allowed = map[string]string{
	"html": "lang", "head": "", "body": "", "meta": "charset http-equiv content name", "link": "rel href", "title": "", "style": "",
	"header": "", "h1": "dir", "h2": "", "h3": "", "h4": "", "h5": "", "h6": "", "dl": "class", "dt": "", "dd": "", "nav": "aria-label", "main": "",
	"section": "class id", "div": "class dir", "p": "class dir", "span": "class role aria-label", "time": "class datetime",
	"details": "class open", "summary": "", "b": "", "s": "", "pre": "class tabindex", "code": "", "figure": "", "figcaption": "",
	"ul": "class", "ol": "start", "li": "class", "a": "href rel dir", "img": "alt src", "blockquote": "", "hr": "", "br": "",
	"table": "", "thead": "", "tbody": "", "tr": "", "th": "", "td": "", "em": "", "strong": "",
}

// harm returns what an HTML text contains that a page must not, "" for nothing.
func harm(text string) string {
	tokens := html.NewTokenizer(strings.NewReader(text))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		tag := tokens.Token()
		switch kind {
		case html.CommentToken:
			return "a comment: " + tag.Data
		case html.StartTagToken, html.SelfClosingTagToken:
			attributes, known := allowed[tag.Data]
			if !known {
				return "the element " + tag.String()
			}
			for _, a := range tag.Attr {
				if !slices.Contains(strings.Fields(attributes), a.Key) || !harmless(tag.Data, a) {
					return fmt.Sprintf("the attribute %s=%q of %s", a.Key, a.Val, tag.Data)
				}
			}
		}
	}
	return ""
}

func harmless(tag string, a html.Attribute) bool {
	has := func(begins ...string) bool {
		return slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(a.Val, b) })
	}
	switch {
	case a.Key == "src":
		return has("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/gif;base64,", "data:image/webp;base64,")
	case tag == "link":
		return a.Key == "rel" && a.Val == "icon" || a.Val == "data:,"
	case a.Key == "href":
		return has("http://", "https://", "mailto:", "#prompt-")
	case a.Key == "class", a.Key == "rel":
		return strings.Trim(a.Val, "abcdefghijklmnopqrstuvwxyz ") == ""
	}
	return true
}

// everywhere is a conversation that has a text in each place.
func everywhere(text string) *Conversation {
	c := &Conversation{title: text, properties: []property{{text, text}}}
	c.addUser(said(text, text))
	c.addImage(text, text)
	c.addImage("image/png", text)
	c.addAgent(messagePart{ID: "a", Text: text, Model: text})
	c.addThought(said("a", text))
	c.addNote(text)
	exit := 1
	call := c.addCall(toolCall{Tool: text, Title: text, State: callState(text), Command: text, Input: text, Prompt: text, Plan: text, Output: text, Note: text, Result: text, Answer: text,
		Changes: []fileDiff{{File: text, Lines: []diffLine{{Sign: '+', Text: text}, {Sign: text[0], Text: text}}}}, Tasks: []taskEntry{{text, text}},
		Questions: []questionEntry{{text, []string{text, "b"}, text}, {text, nil, "b"}}})
	call.addImage(text, text)
	call.addImage("image/png", text)
	c.addCall(toolCall{Tool: "Read", Exit: &exit, Result: text, Input: text, Folded: true})
	c.addTokens(tokenUsage{Input: 1})
	return c
}

// hostile are texts that try to become more than text.
var hostile = []string{
	`</pre></code></style></title><script>alert(1)</script><img src="https://example.com/x.png" onerror="x()">`,
	`"><svg onload=alert(1)>`, `' onmouseover='x()`, `<!-- --><style>*{background:url(https://example.com)}</style>`,
	"[a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](data:text/html,x) [d](file:///etc/passwd) [e](\x01javascript:x) [f](java\nscript:x) [g]( javascript:x) [h](vbscript:x)",
	`[a](https://example.com/"onclick="x() "title\" onclick=x") ![b](https://example.com/x.png) ![c](data:image/svg+xml;base64,AAAA) ![d](data:image/png;base64,AA=="onerror=x)`,
	"<https://example.com/\"onclick=x> <javascript:alert(1)> <a@b.c> www.example.com/\" https://example.com/'x",
	"[ref]: javascript:alert(1) 'x'\n\n[ref] ![ref]", "# a {onclick=x #id .class}\n\n```go {onclick=x}\nx\n```\n\n```\" onclick=x\ny\n```",
	"| a {onclick=x} | <b onclick=x> |\n|:-:|--:|\n| <i> | [x](javascript:x) |", "<div onclick=x>\n\n*a*\n\n</div>\n\n<x-y z>\n<?php x ?>\n<![CDATA[x]]>\n<!DOCTYPE x>",
	"&#60;script&#62; &lt;script&gt; &amp;lt; &#x6A;avascript:x [a](&#x6A;avascript:x) [b](javascript&colon;x)", "- [x] <b>\n- [ ] [x](data:,x)", "\x00<\x00script>\xff\xfe<b>", "{{.Title}} {{template \"x\"}}",
	"- ```html\n  <script>\n", "~~<s onclick=x>~~ **[x](//example.com)** [y](//example.com/z) [z](/etc/passwd) [m](mailto:a@b?subject=\"x)",
}

// Nothing that a conversation has becomes an element, an attribute, a style or an address
// of the page's.
func TestHostileTextsStayTexts(t *testing.T) {
	for _, text := range hostile {
		page := rendered(t, everywhere(text))
		require.Empty(t, harm(page), text)
		require.NotContains(t, page, "ZgotmplZ", "an escape that loses the text")
	}
	require.NotEmpty(t, harm(`<p onclick="x">`))
	require.NotEmpty(t, harm(`<a href="javascript:x">`))
	require.NotEmpty(t, harm(`<script>`))
}

// The page's policy allows its own style, by its hash, and no other; there is one style.
func TestPolicyFitsTheStyle(t *testing.T) {
	page := rendered(t, everywhere("x"))
	_, style, _ := strings.Cut(page, "<style>")
	style, rest, _ := strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	require.Contains(t, html.UnescapeString(page), "default-src 'none'; img-src data:; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	require.NotContains(t, rest, "<style")
	require.NotContains(t, style, "url(")
	require.NotContains(t, style, "@import")
}

func FuzzPage(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || len(text) > 400 {
			t.Skip()
		}
		if found := harm(rendered(t, everywhere(text))); found != "" {
			t.Fatalf("%q becomes %s", text, found)
		}
	})
}
