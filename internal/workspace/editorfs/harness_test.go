//go:build unix

package editorfs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"
	"golang.org/x/sys/unix"

	"droid-acp/internal/testing/testeditor"
)

// bubbleClock returns when files changed by the clock of a synctest bubble: when it was asked
// about this change first.
type bubbleClock struct {
	mu   sync.Mutex
	seen map[[3]int64]time.Time
}

func (c *bubbleClock) changed(info fs.FileInfo) time.Time {
	stat := info.Sys().(*syscall.Stat_t)
	key := [3]int64{int64(stat.Ino), ctime(stat).UnixNano(), info.Size()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.seen[key]; ok {
		return at
	}
	c.seen[key] = time.Now()
	return c.seen[key]
}

// room is a project with an agent, in a bubble.
type room struct {
	*testing.T
	dir, journal string
	clock        *bubbleClock
	options      testeditor.Options
	editor       *testeditor.Editor
	files        *Files
	overlay      *Overlay
	inPlace      bool // droid writes files in place, as before 0.215
}

func newRoom(t *testing.T, change func(*testeditor.Options)) *room {
	base := t.TempDir()
	r := &room{T: t, dir: filepath.Join(base, "project"), journal: filepath.Join(base, "journal"), clock: &bubbleClock{seen: make(map[[3]int64]time.Time)}}
	require.NoError(t, os.Mkdir(r.dir, 0o755))
	r.options = testeditor.Options{Root: r.dir, Delay: func() time.Duration { return 30 * time.Millisecond }}
	if change != nil {
		change(&r.options)
	}
	r.editor = testeditor.New(r.options)
	r.files = r.open(nil)
	r.overlay = r.files.Overlay(async{r.editor}, OverlayOptions{})
	t.Cleanup(func() {
		if t.Failed() { // else close is called
			r.editor.Close()
			r.overlay.Close()
			r.files.Close()
		}
	})
	return r
}

// open opens another agent on the same journal.
func (r *room) open(step func(stepName)) *Files {
	f := newFiles(Options{Journal: r.journal, Log: zaptest.NewLogger(r), Changed: r.clock.changed})
	if step != nil {
		f.step = step
	}
	require.NoError(r, f.begin())
	return f
}

// close ends everything, and checks that nothing is left behind.
func (r *room) close() {
	r.overlay.Close()
	r.files.Close()
	r.editor.Close()
	r.nothingLeft()
}

// nothingLeft sees that there is nothing of ours on the disk.
func (r *room) nothingLeft() {
	r.Helper()
	require.NoDirExists(r, r.journal)
	require.NoError(r, filepath.WalkDir(filepath.Dir(r.dir), func(path string, d fs.DirEntry, err error) error {
		require.False(r, strings.Contains(d.Name(), "droid-acp"), path)
		return err
	}))
}

func (r *room) path(name string) string { return filepath.Join(r.dir, name) }

// has makes a file, long ago.
func (r *room) has(name, text string) string {
	path := r.path(name)
	require.NoError(r, os.MkdirAll(filepath.Dir(path), 0o755))
	r.writes(path, text)
	time.Sleep(time.Minute)
	return path
}

// writes writes to the disk as somebody else.
func (r *room) writes(path, text string) {
	r.Helper()
	require.NoError(r, os.WriteFile(path, []byte(text), 0o644))
	r.touched(path)
}

func (r *room) touched(path string) {
	info, err := os.Stat(path)
	require.NoError(r, err)
	r.clock.changed(info)
}

func (r *room) opened(path string) {
	r.Helper()
	require.NoError(r, r.editor.Open(path))
}

func (r *room) types(path, text string) {
	r.Helper()
	require.NoError(r, r.editor.Type(path, func(now string) string { return text + now }))
}

func (r *room) disk(path string) string {
	r.Helper()
	data, err := os.ReadFile(path)
	require.NoError(r, err)
	return string(data)
}

// shown returns what droid reads.
func (r *room) shown(path string) string {
	r.Helper()
	private, err := r.overlay.Read(context.Background(), "r", path)
	require.NoError(r, err)
	if private == "" {
		return r.disk(path)
	}
	defer r.overlay.Drop("r")
	return r.disk(private)
}

// droidWrites is droid's tool.
func (r *room) droidWrites(path, text string) {
	r.Helper()
	require.NoError(r, os.MkdirAll(filepath.Dir(path), 0o755))
	to, err := filepath.EvalSymlinks(path)
	if err != nil || r.inPlace {
		to = path
		require.NoError(r, os.WriteFile(path, []byte(text), 0o644))
	} else {
		info, err := os.Stat(to)
		require.NoError(r, err)
		require.NoError(r, os.WriteFile(to+".droid", []byte(text), info.Mode().Perm()))
		require.NoError(r, os.Rename(to+".droid", to))
	}
	r.touched(to)
}

// edits is a whole edit of droid, which writes what change makes of the disk's text.
func (r *room) edits(call, path string, change func(string) string) (note string) {
	r.Helper()
	ctx := context.Background()
	r.overlay.BeginEdit(ctx, call, []string{path})
	old, _ := os.ReadFile(path)
	time.Sleep(3 * time.Millisecond)
	text := change(string(old))
	r.droidWrites(path, text)
	info, err := os.Stat(path)
	require.NoError(r, err)
	time.Sleep(3 * time.Millisecond)
	note = r.overlay.EndEdit(ctx, call)
	now, err := os.Stat(path)
	require.NoError(r, err)
	require.Equal(r, info.ModTime(), now.ModTime(), "droid finds the mtime of its own write")
	require.Equal(r, info.Mode(), now.Mode())
	return note
}

func to(text string) func(string) string { return func(string) string { return text } }

// client is an editor whose methods return when it has answered, and async is asked for the
// same as a client of ACP is.
type client interface {
	ReadTextFile(ctx context.Context, path string) (string, error)
	WriteTextFile(ctx context.Context, path, text string) error
}

type async struct{ client client }

func (a async) ReadTextFile(ctx context.Context, path string) (string, error) {
	var text string
	answered := make(chan error, 1)
	go func() {
		read, err := a.client.ReadTextFile(ctx, path)
		text = read
		answered <- err
	}()
	select {
	case err := <-answered:
		return text, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (a async) WriteTextFile(path, text string) <-chan error {
	answered := make(chan error, 1)
	go func() { answered <- a.client.WriteTextFile(context.Background(), path, text) }()
	return answered
}

func makeFIFO(r *room) { require.NoError(r, unix.Mkfifo(r.path("fifo"), 0o600)) }

func TestMain(m *testing.M) {
	if os.Getenv(crashEnv) != "" {
		crashChild()
		return
	}
	goleak.VerifyTestMain(m)
}
