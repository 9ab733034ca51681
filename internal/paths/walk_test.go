package paths

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWalk(t *testing.T) {
	const places = "cwd list[] blocks[].at.path:uri servers.*.command:program " + "blocks[].input@name.file_path blocks[].input@name=X.input:patch"
	const message = ` {"z":1.50,"cwd":"/a<b","list":["/c",7,null],"blocks":[{"at":{"path":"file:///d"},"at2":{}},` +
		`{"name":"server___tool","input":{"file_path":"/far"}},{"input":{"file_path":"/nameless"}},{"name":"Edit","input":{"file_path":"/e","input":"no patch"}},` +
		`{"name":"X","input":{"input":"f","cwd":"/text"}}],"servers":{"s":{"command":"/g"}}}`
	var seen []string
	same := Walk(json.RawMessage(message), places, func(place, kind, value string) string {
		seen = append(seen, place+" "+kind+" "+value)
		return value
	})
	require.Equal(t, message, string(same), "what nobody changes stays byte for byte")
	require.Equal(t, []string{
		"cwd  /a<b", "list[]  /c", "blocks[].at.path uri file:///d", "servers.*.command program /g",
		"blocks[].input@name.file_path  /e", "blocks[].input@name=X.input patch f",
	}, seen)

	changed := Walk(json.RawMessage(message), places, func(_, _, value string) string { return "<" + value })
	want := message
	for _, value := range []string{"/a<b", "/c", "file:///d", "/e", "f", "/g"} {
		want = strings.Replace(want, `"`+value+`"`, `"<`+value+`"`, 1)
	}
	require.JSONEq(t, want, string(changed))
	require.Contains(t, string(changed), `"z":1.50`)
	require.Contains(t, string(changed), `"</a<b"`)
}

// What is not of the expected form is left alone.
func TestWalkOfOddMessages(t *testing.T) {
	for _, message := range []string{"", "null", "[]", `"x"`, "7", "{", `{"cwd":7,"list":{"0":"/x"}}`, `{"cwd":["/x"],"list":"/x"}`, `{"cwd":null}`} {
		got := Walk(json.RawMessage(message), "cwd list[]", func(_, _, value string) string { return "changed" })
		require.Equal(t, message, string(got))
	}
}
