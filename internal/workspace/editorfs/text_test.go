package editorfs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadable(t *testing.T) {
	for text, want := range map[string]lineEnds{
		"": noEnds, "a": noEnds, "a\n": lf, "\n": lf, "a\nb": lf, "a\r\nb\r\n": crlf, "\r\n": crlf, "é\U0001f600\n": lf,
	} {
		got, has, err := readable([]byte(text))
		require.NoError(t, err, "%q", text)
		require.Equal(t, text, got)
		require.Equal(t, want, has, "%q", text)
	}
	for text, want := range map[string]error{
		"\xff": errEncoding, "\ufeffa": errEncoding, "a\x00": errEncoding, "a\r\nb\n": errEnds, "a\rb": errEnds, "a\r": errEnds,
		"\r\r\n": errEnds, "a\r\nb\r": errEnds, strings.Repeat("a", maxSize+1): errSize,
	} {
		_, _, err := readable([]byte(text))
		require.ErrorIs(t, err, want, "%.20q", text)
	}
}

func TestEnds(t *testing.T) {
	require.Equal(t, "a\r\nb", withEnds(plain("a\r\nb"), crlf))
	require.Equal(t, "a\nb", withEnds("a\nb", lf))
	require.Equal(t, "a\nb", matching("\n", "a\r\nb"))
	require.Equal(t, "a\r\nb", matching("\r\n", "a\nb"))
	require.Equal(t, "a\r\nb", matching("x", "a\r\nb"), "the editor has shown none")
	for a, row := range [][]bool{{true, true, false}, {true, true, false}, {true, false, true}} {
		for b, want := range row {
			require.Equal(t, want, endsFit(lineEnds(a), lineEnds(b)), "%d %d", a, b)
		}
	}
}

func TestLastNewline(t *testing.T) {
	for _, tc := range []struct{ disk, buffer, want string }{
		{"a\n", "a", "a\n"}, {"a\n", "x\na", "x\na\n"}, {"a", "b", "b"}, {"a\n", "a\n", "a\n"}, {"a", "a\n", "a\n"},
		{"a\r\nb\r\n", "a\r\nb", "a\r\nb\r\n"}, {"a\r\n", "a", "a\r\n"}, {"a\r\nb\r\n", "a\nb", "a\nb\n"},
		{"\n", "", "\n"}, {"\r\n", "", "\r\n"}, {"a\n", "", ""}, {"", "", ""},
	} {
		require.Equal(t, tc.want, withFinalNewline(tc.disk, tc.buffer), "%q %q", tc.disk, tc.buffer)
	}
	require.True(t, sameText("a\nb\n", "a\nb"))
	require.True(t, sameText("a\r\nb\r\n", "a\nb"))
	require.False(t, sameText("a\n", ""))
	require.False(t, sameText("a\n", "a\n\n"))
	require.True(t, sameText("a\n\n", "a\n"))
	require.False(t, sameText("a\n\n", ""))
}

func TestMaybeTwice(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new, saved string
		want            bool
	}{
		"a line twice":          {"a\nb\n", "a\nX\nb\n", "a\nX\nX\nb\n", true},
		"replaced, twice":       {"a\nb\n", "a\nc\n", "a\nc\nc\n", true},
		"a bracket twice":       {"f(\n", "f()\n", "f())\n", true},
		"in two places":         {"a\nb\nc\n", "X\na\nb\nY\nc\n", "X\nX\na\nb\nY\nY\nc\n", true},
		"a new file twice":      {"", "new\n", "new\nnew\n", true},
		"tabs for blanks":       {"a\n", "a\n  b\n", "a\n\tb\n", false},
		"an import is removed":  {"a\n", "import x\na\n", "a\n", false},
		"other letters":         {"a\n", "a\nb\n", "a\nb\n// zzz\n", false},
		"nothing was inserted":  {"a\nb\n", "a\n", "a\n\n", false},
		"the same":              {"a\n", "b\n", "b\n", false},
		"a comma that it likes": {"f(a)\n", "f(a, b)\n", "f(a, b,)\n", true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, maybeTwice(tc.old, tc.new, tc.saved)) })
	}
}

func TestLinesThatDiffer(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"a\nb\nc\n", "a\nX\nc\n", 1}, {"a\nb\n", "a\nb", 1}, {"a\n", "a\nb\nc\n", 2}, {"a\nb\nc\n", "a\n", 2},
		{"a\nb\n", "b\na\n", 1}, {"  a\n  b\n  c\n", "\ta\n\tb\n\tc\n", 3}, {"x", "", 1},
	} {
		require.Equal(t, tc.want, linesThatDiffer(tc.a, tc.b), "%q %q", tc.a, tc.b)
	}
	require.Equal(t, "The editor changed /x/a.go when it saved it (for example by formatting it): 3 lines differ from what you wrote.", noteOf("/x/a.go", "  a\n  b\n  c\n", "\ta\n\tb\n\tc\n"))
	require.Contains(t, noteOf("/x", "a", "b"), "1 line differs from")
}
