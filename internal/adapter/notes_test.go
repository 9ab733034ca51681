package adapter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
)

// What is to be told with the next prompt is told once, however often it was found while
// the editor opened the session.
func TestNoteIsToldOnce(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		stored := new(fakedroid.Sessions)
		id := stored.Add("/workspace")
		e := connect(t, playing(says("hi"), v, fakedroid.WithSessions(stored)))
		e.session = id
		params := fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[{"type":"carrier-pigeon","name":"coo"}]}`, id)
		for range 3 {
			require.Nil(t, e.call("session/load", params).Error)
		}
		require.Equal(t, "end_turn", e.run("go"))
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "The MCP server coo is not there"))
		require.Equal(t, "end_turn", e.run("again"))
		require.Equal(t, 1, strings.Count(strings.Join(e.updates(), "\n"), "The MCP server coo is not there"))
	})
}
