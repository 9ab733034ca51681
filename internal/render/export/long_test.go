package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// long is a conversation of so many parts: prompts, answers with a table and code, calls
// with a change.
func long(parts int) *Conversation {
	c := &Conversation{title: "Long"}
	for i := range parts / 4 {
		message := fmt.Sprint(i)
		c.addUser(said(message, "Please go on with step "+message))
		c.addAgent(said(message, "## Step "+message+"\n\nIt is **done**, see `a.go`:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc step() int {\n\treturn "+message+" // the step\n}\n```\n"))
		c.addCall(toolCall{Tool: "Execute", Command: "go test ./... -run " + message, Output: strings.Repeat("ok\n", 20)})
		c.addCall(toolCall{Tool: "Edit", Changes: []fileDiff{{File: "a.go", Lines: []diffLine{{'-', "-return 1"}, {'+', "+return " + message}}}}})
	}
	return c
}

// huge is a conversation with an output and a result of so many bytes each.
func huge(size int) *Conversation {
	c := new(Conversation)
	text := strings.Repeat("a line of <output> & more of it\n", size/32)
	c.addCall(toolCall{Tool: "Execute", Command: "make", Output: text})
	c.addCall(toolCall{Tool: "Read", Result: text})
	return c
}

// A long conversation and a huge output are on the page as a whole.
func TestLongConversationIsWhole(t *testing.T) {
	page := rendered(t, long(2000))
	require.Equal(t, 500, strings.Count(page, "<table>"))
	require.Equal(t, 500, strings.Count(page, "func step() int {"))
	require.Contains(t, page, ">+return 499\n")
	page = rendered(t, huge(5<<20))
	require.Equal(t, 2*(5<<20/32), strings.Count(page, "a line of &lt;output&gt; &amp; more of it\n"))
}
