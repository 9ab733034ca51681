package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

func TestParagraphSeparator(t *testing.T) {
	type piece struct {
		id, text string
		thought  bool
		want     string
	}
	for name, pieces := range map[string][]piece{
		"pieces of a message":        {{"a", "x", false, ""}, {"a", "y", false, ""}},
		"two messages":               {{"a", "x", false, ""}, {"b", "y", false, "\n\n"}, {"b", "z", false, ""}},
		"a line ends":                {{"a", "x\n", false, ""}, {"b", "y", false, "\n"}},
		"an empty line ends":         {{"a", "x\n", false, ""}, {"a", "\n", false, ""}, {"b", "y", false, ""}},
		"an empty line begins":       {{"a", "x", false, ""}, {"b", "\n\ny", false, ""}},
		"a thought between":          {{"a", "x", false, ""}, {"t", "hm", true, ""}, {"b", "y", false, "\n\n"}},
		"a message between thoughts": {{"t", "hm", true, ""}, {"a", "x", false, ""}, {"u", "so", true, ""}},
		"two thoughts":               {{"t", "hm", true, ""}, {"u", "so", true, "\n\n"}},
		"one message after another":  {{"a", "x", false, ""}, {"b", "y", false, "\n\n"}, {"a", "z", false, "\n\n"}},
	} {
		var b paragraphSeparator
		for _, p := range pieces {
			require.Equal(t, p.want, b.prefix(p.id, p.text, p.thought), name)
		}
	}
	var b paragraphSeparator
	require.Empty(t, b.prefix("a", "I look.", false))
	b.toolCallShown()
	require.Equal(t, "\n\n", b.prefix("a", "Thanks.", false), "a call is no space that people see")
	b.promptShown()
	require.Empty(t, b.prefix("b", "Yes.", false))
	said := func(id, text string) string {
		return *b.userChunk(protocol.UserMessageChunk{MessageID: id, Content: protocol.Content{Text: &text}}).Content.Text
	}
	require.Equal(t, "a story", said("1", "a story"))
	require.Equal(t, "\n\n401", said("2", "401"), "nothing was said between")
	require.Empty(t, b.prefix("c", "No.", false))
	require.Equal(t, "bye", said("3", "bye"))

	b = paragraphSeparator{noUser: true}
	require.Empty(t, b.prefix("a", "One.", false))
	b.promptShown()
	require.Empty(t, b.prefix("b", "Two.", false), "nothing was loaded")
	b = paragraphSeparator{noUser: true}
	require.Equal(t, "two", said("1", "two"))
	require.Equal(t, "\n\n", b.prefix("a", "Two.", false), "the client's own record stands before it")
	require.Equal(t, "three", said("2", "three"))
	require.Equal(t, "\n\n", b.prefix("b", "Three.", false), "the client shows nothing between the two")
	b.promptShown()
	require.Equal(t, "\n\n", b.prefix("c", "Four.", false), "the client puts it behind what it loaded")
	b.promptShown()
	require.Empty(t, b.prefix("d", "Five.", false))
	said("2", "four")
	require.Equal(t, "\n\n", b.prefix("e", "Six.\n", false))
	require.Equal(t, "\n", b.endMessage())
	require.Empty(t, b.endMessage())
	b.promptShown()
	require.Empty(t, b.endMessage(), "the client shows the prompt")
}

// Text from before a prompt that is shown below it is separated from the answer.
func TestLateTextStandsApart(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	d.event(quirks.Text{MessageID: "a", Text: "one"}, quirks.Text{MessageID: "b", Text: "two"})
	d.PromptShown()
	require.Equal(t, []string{"text b: two"}, short(d.ShowLateText(Text{MessageID: "b", Text: "\n\ntwo"})))
	require.Equal(t, []string{"notice n: \n\nthree"}, short(d.ShowLateText(Text{MessageID: "n", Text: "three", Notice: true})))
	require.Equal(t, []string{"text c: \n\nfour"}, d.event(quirks.Text{MessageID: "c", Text: "four"}))
}
