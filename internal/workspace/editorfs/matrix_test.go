//go:build unix

package editorfs

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/testeditor"
)

// delays are the times after which the editor notices changes on the disk.
func delays() map[string]func() time.Duration {
	fixed := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	all := map[string]func() time.Duration{
		"30ms": fixed(30 * time.Millisecond), "250ms": fixed(250 * time.Millisecond), "1500ms": fixed(1500 * time.Millisecond),
	}
	for _, seed := range seeds(4) {
		random := rand.New(rand.NewPCG(seed, seed))
		ch := make(chan *rand.Rand, 1)
		ch <- random
		all["random"+string(rune('0'+seed))] = func() time.Duration {
			r := <-ch
			defer func() { ch <- r }()
			return time.Duration(r.Int64N(int64(2 * time.Second)))
		}
	}
	return all
}

// seeds are numbers from 1 on, a quarter of them by -short.
func seeds(n uint64) (list []uint64) {
	if testing.Short() {
		n /= 4
	}
	for seed := range n {
		list = append(list, seed+1)
	}
	return list
}

// matrixCase is a file that droid edits.
type matrixCase struct {
	name   string
	text   string // on disk before; "" for a new file
	typed  string // what the user has typed before it, unsaved
	open   bool
	path   string                                       // "" is "a.txt"
	set    func(r *room, path string) (resolved string) // changes the file before the edit
	direct bool                                         // it does not pass through the editor
	edit   func(string) string
}

func matrix() []matrixCase {
	large := strings.Repeat("a line of a large file\n", maxSize/23+1)
	allowed := strings.Repeat("a line of a large file\n", 1<<20/23)
	insert := func(text string) string {
		if i := strings.IndexByte(text, '\n') + 1; i > 0 {
			if strings.Contains(text, "\r") {
				return text[:i] + "droid's line\r\n" + text[i:]
			}
			return text[:i] + "droid's line\n" + text[i:]
		}
		return text + "droid"
	}
	return []matrixCase{
		{name: "closed", text: "one\ntwo\nthree\n", edit: insert},
		{name: "open", text: "one\ntwo\nthree\n", open: true, edit: insert},
		{name: "replaced line", text: "one\ntwo\nthree\n", open: true, edit: func(s string) string { return strings.Replace(s, "two", "2", 1) }},
		{name: "all replaced", text: "one\ntwo\nthree\n", open: true, edit: to("something\nelse\n")},
		{name: "emptied", text: "one\ntwo\n", open: true, edit: to("")},
		{name: "unsaved", text: "one\ntwo\nthree\n", open: true, typed: "typed\n", edit: insert},
		{name: "CRLF", text: "one\r\ntwo\r\nthree\r\n", open: true, edit: insert},
		{name: "CRLF closed", text: "one\r\ntwo\r\nthree\r\n", edit: insert},
		{name: "CRLF unsaved", text: "one\r\ntwo\r\n", open: true, typed: "typed\n", edit: insert},
		{name: "no last newline", text: "one\ntwo", open: true, edit: insert},
		{name: "one line without an end", text: "one", open: true, edit: insert},
		{name: "1 MB", text: allowed, open: true, edit: insert},
		{name: "4 MB", text: large, open: true, edit: insert, direct: true},
		{name: "4 MB from less", text: "one\ntwo\n", open: true, edit: to(large), direct: true},
		{name: "unicode", text: "é \U0001f600\ne\u0301\u200b\n\u2028x\n", open: true, edit: insert, path: "d\u00fc r/\U0001f600.txt"},
		{name: "symlink", text: "one\ntwo\n", open: true, edit: insert, path: "link", set: func(r *room, path string) string {
			require.NoError(r, os.Rename(path, r.path("real.txt")))
			require.NoError(r, os.Symlink("real.txt", path))
			return r.path("real.txt")
		}},
		{name: "mode bits", text: "one\ntwo\n", open: true, edit: insert, set: func(r *room, path string) string {
			require.NoError(r, os.Chmod(path, 0o751))
			return path
		}},
		{name: "read-only", text: "one\ntwo\n", open: true, edit: insert, direct: true, set: func(r *room, path string) string {
			require.NoError(r, os.Chmod(path, 0o444))
			return path
		}},
		{name: "outside", text: "one\ntwo\n", edit: insert, direct: true, path: "../outside.txt"},
		{name: "mixed ends", text: "one\r\ntwo\n", open: true, edit: insert, direct: true},
		{name: "BOM", text: "\ufeffone\ntwo\n", open: true, edit: insert, direct: true},
		{name: "not UTF-8", text: "one\xff\ntwo\n", edit: insert, direct: true},
		{name: "other ends", text: "one\ntwo\n", open: true, direct: true, edit: to("one\r\ntwo\r\n")},
		{name: "two names", text: "one\ntwo\n", open: true, edit: insert, direct: true, set: func(r *room, path string) string {
			require.NoError(r, os.Link(path, path+"2"))
			return path
		}},
		{name: "new", edit: to("new\nfile\n")},
		{name: "new, one line", edit: to("new")},
		{name: "new in a new directory", path: "x/y/z/a.txt", edit: to("new\nfile\n")},
		{name: "new outside", path: "../new.txt", direct: true, edit: to("new\nfile\n")},
		{name: "new with CRLF", edit: to("new\r\nfile\r\n")},
	}
}

// TestMatrix: whenever the editor looks at the disk, the edit is the agent's and can be
// rejected.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for delay, late := range delays() {
		for _, tc := range matrix() {
			if strings.Contains(tc.name, " MB") && strings.HasPrefix(delay, "random") && delay != "random1" {
				continue
			}
			t.Run(tc.name+"/"+delay, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					runCase(newRoom(t, func(o *testeditor.Options) { o.Delay = late }), tc, len(delay)%2 == 0)
				})
			})
		}
	}
}

func runCase(r *room, tc matrixCase, inPlace bool) {
	r.inPlace = inPlace
	path := r.path(tc.path)
	if tc.path == "" {
		path = r.path("a.txt")
	}
	resolved := filepath.Clean(path)
	if tc.text != "" {
		require.NoError(r, os.MkdirAll(filepath.Dir(path), 0o755))
		r.writes(path, tc.text)
		if tc.set != nil {
			resolved = tc.set(r, path)
		}
		r.touched(resolved)
		time.Sleep(time.Minute)
	}
	if tc.open {
		r.opened(path)
	}
	old := tc.text
	if tc.typed != "" {
		r.types(path, tc.typed)
		has := noEnds
		_, has, _ = readable([]byte(tc.text))
		old = withEnds(tc.typed, has) + tc.text
		require.Equal(r, old, r.shown(path), "droid sees the unsaved text")
		require.Equal(r, tc.text, r.disk(path), "a read saves nothing")
	} else if tc.text != "" {
		require.Equal(r, old, r.shown(path))
	}
	want := tc.edit(old)
	require.Empty(r, r.edits("call", path, tc.edit))
	require.Equal(r, want, r.disk(resolved))

	time.Sleep(10 * time.Second) // all reloads have come
	require.Equal(r, want, r.disk(resolved))
	if buffer, open := r.editor.Buffer(path); open && tc.name != "not UTF-8" {
		require.Equal(r, plain(strings.TrimPrefix(want, "\ufeff")), plain(buffer))
	}
	base, now, listed := r.editor.Review(path)
	require.Equal(r, !tc.direct, listed)
	if !tc.direct {
		require.Equal(r, plain(old), base)
		require.Equal(r, plain(want), now)
		require.False(r, r.editor.Dirty(path))
		require.NoError(r, r.editor.Reject(path))
		if tc.text == "" {
			require.NoFileExists(r, path)
		} else {
			require.Equal(r, old, r.disk(resolved))
		}
		require.Equal(r, old, r.shownIfThere(path))
	}
	r.close()
}

func (r *room) shownIfThere(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return r.shown(path)
}
