package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// goesOn records that a thread continues, n seconds after sometime.
func (s testStore) goesOn(from, to string, n int) {
	s.t.Helper()
	require.NoError(s.t, s.Link(Link{From: from, To: to, Kind: LinkRewind, Time: sometime.Add(time.Duration(n) * time.Second), Title: "Title of " + from}))
}

func TestLinkFile(t *testing.T) {
	s := newStore(t)
	require.Equal(t, []string{"a"}, s.Thread("a"), "no file")
	s.goesOn("a", "b", 1)
	s.goesOn("b", "c", 2)
	require.Equal(t, []string{"a", "b", "c"}, s.Thread("b"))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(s.linksPath())
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "titles are private")
	}
	require.Equal(t, filepath.Dir(s.root), filepath.Dir(s.linksPath()), "droid does not read it")

	// A line that was written in part does not spoil the next one.
	f, err := os.OpenFile(s.linksPath(), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"from":"c","to":`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	s.goesOn("c", "d", 3)
	require.Equal(t, []string{"a", "b", "c", "d"}, s.Thread("a"))
	require.Error(t, s.Link(Link{From: "a", To: "../b"}))
	require.Error(t, Unknown(os.ErrInvalid).Link(Link{From: "a", To: "b"}))
	require.Equal(t, []string{"a"}, threadOf(t, Unknown(os.ErrInvalid), "a"))
	require.NoError(t, None().Link(Link{From: "a", To: "b"}))
	require.Equal(t, []string{"../a"}, s.Thread("../a"))
}

// A file of links that cannot be read or written affects no session.
func TestInvalidLinkFile(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":      mkfifo,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			if err := put(s.linksPath()); err != nil {
				t.Skip(err)
			}
			s.session("a", abs("/w"), 1)
			require.Equal(t, []string{"a"}, s.Thread("a"))
			require.Equal(t, []string{"a"}, ids(s.list("", 0)))
			require.ErrorContains(t, s.Link(Link{From: "a", To: "b"}), LinksName)
		})
	}
}

// A link of the file's name to another place stays one.
func TestLinkFileBehindLink(t *testing.T) {
	s := newStore(t)
	place := filepath.Join(t.TempDir(), "threads")
	require.NoError(t, os.WriteFile(place, []byte(strings.Repeat("\n", linksGrown+1)), 0o600))
	if err := os.Symlink(place, s.linksPath()); err != nil {
		t.Skip(err)
	}
	s.session("b", abs("/w"), 1)
	s.goesOn("a", "b", 1)
	require.Equal(t, []string{"a", "b"}, s.Thread("a"))
	info, err := os.Lstat(s.linksPath())
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
}

// Many agents record links at the same time, in a file that is rewritten during that: none of an existing session is lost.
func TestLinkAtOnce(t *testing.T) {
	s := newStore(t)
	junk := strings.Repeat(`{"from":"gone","to":"gone2","kind":"rewind","time":"2026-01-01T00:00:00Z"}`+"\n", linksGrown/70)
	require.NoError(t, os.WriteFile(s.linksPath(), []byte(junk), 0o600))
	const writers, each = 8, 20
	for w := range writers {
		for i := range each {
			s.session(fmt.Sprintf("w%d.%d", w, i), abs("/w"), i)
		}
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			own := New(s.root, zap.NewNop()) // as another process has it
			for i := range each - 1 {
				l := Link{From: fmt.Sprintf("w%d.%d", w, i), To: fmt.Sprintf("w%d.%d", w, i+1), Kind: LinkRewind, Title: strings.Repeat("t", 500), Time: sometime}
				err := own.Link(l)
				for errors.Is(err, errLinksBusy) { // a slow machine
					err = own.Link(l)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for w := range writers {
		require.Len(t, s.Thread(fmt.Sprintf("w%d.0", w)), each)
	}
	if canReplace {
		data, err := os.ReadFile(s.linksPath())
		require.NoError(t, err)
		require.NotContains(t, string(data), "gone")
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(s.linksPath()), ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A huge forged file is read from its end, and becomes small again.
func TestHugeLinkFile(t *testing.T) {
	s := newStore(t)
	line := `{"from":"x%07d","to":"y%07d","kind":"rewind","time":"2026-01-01T00:00:00Z"}` + "\n"
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, line, i, i)
	}
	require.NoError(t, os.WriteFile(s.linksPath(), []byte(b.String()), 0o600))
	require.Equal(t, []string{"x0099999", "y0099999"}, s.Thread("x0099999"))
	require.Equal(t, []string{"x0000001"}, s.Thread("x0000001"))
	s.session("b", abs("/w"), 1)
	s.goesOn("a", "b", 1)
	require.Equal(t, []string{"a", "b"}, s.Thread("b"))
	if canReplace {
		info, err := os.Stat(s.linksPath())
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(1000))
	}
}

// As long as the store cannot be seen, nothing is taken for gone.
func TestLinksOfMissingStore(t *testing.T) {
	s := newStore(t)
	require.NoError(t, os.WriteFile(s.linksPath(), []byte(strings.Repeat("\n", linksGrown+1)), 0o600))
	s.goesOn("a", "b", 1)
	require.NoError(t, os.Rename(s.root, s.root+".away"))
	s.goesOn("c", "d", 2)
	require.Equal(t, []string{"a", "b"}, s.Thread("a"))
}

// A deleted thread that is moved back from the trash is whole, also if the file was shortened in the meantime.
func TestLinksOfTrashStay(t *testing.T) {
	s := newStore(t)
	s.session("a", abs("/w"), 1)
	s.session("b", abs("/w"), 2)
	s.goesOn("a", "b", 2)
	require.NoError(t, s.Delete("a", "b"))
	s.session("c", abs("/w"), 3)
	s.session("d", abs("/w"), 4)
	data, err := os.ReadFile(s.linksPath())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.linksPath(), append(data, strings.Repeat("\n", linksGrown+1)...), 0o600))
	s.goesOn("c", "d", 5)
	getBack(t, s, s.bins()[0])
	require.Equal(t, []string{"a", "b"}, s.Thread("a"))
}
