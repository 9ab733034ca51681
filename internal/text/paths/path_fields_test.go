package paths

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRewrite(t *testing.T) {
	places := ParsePathFields("cwd list[] blocks[].at.path:uri blocks[].at servers[].command:program")
	const message = ` {"z":1.50,"cwd":"/a<b","list" : [ "/c" , 7,null,[ "x" ] ],"blocks":[{"at":{"path":"file:///d"},"at2":{}},"blocks",` +
		`{"at":[{"path":"no"}]}],"c\u0077d":"/twice","CWD":"/loud","servers":[{"command":"/g","path":"\"}]"}] ,"end":{"cwd":"/deep"}} `
	const line = `{"jsonrpc":"2.0","params":` + message + `,"cwd":"/outside"}`
	begin := strings.Index(line, `{"z"`)
	var seen []string
	same := places.Rewrite([]byte(line), begin, func(place, kind string, value []byte) []byte {
		seen = append(seen, place+" "+kind+" "+string(value))
		return nil
	})
	require.Equal(t, line, string(same), "what nobody changes stays byte for byte")
	require.Equal(t, []string{
		`cwd  "/a<b"`, `list[]  "/c"`, `list[]  7`, `list[]  null`, `list[]  [ "x" ]`, `blocks[].at  {"path":"file:///d"}`, `blocks[].at.path uri "file:///d"`,
		`blocks[].at  [{"path":"no"}]`, `cwd  "/twice"`, `cwd  "/loud"`, `servers[].command program "/g"`,
	}, seen)

	changed := places.Rewrite([]byte(line), begin, func(_, _ string, value []byte) []byte {
		if value[0] != '"' {
			return nil
		}
		return []byte("<" + string(value) + ">")
	})
	want := line
	for _, value := range []string{"/a<b", "/c", "file:///d", "/twice", "/loud", "/g"} {
		want = strings.Replace(want, `"`+value+`"`, `<"`+value+`">`, 1)
	}
	require.Equal(t, want, string(changed))
	require.Equal(t, line, string((*PathFields)(nil).Rewrite([]byte(line), begin, nil)))
}

// What is not of the expected form is left alone.
func TestRewriteOfOddMessages(t *testing.T) {
	places := ParsePathFields("cwd.x list[]")
	for _, message := range []string{"null", "[]", `"x"`, "7", "{}", "{ }", `{"cwd":7,"list":{"0":"/x"}}`, `{"cwd":["/x"],"list":"/x"}`, `{"cwd":null}`} {
		got := places.Rewrite([]byte(message), 0, func(string, string, []byte) []byte { return []byte("changed") })
		require.Equal(t, message, string(got))
	}
}

// FuzzRewrite: what f leaves stays, and what it changes is replaced, byte for byte.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(`{"a":["x",{"b":"\u0041"}],"A":[ ],"a":[{"b":{"b":1}}]}`))
	f.Add([]byte(`[{"a":1}]`))
	places := ParsePathFields("a[].b a[].b.b a[].c[] d")
	f.Fuzz(func(t *testing.T, line []byte) {
		if !json.Valid(line) {
			return
		}
		begin := len(line) - len(strings.TrimLeft(string(line), " \t\r\n"))
		var values []string
		same := places.Rewrite(line, begin, func(_, _ string, value []byte) []byte {
			require.True(t, json.Valid(value))
			return nil
		})
		require.Equal(t, line, same)
		const mark = "\xff\xfe"
		changed := places.Rewrite(line, begin, func(_, _ string, value []byte) []byte {
			values = append(values, string(value))
			return []byte(mark)
		})
		if strings.Contains(string(line), mark) {
			return
		}
		rest := string(changed)
		for _, value := range values {
			require.Contains(t, rest, mark)
			rest = strings.Replace(rest, mark, value, 1)
		}
		require.Equal(t, string(line), rest)
	})
}
