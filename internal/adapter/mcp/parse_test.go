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
		`{"a":{"command":"c"}}`:                                 "must be a list of servers; it is of the JSON type object",
		`[{"name":"a","command":"c","env":"x"}]`:                "(a) has an env that is no list of names and values; it is of the JSON type string",
		`[{"name":"a","command":"c","env":{"A":1}}]`:            "(a) has an env that is no list of names and values; one is of the JSON type number",
		`[{"type":"http","name":"a","url":"u","headers":[[]]}]`: "(a) has headers that are no list of names and values; one is of the JSON type array",
		`[{"command":"c"}]`:                                     "needs a name",
		`[{"name":"a"}]`:                                        "(a) needs a command",
		`[{"type":"http","name":"a"}]`:                          "(a) needs a url",
		`[{"name":"a","command":["c"]}]`:                        "must be a list of servers; the command of one is of the JSON type array",
	} {
		_, _, err := Parse(json.RawMessage(raw))
		require.ErrorContains(t, err, want, raw)
	}
}

// CodeCompanion sends env as an object, as its users write it. An empty list is an
// object where the language of a client has one sign for both.
func TestParseObjects(t *testing.T) {
	servers, notices, err := Parse(json.RawMessage(`[{"name":"a","command":"c","args":[],"env":{"B":"2","A":"1"}},
		{"name":"b","command":"c","env":{}},{"type":"http","name":"c","url":"u","headers":{"Y":"2","X":"1"}}]`))
	require.NoError(t, err)
	require.Empty(t, notices)
	require.Equal(t, []stream.MCPServer{
		{Name: "a", Command: "c", Args: []string{}, Env: map[string]string{"A": "1", "B": "2"}},
		{Name: "b", Command: "c", Env: map[string]string{}},
		{Name: "c", URL: "u", Headers: []stream.MCPHeader{{Name: "X", Value: "1"}, {Name: "Y", Value: "2"}}},
	}, servers)
	for _, none := range []string{`{}`, ` { } `, `null`, `[]`, ``} {
		servers, _, err = Parse(json.RawMessage(none))
		require.NoError(t, err, none)
		require.Empty(t, servers)
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
