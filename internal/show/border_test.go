package show

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

func TestBorder(t *testing.T) {
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
		var b border
		for _, p := range pieces {
			require.Equal(t, p.want, b.before(p.id, p.text, p.thought), name)
		}
	}
	var b border
	require.Empty(t, b.before("a", "I look.", false))
	b.called()
	require.Equal(t, "\n\n", b.before("a", "Thanks.", false), "a call is no space that people see")
	b.prompted()
	require.Empty(t, b.before("b", "Yes.", false))
	said := func(id, text string) string {
		return *b.said(protocol.UserMessageChunk{MessageID: id, Content: protocol.Content{Text: &text}}).Content.Text
	}
	require.Equal(t, "a story", said("1", "a story"))
	require.Equal(t, "\n\n401", said("2", "401"), "nothing was said between")
	require.Empty(t, b.before("c", "No.", false))
	require.Equal(t, "bye", said("3", "bye"))

	b = border{noUser: true}
	require.Empty(t, b.before("a", "One.", false))
	b.prompted()
	require.Empty(t, b.before("b", "Two.", false), "nothing was loaded")
	b = border{noUser: true}
	require.Equal(t, "two", said("1", "two"))
	require.Equal(t, "\n\n", b.before("a", "Two.", false), "the client's own record stands before it")
	require.Equal(t, "three", said("2", "three"))
	require.Equal(t, "\n\n", b.before("b", "Three.", false), "the client shows nothing between the two")
	b.prompted()
	require.Equal(t, "\n\n", b.before("c", "Four.", false), "the client puts it behind what it loaded")
	b.prompted()
	require.Empty(t, b.before("d", "Five.", false))
	said("2", "four")
	require.Equal(t, "\n\n", b.before("e", "Six.\n", false))
	require.Equal(t, "\n", b.ended())
	require.Empty(t, b.ended())
	b.prompted()
	require.Empty(t, b.ended(), "the client shows the prompt")
}

// What was said before a prompt and is shown below it stands apart from the answer.
func TestLateTextStandsApart(t *testing.T) {
	d := newHarness(protocol.ClientCapabilities{})
	d.event(quirks.Text{MessageID: "a", Text: "one"}, quirks.Text{MessageID: "b", Text: "two"})
	d.Prompted()
	require.Equal(t, []string{"text b: two"}, short(d.Late(Text{MessageID: "b", Text: "\n\ntwo"})))
	require.Equal(t, []string{"notice n: \n\nthree"}, short(d.Late(Text{MessageID: "n", Text: "three", Notice: true})))
	require.Equal(t, []string{"text c: \n\nfour"}, d.event(quirks.Text{MessageID: "c", Text: "four"}))
}
