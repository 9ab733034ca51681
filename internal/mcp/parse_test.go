package mcp

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

func TestParse(t *testing.T) {
	servers, notices, err := Parse(json.RawMessage(`[
		{"name":"my tools","command":"c","args":["-v"],"env":[{"name":"A","value":"b\nc"}]},
		{"type":"http","name":"web","url":"http://x","headers":[{"name":"H","value":"1"}]},
		{"type":"sse","name":"a___b","url":"http://y","headers":[]},
		{"type":"stdio","name":"my-tools","command":"d"},
		{"type":"ws","name":"later","url":"ws://z"},
		{"name":"数据","command":"e"}]`))
	require.NoError(t, err)
	require.Equal(t, []stream.MCPServer{
		{Name: "my-tools", Command: "c", Args: []string{"-v"}, Env: map[string]string{"A": "b\nc"}},
		{Name: "web", URL: "http://x", Headers: []stream.MCPHeader{{Name: "H", Value: "1"}}},
		{Name: "a__b", URL: "http://y", Headers: []stream.MCPHeader{}, SSE: true},
		{Name: "my-tools-2", Command: "d", Env: map[string]string{}},
		{Name: "mcp", Command: "e", Env: map[string]string{}},
	}, servers)
	require.Equal(t, []string{
		"Two MCP servers would have the name my-tools in droid; this one is my-tools-2 there.",
		`The MCP server later is not there: droid takes stdio, http and sse servers, not "ws".`,
	}, notices)
	for raw, want := range map[string]string{
		`{}`:                             "must be a list of servers; it is of the JSON type object",
		`[{"command":"c"}]`:              "needs a name",
		`[{"name":"a"}]`:                 "(a) needs a command",
		`[{"type":"http","name":"a"}]`:   "(a) needs a url",
		`[{"name":"a","command":["c"]}]`: "must be a list of servers; the command of one is of the JSON type array",
	} {
		_, _, err := Parse(json.RawMessage(raw))
		require.ErrorContains(t, err, want, raw)
	}
}

// Whatever an editor sends, droid gets names that are unique and good for tools.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"name":"a b","command":"c"},{"name":"a-b","command":"c"},{"name":"a-b-2","command":"c"},{"type":"sse","name":"___","url":"u"}]`))
	f.Add([]byte(`[{"type":"x","name":"a"}]`))
	f.Add([]byte(`null`))
	good := regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		servers, _, err := Parse(raw)
		if err != nil {
			require.Empty(t, servers)
			return
		}
		seen := map[string]bool{}
		for _, s := range servers {
			require.Regexp(t, good, s.Name)
			require.NotContains(t, s.Name, "___")
			require.False(t, seen[s.Name], s.Name)
			seen[s.Name] = true
			require.NotEqual(t, s.Command == "", s.URL == "")
		}
	})
}
