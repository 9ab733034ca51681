package show

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/protocol"
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
	for _, c := range []struct {
		update Output
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
