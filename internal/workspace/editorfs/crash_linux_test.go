package editorfs

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// killsEnv sets the number of rounds of TestKilledWithObstacles.
const killsEnv = "DROID_ACP_EDIT_KILLS"

// crashObstacle comes into the way of an edit, or of its replay. Errors are those of a file that is
// just being replaced; then it is none.
type crashObstacle struct {
	name      string
	put       func(path string) error
	lift      func(path string) error
	afterKill bool // it would take the edit itself elsewhere
}

func chmods(name string, of func(path string) string, bad, good os.FileMode) crashObstacle {
	return crashObstacle{name: name,
		put:  func(path string) error { return os.Chmod(of(path), bad) },
		lift: func(path string) error { return os.Chmod(of(path), good) }}
}

// Attributes of a file system (linux/fs.h).
const (
	immutable  = 0x10
	appendOnly = 0x20
)

// flags are attributes of a file system (chattr).
func flags(name string, of func(path string) string, flag int) crashObstacle {
	change := func(path string, to func(int) int) error {
		file, err := os.Open(of(path))
		if err != nil {
			return err
		}
		defer file.Close()
		now, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, to(now))
	}
	return crashObstacle{name: name,
		put:  func(path string) error { return change(path, func(now int) int { return now | flag }) },
		lift: func(path string) error { return change(path, func(now int) int { return now &^ flag }) }}
}

func crashObstacles() []crashObstacle {
	itself := func(path string) string { return path }
	nothing := func(string) error { return nil }
	away := func(of func(string) string) (put, lift func(path string) error) {
		return func(path string) error { return os.Rename(of(path), of(path)+".away") },
			func(path string) error { return os.Rename(of(path)+".away", of(path)) }
	}
	all := []crashObstacle{
		{name: "none", put: nothing, lift: nothing},
		{name: "backup", put: func(path string) error { return os.Link(path, path+".backup") }, lift: nothing},
		{name: "attribute", put: func(path string) error { return unix.Setxattr(path, "user.test", []byte("x"), 0) }, lift: nothing},
		chmods("directory not writable", filepath.Dir, 0o555, 0o755),
		chmods("directory not readable", filepath.Dir, 0, 0o755),
		chmods("file read-only", itself, 0o444, 0o644),
		chmods("file not readable", itself, 0, 0o644),
		chmods("file not readable, at all", itself, 0o200, 0o644),
		flags("immutable", itself, immutable),
		flags("append only", itself, appendOnly),
		flags("directory immutable", filepath.Dir, immutable),
	}
	put, back := away(itself)
	all = append(all, crashObstacle{name: "file away", put: put, lift: func(path string) error {
		if _, err := os.Lstat(path); err == nil { // a new file that was made again; a user who moves the torn one over it wants that
			return os.Remove(path + ".away")
		}
		return back(path)
	}, afterKill: true})
	put, lift := away(filepath.Dir)
	all = append(all, crashObstacle{name: "directory away", put: put, lift: lift, afterKill: true})
	return append(all, crashObstacle{name: "not mounted", afterKill: true,
		put: func(path string) error {
			if err := put(path); err != nil {
				return err
			}
			return os.Mkdir(filepath.Dir(path), 0o777)
		},
		lift: func(path string) error {
			if err := os.Remove(filepath.Dir(path)); err != nil {
				return err
			}
			return lift(path)
		}})
}

// giveAway gives a room to a user whom modes of files hold back.
func giveAway(t *testing.T, base string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	require.NoError(t, os.Chown(filepath.Dir(base), nobody, nobody))
	require.NoError(t, filepath.WalkDir(base, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	}))
}

// TestKilledWithObstacles kills agent and editor at any moment of an edit, while the file or its directory
// becomes such that it cannot be read or written, or has another name. The file is old or new, whole, as soon
// as it can be replayed; new if droid was notified so; and until then the text is kept.
func TestKilledWithObstacles(t *testing.T) {
	kills := 28
	if testing.Short() {
		kills = 7 // each obstacle once
	}
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	kinds := []string{"slow", "slowlink", "slownew", "slow"}
	tally := map[string]int{}
	for i := range kills {
		all := crashObstacles()
		o := all[i%len(all)]
		kind := kinds[i/len(all)%len(kinds)]
		what := killedWithObstacle(t, kind, o)
		for _, w := range what {
			tally[w]++
		}
	}
	t.Log(kills, "rounds:", tally)
}

func killedWithObstacle(t *testing.T, kind string, o crashObstacle) (what []string) {
	t.Helper()
	about := fmt.Sprintf("%s, %s", kind, o.name)
	base, path := crashRoom(t, kind)
	giveAway(t, base)
	some := func() time.Duration { return time.Duration(rand.Int64N(int64(35 * time.Millisecond))) }
	var blocked error
	put := func() { blocked = o.put(path) }
	during := !o.afterKill && rand.IntN(2) == 0
	var wrote, done bool
	if during {
		at := some()
		kill := at + time.Duration(rand.Int64N(int64(15*time.Millisecond))) + 1
		wrote, done = crash(t, base, kind, 0, kill, func() {
			time.Sleep(at)
			put()
		})
	} else {
		wrote, done = crash(t, base, kind, 0, 1+some())
		put()
	}
	defer func() { // or the room cannot be removed
		if blocked == nil && t.Failed() {
			_ = o.lift(path)
		}
	}()
	held := len(entriesIn(t, base))
	if rand.IntN(3) == 0 {
		crash(t, base, "mend", 1+rand.IntN(4), 0)
	}
	_, mended := crash(t, base, "mend", 0, 0)
	require.True(t, mended, about)
	kept := len(entriesIn(t, base))
	data, err := os.ReadFile(path)
	if kept == 0 && err == nil && wrote { // the entry goes only when the text is there
		require.Equal(t, crashNew, string(data), about)
	}
	if blocked == nil {
		require.NoError(t, o.lift(path), about)
	}
	_, mended = crash(t, base, "mend", 0, 0)
	require.True(t, mended, about)
	data, err = os.ReadFile(path)
	switch {
	case wrote:
		require.NoError(t, err, about)
		require.Equal(t, crashNew, string(data), "%s: droid was told of success", about)
	case strings.HasSuffix(kind, "new"):
		require.ErrorIs(t, err, fs.ErrNotExist)
	default:
		require.Contains(t, []string{crashOld, crashNew}, string(data), about)
	}
	if data, err := os.ReadFile(path + ".backup"); err == nil {
		require.Contains(t, []string{crashOld, crashNew}, string(data), about)
	}
	if o.name == "attribute" && blocked == nil && !during {
		n, err := unix.Getxattr(path, "user.test", nil)
		require.NoError(t, err, about)
		require.Equal(t, 1, n)
	}
	require.NoDirExists(t, filepath.Join(base, "journal"), about)
	require.NoError(t, filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		require.True(t, d.IsDir() || name == "a.txt" || name == "link" || name == "a.txt.backup", path)
		return err
	}))
	outcomes := map[string]bool{"killed": !done, "told of success": wrote, "in the journal": held > 0, "kept until it was lifted": kept > 0}
	if blocked == nil && o.name != "none" {
		outcomes["in the way: "+o.name] = true
		outcomes["in the way during the edit"] = during
	}
	for name, is := range outcomes {
		if is {
			what = append(what, name)
		}
	}
	return what
}

// TestDirectoryShutsBeforeTheRename checks a directory that becomes read-only: the temporary file can neither replace the file nor be
// removed. The edit is still made; the temporary file is removed once that is possible, without any other effect, even if the user has
// undone the edit.
func TestDirectoryShutsBeforeTheRename(t *testing.T) {
	base, path := crashRoom(t, "shut")
	giveAway(t, base)
	wrote, done := crash(t, base, "shut", 0, 0)
	require.True(t, wrote && done)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, crashNew, string(data))
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(crashOld), 0o644))
	_, done = crash(t, base, "mend", 0, 0)
	require.True(t, done)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "%v", left)
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, crashOld, string(data))
	require.NoDirExists(t, filepath.Join(base, "journal"))
}

// entriesIn are the entries in a room's journal.
func entriesIn(t *testing.T, base string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(base, "journal"))
	if err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	for _, e := range all {
		if isEntry(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}
