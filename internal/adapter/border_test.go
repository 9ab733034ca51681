package adapter

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
	"droid-acp/internal/protocol"
)

// Texts of two messages with nothing between them do not run together where a
// client ignores the ids of messages, and each is what droid said.
func TestMessagesDoNotRunTogether(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, playing(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if err := d.Use("", "I look.", fakedroid.Tool{ID: "c" + p.RequestID, Name: "LS", Input: fakedroid.Fields{"path": "."}, Result: "none"}); err != nil {
				return err
			}
			for _, text := range []string{"Thanks.", "All ", "done.\n", "\n", "Really."} {
				if err := d.Say("", text); err != nil {
					return err
				}
			}
			return nil
		}), v))
		require.Equal(t, "end_turn", e.run("go"))
		require.Equal(t, "end_turn", e.run("again"))
		const once = "I look.Thanks.\n\nAll \n\ndone.\n\nReally."
		got := ""
		for _, u := range e.updates() {
			if text, ok := strings.CutPrefix(u, "agent: "); ok {
				got += text
			}
		}
		require.Equal(t, once+once, got)
	})
}

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
	for _, c := range []struct {
		update any
		want   string
	}{
		{protocol.ToolCall{SessionUpdate: "tool_call"}, ""},
		{protocol.UserMessageChunk{}, ""},
		{protocol.ToolCall{SessionUpdate: "tool_call_update"}, "\n\n"},
		{protocol.UsageUpdate{}, "\n\n"},
		{protocol.PlanUpdate{}, "\n\n"},
	} {
		b.before("last", "text", false)
		b.shown(c.update)
		require.Equal(t, c.want, b.before("new", "text", false), "%T", c.update)
		b.before("last", "text", true)
		b.shown(c.update)
		require.Equal(t, c.want, b.before("new", "text", true), "%T", c.update)
	}
}
