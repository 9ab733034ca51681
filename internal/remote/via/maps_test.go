package via

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/text/paths"
)

// mapsOf parses maps separated by spaces.
func mapsOf(t testing.TB, texts string) Maps {
	t.Helper()
	m, err := ReadMaps(strings.Fields(texts), "/home/me")
	require.NoError(t, err)
	return m
}

const (
	posix    = "/home/me/src=/workspaces ~/src/app=/app ~/notes=/srv/my%20notes /far=/"
	windows  = `C:\src\app=/app D:\=/mnt/d \\wsl$\Ubuntu=/ \\nas\share\x=/net/x`
	shadowed = "/src=/w /src/x=/other"
)

func TestTranslate(t *testing.T) {
	for _, tc := range []struct{ maps, kind, local, remote string }{
		{posix, paths.File, "/home/me/src", "/workspaces"},
		{posix, paths.File, "/home/me/src/a.go", "/workspaces/a.go"},
		{posix, paths.File, "/home/me/src/app", "/app"},
		{posix, paths.File, "/home/me/src/app/a//./b", "/app/a//./b"},
		{posix, paths.File, "/home/me/src/apple", "/workspaces/apple"},
		{posix, paths.File, `/home/me/src/a\b"%20`, `/workspaces/a\b"%20`},
		{posix, paths.File, "/far/etc/passwd", "/etc/passwd"},
		{posix, paths.File, "/far", "/"},
		{posix, paths.File, "sub/file.go", "sub/file.go"},
		{posix, paths.File, "", ""},
		{posix, paths.Program, "npx", "npx"},
		{posix, paths.Program, "/usr/bin/npx", ""},
		{posix, paths.Program, "/home/me/src/run", "/workspaces/run"},
		{posix, paths.URI, "file:///home/me/src/a%20b.go#L3", "file:///workspaces/a%20b.go#L3"},
		{posix, paths.URI, "file:///home/me/notes/%C3%A9?x#y", "file:///srv/my%2520notes/%C3%A9?x#y"},
		{posix, paths.URI, "file:///far", "file:///"},
		{posix, paths.URI, "/home/me/src/a", "/workspaces/a"},
		{posix, paths.URI, "https://example.com/home/me/src", "https://example.com/home/me/src"},
		{posix, paths.URI, "zed:///agent/pasted-image", "zed:///agent/pasted-image"},
		{windows, paths.File, `C:\src\app\a b\c.go`, "/app/a b/c.go"},
		{windows, paths.File, `C:\src\app`, "/app"},
		{windows, paths.File, `D:\`, "/mnt/d"},
		{windows, paths.File, `D:\x`, "/mnt/d/x"},
		{windows, paths.File, `\\wsl$\Ubuntu\home\me`, "/home/me"},
		{windows, paths.File, `\\wsl$\Ubuntu`, "/"},
		{windows, paths.File, `\\nas\share\x\y`, "/net/x/y"},
		{windows, paths.URI, "file:///C:/src/app/a%20b", "file:///app/a%20b"},
		{windows, paths.URI, "file:///D:/", "file:///mnt/d"},
		{windows, paths.URI, "file://wsl$/Ubuntu/home/me", "file:///home/me"},
		{`/mnt/d=D:\data`, paths.File, "/mnt/d/a/b", `D:\data\a\b`},
		{`C:\a=D:\b`, paths.File, `C:\a\c`, `D:\b\c`},
		{shadowed, paths.File, "/src/y", "/w/y"},
		{shadowed, paths.File, "/src/x/y", "/other/y"},
	} {
		m := mapsOf(t, tc.maps)
		got, ok := m.translate(far, tc.kind, tc.local)
		if tc.remote == "" && tc.local != "" {
			require.Equal(t, tc.local, got, "a program outside of the maps stays")
			require.True(t, ok)
			continue
		}
		require.True(t, ok, tc.local)
		require.Equal(t, tc.remote, got)
		back, ok := m.translate(near, tc.kind, got)
		require.True(t, ok, got)
		require.Equal(t, tc.local, back)
	}
}

// Different spellings of the same path.
func TestTranslateOtherSpellings(t *testing.T) {
	m := mapsOf(t, windows)
	for local, remote := range map[string]string{
		`c:/SRC/App/x`: "/app/x", `\\wsl.localhost\ubuntu\x`: "/x", `\\WSL$\Ubuntu/x/y`: "/x/y", "file://wsl%24/Ubuntu/x": "file:///x",
		"file://wsl.localhost/Ubuntu/x": "file:///x", "FILE:///c%3A/src/app": "FILE:///app", "file://localhost/d:/x": "file:///mnt/d/x",
	} {
		got, ok := m.translate(far, paths.URI, local)
		require.True(t, ok, local)
		require.Equal(t, remote, got)
	}
	m = mapsOf(t, posix)
	for local, remote := range map[string]string{
		"file:/home/me/src": "file:///workspaces", "file://LOCALHOST/home/me/src/": "file:///workspaces", "file:///%68ome/me/src/%61": "file:///workspaces/%61",
		"//home//me/./src///a": "/workspaces///a",
	} {
		got, ok := m.translate(far, paths.URI, local)
		require.True(t, ok, local)
		require.Equal(t, remote, got)
	}
}

// Paths outside of every map, or possibly outside, are not translated.
func TestOutside(t *testing.T) {
	const one = "/home/me/src=/w"
	for _, tc := range []struct {
		maps       string
		to         int
		kind, text string
	}{
		{one, far, paths.File, "/home/me"}, {one, far, paths.File, "/home/me/srcs/a"}, {one, far, paths.File, "/"},
		{one, far, paths.File, "/home/me/src/../.ssh/id"}, {one, near, paths.File, "/w/.."}, {one, near, paths.File, "/w/a/../../etc/passwd"},
		{one, near, paths.File, "../x"}, {one, near, paths.File, `..\x`}, {one, near, paths.File, "~/.ssh/id"}, {one, near, paths.File, `C:\x`}, {one, near, paths.File, "C:x"},
		{one, near, paths.File, `\\server\share`}, {one, near, paths.File, "file:///w/x"}, {one, near, paths.File, "/w/a\x00b"},
		{one, near, paths.URI, "file:///w/%2e%2e/x"}, {one, near, paths.URI, "file:///w/..%2f..%2fx"}, {one, near, paths.URI, "file:///w%2fx"}, {one, near, paths.URI, "file:///w/%zz"},
		{one, near, paths.URI, "file://server/w/x"}, {one, near, paths.URI, "file:w"}, {one, near, paths.URI, "file:"}, {one, near, paths.URI, "file:///w/%00"}, {one, near, paths.URI, "/x"},
		{windows, near, paths.File, "/app/a:stream"}, {windows, near, paths.File, `/app/a\b`}, {windows, near, paths.File, "/app/nul"}, {windows, near, paths.File, "/app/aux.c"},
		{windows, near, paths.File, "/app/end. "}, {windows, far, paths.File, `C:\src\app\a:b`}, {windows, far, paths.File, `C:\src\app\..\x`}, {windows, far, paths.File, `C:\src\app. \x`},
		{windows, far, paths.File, `\\?\C:\src\app`}, {windows, far, paths.File, `\\.\D:\x`}, {windows, far, paths.File, `\src\app`}, {windows, far, paths.File, "/app"},
		{windows, near, paths.URI, "file:///app/a%5Cb"}, {windows, near, paths.URI, "file:///app/%3A"},
		{shadowed, near, paths.File, "/w/x"}, {shadowed, near, paths.File, "/w/x/y"},
		{`/a=C:\b`, far, paths.File, "/a/c:d"},
	} {
		got, ok := mapsOf(t, tc.maps).translate(tc.to, tc.kind, tc.text)
		require.False(t, ok, "%s: %s became %s", tc.maps, tc.text, got)
		require.Equal(t, tc.text, got)
	}
	got, ok := Maps(nil).translate(far, paths.File, "/a/../b")
	require.True(t, ok, "without maps both sides have the same")
	require.Equal(t, "/a/../b", got)
}

func TestWrongMaps(t *testing.T) {
	for _, tc := range []struct{ maps, want string }{
		{"/a", `the map "/a" has no =: it must be LOCAL=REMOTE, such as /home/me/src=/workspaces/src`},
		{"a=/b", `the map "a=/b" must have two absolute paths without .. in them, such as /home/me/src=/workspaces/src`},
		{"/a=", `the map "/a=" must have two absolute paths`},
		{"/a=b", `the map "/a=b" must have two absolute paths`},
		{"/a/../b=/c", `must have two absolute paths`},
		{"/a=~/b", `the map "/a=~/b" has a ~ behind the =: what that is at the far side is not known here, so write the whole path`},
		{"~other/a=/b", `must have two absolute paths`},
		{"/a=/b=/c", `the map "/a=/b=/c" can be read in 2 ways: a directory with = in its name cannot be mapped`},
		{"/a=/b /a/=/c", `the maps "/a=/b" and "/a/=/c" have the same LOCAL`},
		{"/a=/b /c=/b", `the maps "/a=/b" and "/c=/b" have the same REMOTE`},
		{`\\server=/b`, `must have two absolute paths`},
		{`C:\a=/b c:/A=/c`, `have the same LOCAL`},
	} {
		_, err := ReadMaps(strings.Fields(tc.maps), "/home/me")
		require.ErrorContains(t, err, tc.want)
	}
	_, err := ReadMaps([]string{"~/a=/b"}, "")
	require.Error(t, err)
}

// names are the parts of random paths.
var names = []string{"a", "b", "app", "src", "x y", "é", "%20", "a=b", "...", "..a", "-"}

// A translated path translates back to itself, with any maps.
func TestThereAndBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	dir := func(root, separator string, atMost int) string {
		var parts []string
		for range random.IntN(atMost + 1) {
			parts = append(parts, names[random.IntN(len(names))])
		}
		return root + strings.Join(parts, separator)
	}
	roots := [][2]string{{"/", "/"}, {"/", "/"}, {`C:\`, `\`}, {`\\wsl$\Ubuntu\`, `\`}}
	both := 0
	for range 20_000 {
		var texts []string
		side := [2][2]string{roots[random.IntN(len(roots))], roots[random.IntN(len(roots))]}
		for range 1 + random.IntN(4) {
			texts = append(texts, dir(side[0][0], side[0][1], 3)+"="+dir(side[1][0], side[1][1], 3))
		}
		m, err := ReadMaps(texts, "")
		if err != nil {
			continue
		}
		for to := range 2 {
			from := side[1-to]
			path := dir(from[0], from[1], 5)
			there, ok := m.translate(to, paths.File, path)
			if ok && !strings.Contains(path, from[1]+from[1]) && there != path {
				back, ok := m.translate(1-to, paths.File, there)
				require.True(t, ok, "%q: %q became %q", texts, path, there)
				require.Equal(t, strings.TrimSuffix(path, from[1]), strings.TrimSuffix(back, from[1]), "%q: by %q", texts, there)
				both++
			}
			if from[0] != "/" {
				continue
			}
			uri := "file://" + (&url.URL{Path: path}).EscapedPath()
			thereToo, okToo := m.translate(to, paths.URI, uri)
			if ok = ok && len(path) > 0; !isDrive(strings.TrimPrefix(path, "/")) {
				require.Equal(t, ok, okToo, "%q: %q", texts, uri)
			}
			if okToo {
				back, ok := m.translate(1-to, paths.URI, thereToo)
				require.True(t, ok, "%q: %q became %q", texts, uri, thereToo)
				require.Equal(t, strings.TrimSuffix(unescaped(t, uri), "/"), strings.TrimSuffix(unescaped(t, back), "/"), "%q: by %q", texts, thereToo)
			}
		}
	}
	require.Greater(t, both, 1000)
}

func unescaped(t *testing.T, uri string) string {
	t.Helper()
	text, err := url.PathUnescape(uri)
	require.NoError(t, err)
	return text
}

// FuzzTranslate checks that a translated path translates back to itself, in any spelling, and is in a directory of a map.
func FuzzTranslate(f *testing.F) {
	for _, text := range []string{"/home/me/src/app/../x", "file:///home/me/src/%2e%2e", `C:\src\app`, "file://wsl$/Ubuntu/x", "file:///c:/", "//", "/far/.", `\\?\x`} {
		f.Add(text, false)
		f.Add(text, true)
	}
	both := []Maps{mapsOf(f, posix), mapsOf(f, windows), mapsOf(f, shadowed)}
	f.Fuzz(func(t *testing.T, text string, back bool) {
		to := far
		if back {
			to = near
		}
		for _, m := range both {
			there, ok := m.translate(to, paths.URI, text)
			if !ok || there == text {
				continue
			}
			again, ok := m.translate(1-to, paths.URI, there)
			require.True(t, ok, "%q became %q", text, there)
			once, ok := m.translate(to, paths.URI, again)
			require.True(t, ok)
			require.Equal(t, there, once, "by %q", again)
		}
	})
}
