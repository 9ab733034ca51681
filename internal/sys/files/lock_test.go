package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Of those who take a lock again and again one has it at a time, and nothing is left.
func TestOneTakesALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	var all sync.WaitGroup
	var has sync.Mutex
	for range 8 {
		all.Go(func() {
			for taken := 0; taken < 50; {
				file, err := new(Locks).Take(path)
				if errors.Is(err, ErrHeld) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !has.TryLock() {
					t.Error("two have the lock")
					return
				}
				taken++
				has.Unlock()
				Unlock(file, path)
			}
		})
	}
	all.Wait()
	require.NoFileExists(t, path)
}

// TestLockThatIsALink checks that no file is created at a link's target, and that a link is not a lock.
func TestLockThatIsALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a right there")
	}
	dir := t.TempDir()
	there, link := filepath.Join(dir, "there"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(there, link))
	for _, leads := range []string{"nowhere", "to a file"} {
		for name, lock := range map[string]func(string) (*os.File, error){
			"take":   new(Locks).Take,
			"append": func(path string) (*os.File, error) { return new(Locks).Append(path, time.Second) },
			"share":  func(path string) (*os.File, error) { _, err := new(Locks).Share(path); return nil, err },
		} {
			file, err := lock(link)
			require.Nil(t, file, name)
			require.ErrorContains(t, err, link+": it is a symbolic link", "%s: %s", leads, name)
			if leads == "nowhere" {
				require.NoFileExists(t, there, name)
			}
		}
		require.NoError(t, os.WriteFile(there, nil, 0o600))
	}
}

// A waiter gets the lock as soon as it is released, and gives up after its time.
func TestTakeWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l")
	synctest.Test(t, func(t *testing.T) {
		held, err := new(Locks).TakeWait(path, 0)
		require.NoError(t, err)
		began := time.Now()
		_, err = new(Locks).TakeWait(path, time.Second)
		require.ErrorIs(t, err, ErrHeld)
		require.Equal(t, time.Second, time.Since(began))
		time.AfterFunc(time.Second/2, func() { Unlock(held, path) })
		next, err := new(Locks).TakeWait(path, time.Second)
		require.NoError(t, err)
		require.Less(t, time.Since(began), 2*time.Second)
		Unlock(next, path)
	})
	require.NoFileExists(t, path)
}

// Several have a file in use at once; the last one removes it.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	path, locks := filepath.Join(dir, "s"), Locks{}
	ask := func() bool {
		shared, err := locks.InUse(path)
		require.NoError(t, err)
		return shared
	}
	require.False(t, ask())
	one, err := locks.Share(path)
	require.NoError(t, err)
	two, err := locks.Share(path)
	require.NoError(t, err)
	locks.Sweep(dir, 10)
	require.True(t, ask())
	one()
	require.True(t, ask())
	two()
	require.False(t, ask())
	require.NoFileExists(t, path)

	require.NoError(t, os.WriteFile(path, nil, 0o600)) // of a process that died
	locks.Sweep(dir, 10)
	require.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.False(t, ask())
	require.NoFileExists(t, path)
}

// Many concurrent checks of a killed process's leftovers do not mistake each other's for a use.
func TestConcurrentProbes(t *testing.T) {
	dir := t.TempDir()
	path, mine := filepath.Join(dir, "died"), filepath.Join(dir, "mine")
	for range 200 {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range 8 {
			all.Go(func() {
				<-begin
				if i == 0 {
					new(Locks).Sweep(dir, 100)
					if release, err := new(Locks).Share(mine); err == nil {
						release()
					}
				} else if shared, err := new(Locks).InUse(path); err != nil || shared {
					t.Error("nobody has it in use", err)
				}
			})
		}
		close(begin)
		all.Wait()
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestNoLock checks that three answers differ: somebody has the lock, locks are not possible, and the state is unknown.
func TestNoLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what is open is locked there")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "l")
	file, err := new(Locks).Append(path, 0)
	require.NoError(t, err)
	began := time.Now()
	_, err = new(Locks).Append(path, 20*time.Millisecond)
	require.ErrorIs(t, err, ErrHeld)
	require.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
	shared, err := new(Locks).InUse(path)
	require.NoError(t, err)
	require.True(t, shared)
	require.NoError(t, file.Close())

	none := Locks{Fault: func() error { return os.ErrInvalid }}
	file, err = none.Take(path)
	require.ErrorAs(t, err, new(*NoLocksError))
	require.ErrorIs(t, err, os.ErrInvalid)
	require.NotErrorIs(t, err, ErrHeld)
	_, err = none.InUse(path)
	require.ErrorAs(t, err, new(*NoLocksError))
	_, err = none.Share(path)
	require.ErrorAs(t, err, new(*NoLocksError))
	require.FileExists(t, path, "it was there")
	Unlock(file, path)
	_, err = none.Share(path)
	require.ErrorAs(t, err, new(*NoLocksError))
	require.NoFileExists(t, path)

	_, err = new(Locks).Take(filepath.Join(dir, "none", "l"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NotErrorIs(t, err, ErrHeld)
}
