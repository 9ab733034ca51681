package filecalls

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/quirks"
)

// Each file of a turn is checked once, and none is if files go through the editor.
func TestLooks(t *testing.T) {
	var c Calls
	read := func(path string) quirks.ToolStarted {
		return quirks.ToolStarted{ID: "r", Name: "Read", Input: json.RawMessage(fmt.Sprintf(`{"file_path":%q}`, path))}
	}
	require.Equal(t, []string{"/w/a"}, c.Looks(read("a"), "/w"))
	require.Empty(t, c.Looks(read("/w/a"), "/w"))
	require.Equal(t, []string{"/w/b"}, c.Looks(quirks.ToolInput{ID: "e", Name: "Edit", Input: json.RawMessage(`{"file_path":"b"}`)}, "/w"))
	require.Empty(t, c.Looks(quirks.ToolInput{ID: "x", Name: "Execute", Input: json.RawMessage(`{"command":"cat c"}`)}, "/w"))
	require.Empty(t, c.Looks(quirks.TurnStarted{}, "/w"))
	require.Equal(t, []string{"/w/a"}, c.Looks(read("a"), "/w"), "another turn")
	for n := range 2 * maxLooked {
		c.Looks(read(fmt.Sprint(n)), "/w")
	}
	require.Len(t, c.looked, maxLooked)
	c.Begin(new(overlay))
	require.Empty(t, c.Looks(read("new"), "/w"))
}
