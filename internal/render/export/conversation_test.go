package export

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func said(message, text string) messagePart { return messagePart{ID: message, Text: text} }

// rendered is the page of a conversation.
func rendered(t testing.TB, c *Conversation) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, c.render(&b))
	return b.String()
}

func TestPiecesOfAMessageAreOnePart(t *testing.T) {
	c := new(Conversation)
	c.addUser(said("m", "go "))
	c.addUser(said("m", "on"))
	c.addThought(said("m", "hm"))
	c.addAgent(said("m", "one"))
	c.addAgent(said("m", " two"))
	c.addAgent(said("n", "three"))
	c.endPart()
	c.addAgent(said("n", "four"))
	c.addNote("wait")
	c.addNote("wait")
	c.addAgent(said("n", "five"))
	c.addImage("image/tiff", "AAAA")
	c.addAgent(said("n", "six"))
	c.addTokens(tokenUsage{})
	require.Equal(t, []part{
		{Kind: kindUser, Text: "go on"}, {Kind: kindThought, Text: "hm"}, {Kind: kindAgent, Text: "one two"}, {Kind: kindAgent, Text: "three"},
		{Kind: kindAgent, Text: "four"}, {Kind: kindNote, Text: "wait"}, {Kind: kindNote, Text: "wait"}, {Kind: kindAgent, Text: "five"},
		{Kind: kindAgent, Text: "six"},
	}, c.parts)
}

func TestTextsWithoutAMessage(t *testing.T) {
	c := new(Conversation)
	c.addAgent(said("", "one "))
	c.addAgent(said("", "two"))
	require.Equal(t, []part{{Kind: kindAgent, Text: "one two"}}, c.parts)
}

func TestImagesOfCalls(t *testing.T) {
	call := new(Conversation).addCall(toolCall{Tool: "Shoot"})
	call.addImage("image/png", "AA==")
	call.addImage("image/gif", "BB==")
	call.addImage("image/gif", "\"onerror=")
	call.addImage("image/svg+xml", "AA==")
	require.Equal(t, []string{"data:image/png;base64,AA==", "data:image/gif;base64,BB=="}, call.images)
}

// The text of one side comes under one heading; another prompt or another model begins a new one.
func TestBlocks(t *testing.T) {
	at := time.Date(2026, 11, 22, 6, 10, 0, 0, time.UTC)
	c := new(Conversation)
	c.addUser(messagePart{ID: "1", Text: "one", At: at})
	c.addImage("image/png", "AA==")
	c.addThought(said("2", "hm"))
	c.addAgent(messagePart{ID: "2", Text: "first", At: at.Add(time.Minute), Model: "a"})
	c.addCall(toolCall{Tool: "Read"})
	c.addAgent(messagePart{ID: "3", Text: "second", Model: "b"})
	c.addTokens(tokenUsage{Input: 1234567, Output: 10})
	c.addUser(said("4", strings.Repeat("long ", 100)))
	c.addUser(said("5", "steering"))
	var shape []string
	for _, b := range blocksOf(c.parts) {
		line := map[bool]string{true: "user", false: "agent"}[b.User] + " " + b.Model
		for _, p := range b.Parts {
			line += " " + string(p.Kind)
		}
		shape = append(shape, line+" "+b.Tokens)
	}
	require.Equal(t, []string{"user  user image ", "agent a thought agent call ", "agent b agent 1,234,567 read, 10 written", "user  user ", "user  user "}, shape)
	page := rendered(t, c)
	require.Contains(t, page, `<a href="#prompt-2" dir="auto">`+strings.TrimRight(strings.Repeat("long ", 20), " ")+"…</a>", "the way to a prompt")
	require.Contains(t, page, `<section class="user" id="prompt-2">`)
	require.Contains(t, page, "3 prompts")
	require.Contains(t, page, `<title>one</title>`, "the words of the first prompt")
	require.Contains(t, rendered(t, new(Conversation)), "<title>droid session</title>")
}

// The user's text stays unchanged, except for code between fences.
func TestTypedText(t *testing.T) {
	c := new(Conversation)
	c.addUser(said("", "  # no heading\n\n\t* no  list\n```go\nfunc f()\n```\nafter <b>"))
	require.Contains(t, rendered(t, c), "<p class=\"typed\">  # no heading\n\n\t* no  list</p>\n"+
		"<pre tabindex=\"0\"><code>func f()\n</code></pre>\n<p class=\"typed\">after &lt;b&gt;</p>")
}

func TestQuestionAnswers(t *testing.T) {
	q := questionEntry{Options: []string{"Red", "Blue, dark"}, Answer: "Blue, dark"}
	require.True(t, q.Chosen("Blue, dark"))
	require.False(t, q.Chosen("Red"))
	require.Empty(t, q.Own())
	q.Answer = "Red, Green"
	require.True(t, q.Chosen("Red"))
	require.Equal(t, "Green", q.Own())
	require.Equal(t, "any", questionEntry{Answer: "any"}.Own())
}
