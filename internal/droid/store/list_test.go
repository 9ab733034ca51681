package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestListOfNothing(t *testing.T) {
	s := newStore(t)
	require.Empty(t, s.list("", 0))
	require.NoError(t, os.Remove(s.root))
	page, err := s.List(t.Context(), Query{CWD: abs("/w")})
	require.NoError(t, err)
	require.Equal(t, Page{}, page)
	require.Empty(t, s.logs.All())
	require.NoError(t, s.Delete("any"))

	require.NoError(t, os.WriteFile(s.root, nil, 0o600))
	_, err = s.List(t.Context(), Query{})
	require.ErrorContains(t, err, "reading droid's sessions")
	_, err = s.Find("any")
	require.Error(t, err)
	require.Error(t, s.Delete("any"))
}

func TestListOrder(t *testing.T) {
	s := newStore(t)
	var want []string
	for i := range 30 { // three of each second
		want = append(want, uuidLike(i))
		s.session(uuidLike(i), abs(fmt.Sprintf("/p%d", i%4)), 100-i/3)
	}
	for _, limit := range []int{0, 1, 2, 3, 7, 29, 30, 31} {
		require.Equal(t, want, ids(s.list("", limit)), "limit %d", limit)
	}
	page, err := s.List(t.Context(), Query{Limit: 30})
	require.NoError(t, err)
	require.Empty(t, page.NextCursor, "there is nothing after the last")
	require.True(t, sometime.Add(100*time.Second).Equal(page.Sessions[0].UpdatedAt))
}

func TestListCanceled(t *testing.T) {
	s := newStore(t)
	s.session("a", abs("/w"), 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.List(ctx, Query{})
	require.ErrorIs(t, err, context.Canceled)
}

// Between two pages, sessions of either page are changed, made and deleted.
func TestPagesWhileTheStoreChanges(t *testing.T) {
	s := newStore(t)
	paths := map[string]string{}
	for i := range 10 {
		paths[uuidLike(i)] = s.session(uuidLike(i), abs("/w"), 100-i)
	}
	page, err := s.List(t.Context(), Query{Limit: 4})
	require.NoError(t, err)
	require.Equal(t, []string{uuidLike(0), uuidLike(1), uuidLike(2), uuidLike(3)}, ids(page.Sessions))

	require.NoError(t, os.Remove(paths[uuidLike(0)]))
	require.NoError(t, os.Remove(paths[uuidLike(3)])) // the cursor's own
	require.NoError(t, os.Remove(paths[uuidLike(5)]))
	later := sometime.Add(time.Hour)
	require.NoError(t, os.Chtimes(paths[uuidLike(1)], later, later))
	s.session(uuidLike(11), abs("/w"), 500)

	page, err = s.List(t.Context(), Query{Limit: 4, Cursor: page.NextCursor})
	require.NoError(t, err)
	require.Equal(t, []string{uuidLike(4), uuidLike(6), uuidLike(7), uuidLike(8)}, ids(page.Sessions))
	page, err = s.List(t.Context(), Query{Limit: 4, Cursor: page.NextCursor})
	require.NoError(t, err)
	require.Equal(t, []string{uuidLike(9)}, ids(page.Sessions))
	require.Empty(t, page.NextCursor)
}

func TestListOfADirectory(t *testing.T) {
	s := newStore(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	work, link := filepath.Join(base, "a", "b"), filepath.Join(base, "link")
	require.NoError(t, os.MkdirAll(work, 0o700))
	require.NoError(t, os.Symlink(work, link))

	s.session("direct", work, 9)
	s.session("bylink", link, 8) // as 0.99: named by the link
	s.write(project(work), "bylink225"+transcript, start225("bylink225", link, "a", nil)+turn225("a"), sometime.Add(7*time.Second))
	s.session("unclean", work+"/../b/", 6)
	s.write(project(work), "silent"+transcript, start99("silent", "", "a", fields{"cwd": nil})+turn99("a"), sometime.Add(5*time.Second))
	s.session("nested", filepath.Join(work, "c"), 4)
	s.session("sibling", filepath.Join(base, "a-b"), 3) // droid's name for it is the same
	s.session("gone", filepath.Join(base, "gone"), 2)
	require.Equal(t, project(work), project(filepath.Join(base, "a-b")))

	// "silent" could belong to either directory of that name, and is listed in both.
	same := []string{"direct", "bylink", "bylink225", "unclean", "silent"}
	for _, cwd := range []string{work, link, work + "/", filepath.Join(base, "link", "..", "a", "b")} {
		for _, limit := range []int{0, 2} {
			require.Equal(t, same, ids(s.list(cwd, limit)), cwd)
		}
	}
	for _, session := range s.list(work, 0) {
		if session.ID == "silent" {
			require.Equal(t, work, session.CWD)
		}
	}
	require.Equal(t, []string{"nested"}, ids(s.list(filepath.Join(work, "c"), 0)))
	require.Equal(t, []string{"silent", "sibling"}, ids(s.list(filepath.Join(base, "a-b"), 0)))
	require.Equal(t, []string{"gone"}, ids(s.list(filepath.Join(base, "gone"), 0)))
	require.Empty(t, s.list(base, 0))
	require.Empty(t, s.logs.All())
	require.Len(t, s.list("", 0), 7, "all but the one that does not tell its directory")
	require.Equal(t, int64(1), s.logs.All()[0].ContextMap()["foreign"])
}

// badFiles returns contents that are not sessions.
func badFiles() map[string]string {
	good := start225("x", abs("/w"), "a", nil)
	return map[string]string{
		"empty":    "",
		"blank":    "\n\n \n",
		"cut":      good[:len(good)/2],
		"cutline":  good[:len(good)/2] + "\n" + turn225("a"),
		"binary":   "\x7fELF\x00\x01\xff\xfe\n\x00",
		"zeroes":   strings.Repeat("\x00", 100_000),
		"giant":    strings.Repeat("x", 10<<20),
		"giantrow": start225("x", abs("/w"), strings.Repeat("t", 2*maxHead), nil),
		"text":     "Dear diary,\ntoday\n",
		"bom":      "\ufeff" + good + turn225("a"), // droid cannot load it
		"headless": turn225("a"),
		"array":    "[1,2]\n",
		"null":     "null\n",
		"types":    `{"type":"session_start","id":1,"title":{},"cwd":[]}` + "\n",
		"nested":   strings.Repeat("[", 60_000) + "\n",
	}
}

func TestListSkipsOtherFiles(t *testing.T) {
	s := newStore(t)
	s.session("good", abs("/w"), 1)
	for name, content := range badFiles() {
		s.write("-w", name+transcript, content, sometime)
	}
	for _, name := range []string{"good.settings.json", "good.settings.json.bak", "notes.txt", "x.jsonl.tmp"} {
		s.write("-w", name, "{}", sometime)
	}
	for _, name := range []string{"good copy", ".hidden", "-dash", "日本"} {
		s.write("-w", name+transcript, start225("x", abs("/w"), "a", nil)+turn225("a"), sometime)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(s.root, "-w", "folder"+transcript, "x"+transcript), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(s.root, "top"+transcript), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(s.root, "good", "attachments"), 0o700))
	s.write("", "index.json", "{}", sometime)

	require.Equal(t, []string{"good"}, ids(s.list("", 0)))
	require.Equal(t, []string{"good"}, ids(s.list(abs("/w"), 0)))
	require.Equal(t, 2, s.logs.Len(), "one line for each list")
	entry := s.logs.All()[0].ContextMap()
	require.Equal(t, int64(len(badFiles())+4+2), entry["damaged"].(int64)+entry["foreign"].(int64))
	require.NotEmpty(t, entry["example"])
	require.NotEmpty(t, entry["reason"])
}

func TestListWithLinks(t *testing.T) {
	s := newStore(t)
	real := s.session("real", abs("/w"), 5)
	outside := filepath.Join(t.TempDir(), "project")
	require.NoError(t, os.Mkdir(outside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "outside"+transcript),
		[]byte(start225("outside", abs("/o"), "a", nil)+turn225("a")), 0o600))
	at := func(name string) string { return filepath.Join(s.root, name) }
	require.NoError(t, os.Symlink(outside, at("-o")))                           // a project elsewhere
	require.NoError(t, os.Symlink(s.root, at("-root")))                         // a loop of directories
	require.NoError(t, os.Symlink(filepath.Dir(real), at("-again")))            // the same project twice
	require.NoError(t, os.Symlink(at("-loop"), at("-loop")))                    // a loop of links
	require.NoError(t, os.Symlink(at("nowhere"), at("-dangling")))              //
	require.NoError(t, os.Symlink(real, filepath.Join(outside, "alias.jsonl"))) // droid loads it
	require.NoError(t, os.Symlink(at("nowhere"), filepath.Join(outside, "dangling.jsonl")))
	require.NoError(t, os.Symlink("self.jsonl", filepath.Join(outside, "self.jsonl")))

	for _, limit := range []int{0, 1} {
		require.Equal(t, []string{"alias", "outside", "real"}, slices.Sorted(slices.Values(ids(s.list("", limit)))))
	}
	require.Equal(t, int64(3), s.logs.All()[0].ContextMap()["unreadable"])
	_, err := s.Find("self")
	require.Error(t, err)
}

func TestListWithUnreadableFiles(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("everything may be read")
	}
	s := newStore(t)
	s.session("good", abs("/w"), 1)
	require.NoError(t, os.Chmod(s.session("secret", abs("/w"), 2), 0))
	dir := filepath.Dir(s.session("inside", abs("/secret"), 3))
	require.NoError(t, os.Chmod(dir, 0))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	require.Equal(t, []string{"good"}, ids(s.list("", 0)))
	require.Equal(t, int64(2), s.logs.All()[0].ContextMap()["unreadable"])
	require.NoError(t, s.Delete("good"))
	require.Empty(t, s.list("", 0))
}

// droid writes the title in place, and continues with the conversation.
func TestListWhileFilesAreWritten(t *testing.T) {
	s := newStore(t)
	for i := range 20 {
		s.session(uuidLike(i), abs("/w"), i)
	}
	grown, retitled := s.session("grown", abs("/w"), 50), s.session("retitled", abs("/w"), 60)
	done := make(chan struct{})
	var writers sync.WaitGroup
	stop := sync.OnceFunc(func() { close(done); writers.Wait() })
	defer stop()
	write := func(f func(i int) error) {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if err := f(i); err != nil {
					t.Errorf("writing: %v", err)
					return
				}
			}
		})
	}
	write(func(i int) error {
		f, err := os.OpenFile(grown, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		line := message("assistant", text(strings.Repeat("x", 100+i)), "")
		_, err = f.WriteString(line[:len(line)/2])
		if err == nil {
			_, err = f.WriteString(line[len(line)/2:])
		}
		if err != nil {
			return err
		}
		return f.Close()
	})
	write(func(i int) error {
		return os.WriteFile(retitled, []byte(start225("retitled", abs("/w"), fmt.Sprint("Title ", i),
			fields{"isSessionTitleManuallySet": true})+turn225("hello")), 0o600)
	})
	write(func(int) error {
		path := filepath.Join(s.root, "-w", "brief"+transcript)
		if err := os.WriteFile(path, []byte(start225("brief", abs("/w"), "b", nil)+turn225("b")), 0o600); err != nil {
			return err
		}
		return os.Remove(path)
	})
	for range 30 {
		page, err := s.List(t.Context(), Query{Limit: 100})
		require.NoError(t, err)
		got := ids(page.Sessions)
		require.Contains(t, got, "grown")
		require.Subset(t, got, []string{uuidLike(0), uuidLike(19)})
		for _, session := range page.Sessions {
			if session.ID == "retitled" && session.Title != "Work on retitled" {
				require.True(t, strings.HasPrefix(session.Title, "Title "), session.Title)
			}
		}
	}
	stop()
	require.Len(t, s.list("", 0), 22)
}

func TestOnePercentDamaged(t *testing.T) {
	s := newStore(t)
	var want []string
	bad := slices.Sorted(func(yield func(string) bool) {
		for _, content := range badFiles() {
			if len(content) < 1<<20 && !yield(content) {
				return
			}
		}
	})
	for i := range 1000 {
		if i%100 == 50 {
			s.write("-w", uuidLike(i)+transcript, bad[i/100%len(bad)], sometime.Add(time.Duration(-i)*time.Second))
			continue
		}
		s.session(uuidLike(i), abs("/w"), -i)
		want = append(want, uuidLike(i))
	}
	require.Equal(t, want, ids(s.list("", 200)))
	require.Equal(t, want, ids(s.list(abs("/w"), 0)))
	skipped := int64(0)
	for _, e := range s.logs.FilterMessage("skipped files in droid's session store").All()[:5] {
		skipped += e.ContextMap()["damaged"].(int64) + e.ContextMap()["foreign"].(int64)
	}
	require.Equal(t, int64(10), skipped)
}

// Only regular files are opened: a pipe would never end.
func TestPipesAreNotOpened(t *testing.T) {
	s := newStore(t)
	s.session("good", abs("/w"), 1)
	if err := mkfifo(filepath.Join(s.root, project(abs("/w")), "pipe"+transcript)); err != nil {
		t.Skip("no pipes here: ", err)
	}
	require.Equal(t, []string{"good"}, ids(s.list("", 0)))
	_, err := s.Find("pipe")
	require.Error(t, err)
}

// TestPanicWhileReadingSkipsTheFile: in a goroutine of the list's own it would
// end the program.
func TestPanicWhileReadingSkipsTheFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"+transcript), []byte("{}\n"), 0o600))
	k := new(lister).readHead(nil, candidate{dir: directory{path: dir}, id: "a"}) // no reader: that panics
	require.ErrorContains(t, k.err, "droid-acp failed")
	require.False(t, k.wanted)
}
