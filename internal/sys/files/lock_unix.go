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

// noWait makes sure that opening a file which became a pipe or a terminal neither waits
// nor has an effect, and noFollow that one which became a symbolic link is not opened.
const (
	noWait   = unix.O_NONBLOCK | unix.O_NOCTTY
	noFollow = unix.O_NOFOLLOW
)

// Lock locks an open file, or a directory, without waiting: until it is closed nobody else
// can.
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

// Take makes and locks a file that is only there to be locked; see Unlock. With a
// *NoLocksError there is the file, and no lock.
func (l Locks) Take(path string) (*os.File, error) { return l.open(path, unix.LOCK_EX, 0) }

// Unlock removes a locked file and ends its lock. Who waits for it sees that the file is
// gone and makes a new one.
func Unlock(file *os.File, path string) {
	_ = os.Remove(path)
	_ = file.Close()
}

// Append opens a file to add lines to it, makes it where it is missing, and locks it until
// it is closed. It waits so long for others. With a *NoLocksError there is the file, and no
// lock.
func (l Locks) Append(path string, wait time.Duration) (*os.File, error) {
	return l.open(path, unix.LOCK_EX, wait)
}

// open opens and locks the file that the path names.
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
		if err == nil && At(file, path) || errors.As(err, new(*NoLocksError)) {
			return file, err
		}
		_ = file.Close() // somebody else has the lock, or has removed or replaced the file
		switch {
		case err != nil && !time.Now().Before(deadline):
			return nil, err
		case err != nil:
			time.Sleep(lockPause)
		}
	}
	return nil, fmt.Errorf("%s cannot be locked: it is removed again and again, or cannot be looked at", path)
}

// Share makes a file and notes by a lock that it is in use, as several may at once, until
// release is called; the last one removes it. See Shared. Where it cannot be locked no file
// is left that was not there.
func (l Locks) Share(path string) (release func(), err error) {
	_, before := os.Lstat(path)
	file, err := l.open(path, unix.LOCK_SH, probeWait)
	if err == nil {
		return func() { l.letGo(file, path) }, nil
	}
	if file != nil {
		if errors.Is(before, fs.ErrNotExist) {
			_ = os.Remove(path) // that nobody takes it for one in use
		}
		_ = file.Close()
	}
	return nil, err
}

// letGo closes a file, and removes it if nobody else has it in use.
func (l Locks) letGo(file *os.File, path string) {
	if l.flock(file, unix.LOCK_EX) == nil && At(file, path) {
		_ = os.Remove(path)
	}
	_ = file.Close() // ends the lock
}

// shared is Shared within probe. To see that nobody has the file in use, it is locked for a
// moment, which another who looks would take for a use; so one looks after the other.
func (l Locks) shared(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = l.flock(file, unix.LOCK_EX)
	if err == nil {
		l.letGo(file, path)
		return false, nil
	}
	_ = file.Close() // it was only looked at
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	return false, err
}

// probe does something while no other process looks at the files of a directory. It waits
// for one that was stopped only so long. A directory that cannot be locked is not.
func (l Locks) probe(path string, look func()) {
	if dir, err := os.Open(path); err == nil {
		defer dir.Close()
		for until := time.Now().Add(probeWait); errors.Is(l.Lock(dir), ErrHeld) && time.Now().Before(until); {
			time.Sleep(lockPause)
		}
	}
	look()
}
