package export

import (
	"html/template"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPiecesOfAMessageAreOnePart(t *testing.T) {
	c := new(Conversation)
	c.User("m", "go ")
	c.User("m", "on")
	c.Thought("m", "hm")
	c.Agent("m", "one")
	c.Agent("m", " two")
	c.Agent("n", "three")
	c.Break()
	c.Agent("n", "four")
	c.Note("wait")
	c.Note("wait")
	c.Agent("n", "five")
	c.Image("image/tiff", "AAAA")
	c.Agent("n", "six")
	require.Equal(t, []part{
		{Kind: "user", Text: "go on"}, {Kind: "thought", Text: "hm"}, {Kind: "agent", Text: "one two"}, {Kind: "agent", Text: "three"},
		{Kind: "agent", Text: "four"}, {Kind: "thought", Text: "wait"}, {Kind: "thought", Text: "wait"}, {Kind: "agent", Text: "five"},
		{Kind: "agent", Text: "six"},
	}, c.parts)
}

func TestTextsWithoutAMessage(t *testing.T) {
	c := new(Conversation)
	c.Agent("", "one ")
	c.Agent("", "two")
	require.Equal(t, []part{{Kind: "agent", Text: "one two"}}, c.parts)
}

func TestResultsGoToTheirCall(t *testing.T) {
	c := new(Conversation)
	c.ToolText("none", "lost")
	c.Tool("a", "Edit a", Removed("x\r\ny"))
	c.Tool("b", "Shoot", nil)
	c.ToolText("a", "one")
	c.ToolImage("b", "image/png", "AA==")
	c.ToolImage("b", "image/gif", "BB==")
	c.ToolImage("b", "image/gif", "\"onerror=")
	c.ToolFailed("b")
	c.ToolText("a", " two")
	require.Equal(t, []part{
		{Kind: "tool", Title: "Edit a", Text: "one two", Lines: []Line{{"del", "- x"}, {"del", "- y"}}},
		{Kind: "tool", Title: "Shoot", Failed: true, Images: []template.URL{"data:image/png;base64,AA==", "data:image/gif;base64,BB=="}},
	}, c.parts)
}

// Whatever a conversation has, the page has no script and loads nothing.
func TestPageIsSelfContained(t *testing.T) {
	hostile := `</pre><script>alert(1)</script><img src="https://example.com/x.png" onerror="x()">`
	c := &Conversation{Title: hostile, Session: hostile, Dir: hostile}
	c.User(hostile, hostile)
	c.Agent("a", hostile)
	c.Thought("a", hostile)
	c.Note(hostile)
	c.Image(hostile, hostile)
	c.Image("image/png", hostile)
	c.Image("image/png", "AA==")
	c.Tool(hostile, hostile, append(Added(hostile), Unmarked(hostile)...))
	c.ToolText(hostile, hostile)
	c.ToolImage(hostile, "image/png", "BB==")
	c.ToolFailed(hostile)
	var b strings.Builder
	require.NoError(t, c.Render(&b))
	page := b.String()
	require.NotContains(t, page, "<script")
	require.NotRegexp(t, `<[^>]*onerror`, page)
	require.NotRegexp(t, `(src|href)="[^d]`, page)
	require.Contains(t, page, `default-src 'none'`)
	require.Equal(t, 2, strings.Count(page, "<img "))
	require.Equal(t, 3, strings.Count(page, "<section class=\"thought\">")+strings.Count(page, "<section class=\"agent\">"))

	b.Reset()
	require.NoError(t, new(Conversation).Render(&b))
	require.Contains(t, b.String(), "<title>droid session</title>")
}
