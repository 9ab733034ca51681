//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Flags for opening a path whose file may have been replaced: noWait prevents that a pipe or a terminal blocks or has an effect, noFollow
// that a symbolic link is followed.
const (
	noWait   = unix.O_NONBLOCK | unix.O_NOCTTY
	noFollow = unix.O_NOFOLLOW
)

// Lock locks an open file or directory until it is closed. It does not wait.
func (l Locks) Lock(file *os.File) error { return l.flock(file, unix.LOCK_EX) }

func (l Locks) flock(file *os.File, how int) error {
	if err := l.fault(); err != nil {
		return err
	}
	for {
		switch err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); err {
		case nil:
			return nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrHeld
		default:
			return &NoLocksError{os.NewSyscallError("flock", err)}
		}
	}
}

// Take creates and locks a lock file; Unlock removes it. With a *NoLocksError it returns the open file, which is not locked.
func (l Locks) Take(path string) (*os.File, error) { return l.open(path, unix.LOCK_EX, 0) }

// Unlock removes a lock file and releases its lock. A waiting process notices that the file is gone and creates a new one.
func Unlock(file *os.File, path string) {
	_ = os.Remove(path)
	_ = file.Close()
}

// Append opens a file for appending, creating it if necessary, and locks it until it is closed. It waits up to wait for the lock. With a
// *NoLocksError it returns the open file, which is not locked.
func (l Locks) Append(path string, wait time.Duration) (*os.File, error) {
	return l.open(path, unix.LOCK_EX, wait)
}

// open opens and locks the file at path.
func (l Locks) open(path string, how int, wait time.Duration) (*os.File, error) {
	deadline := time.Now().Add(wait)
	for range lockTries {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|noWait|noFollow, 0o600)
		if err != nil {
			if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
				err = &fs.PathError{Op: "lock", Path: path, Err: errors.New("it is a symbolic link")}
			}
			return nil, err
		}
		err = l.flock(file, how)
		if err == nil && IsAt(file, path) || errors.As(err, new(*NoLocksError)) {
			return file, err
		}
		_ = file.Close() // it is locked, or was removed or replaced
		switch {
		case err != nil && !time.Now().Before(deadline):
			return nil, err
		case err != nil:
			time.Sleep(lockPause)
		}
	}
	return nil, fmt.Errorf("%s cannot be locked: it is removed again and again, or cannot be looked at", path)
}

// Share creates a file and marks it by a shared lock as in use until release is called; the last user removes it. See InUse. If the lock
// fails, a file that Share created is removed.
func (l Locks) Share(path string) (release func(), err error) {
	_, before := os.Lstat(path)
	file, err := l.open(path, unix.LOCK_SH, probeWait)
	if err == nil {
		return func() { l.release(file, path) }, nil
	}
	if file != nil {
		if errors.Is(before, fs.ErrNotExist) {
			_ = os.Remove(path) // nobody must think that it is in use
		}
		_ = file.Close()
	}
	return nil, err
}

// release closes a file, and removes it if no other process has it in use.
func (l Locks) release(file *os.File, path string) {
	if l.flock(file, unix.LOCK_EX) == nil && IsAt(file, path) {
		_ = os.Remove(path)
	}
	_ = file.Close() // ends the lock
}

// inUse is InUse inside probe. It locks the file for a moment, which another prober would mistake for use; so only one may probe at a
// time.
func (l Locks) inUse(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = l.flock(file, unix.LOCK_EX)
	if err == nil {
		l.release(file, path)
		return false, nil
	}
	_ = file.Close() // it was only looked at
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	return false, err
}

// probe calls look while no other process probes files of the directory. It waits up to probeWait, since the other may be suspended, and
// goes ahead if the directory cannot be locked.
func (l Locks) probe(path string, look func()) {
	if dir, err := os.Open(path); err == nil {
		defer dir.Close()
		for until := time.Now().Add(probeWait); errors.Is(l.Lock(dir), ErrHeld) && time.Now().Before(until); {
			time.Sleep(lockPause)
		}
	}
	look()
}
