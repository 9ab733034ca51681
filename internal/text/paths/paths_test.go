package paths

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAbsoluteAndRelative(t *testing.T) {
	for _, c := range []struct{ path, absolute, relative string }{
		{"a/b.go", "/w/a/b.go", "a/b.go"},
		{"/w/a/../b.go", "/w/b.go", "b.go"},
		{"./a//b", "/w/a/b", "a/b"},
		{"../x", "/x", "../x"},
		{"/else/x", "/else/x", "/else/x"},
		{"/w", "/w", "."},
		{"", "/w", "."},
	} {
		require.Equal(t, filepath.FromSlash(c.absolute), Absolute("/w", c.path), c.path)
		require.Equal(t, filepath.FromSlash(c.relative), Relative("/w", c.path), c.path)
	}
	require.Equal(t, "/a", Relative("relative", "/a"), "against nothing known")
}

func TestFromURI(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///w/a%20b.txt":   "/w/a b.txt",
		"file:///w/a.go#L1":     "/w/a.go",
		"file://localhost/w/a":  "/w/a",
		"file:///C:/x":          "C:/x",
		"file://host/x":         "",
		"file:a.txt":            "",
		"file://":               "",
		"file:///a%0Ab":         "",
		"file:///a%00b":         "",
		"https://example.com/x": "",
		"/w/a":                  "",
		"file:///%zz":           "",
		"":                      "",
	} {
		path, ok := FromURI(uri)
		require.Equal(t, filepath.FromSlash(want), path, uri)
		require.Equal(t, want != "", ok, uri)
	}
}

func TestMention(t *testing.T) {
	for _, c := range []struct{ uri, name, want string }{
		{"file:///w/a.go#L10:20", "a.go", "@/w/a.go (L10:20)"},
		{"file:///w/a.go", "", "@/w/a.go"},
		{"https://example.com/x", "the page", "the page (https://example.com/x)"},
		{"https://example.com/x", "", "https://example.com/x"},
		{"https://example.com/x", "https://example.com/x", "https://example.com/x"},
		{"file://host/x", "x", "x (file://host/x)"},
	} {
		require.Equal(t, c.want, Mention(c.uri, c.name))
	}
}

func TestMentioned(t *testing.T) {
	require.Equal(t, []string{"/w/a.txt", "/w/sub/b.go", "/w/c", "/d"}, Mentioned("(see @a.txt, and @/w/sub/b.go) `@c` \"@../d\" a@b", "/w"))
	require.Empty(t, Mentioned("nothing", "/w"))
}

func TestMentions(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       bool
	}{
		{"see @/w/a.txt", "/w/a.txt", true},
		{"see @sub/a.txt", "/w/sub/a.txt", true},
		{"see @/else/b.pdf", "b.pdf", true},
		{"see b.pdf", "b.pdf", false},
		{"see /w/a.txt", "/w/a.txt", false},
		{"see @", "", false},
	} {
		require.Equal(t, c.want, Mentions(c.text, c.name, "/w"), c.text)
	}
}

func TestMissing(t *testing.T) {
	for _, mention := range []string{Mention("file:///w/my notes.txt", ""), `@C:\a b`} {
		text := "see " + MarkMissing(mention) + " and " + MarkMissing("@/b") + " "
		require.NotContains(t, UnmarkMissing(text), "no such file")
		require.Equal(t, "see "+mention+" and @/b ", UnmarkMissing(text))
	}
	for _, said := range []string{"(there is no such file) says ls", "ask @me (there is no such file)", "@/a\n (there is no such file)"} {
		require.Equal(t, said, UnmarkMissing(said))
	}
}

func TestEqual(t *testing.T) {
	require.True(t, Equal("/a", "/a"))
	require.False(t, Equal("/a", "/b"))
	require.Equal(t, filepath.Separator == '\\', Equal(`C:\Src`, `c:\src`))
}
