//go:build unix

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// probeWait bounds how long one who asks whether a session is held waits for others who ask.
const probeWait = 2 * time.Second

// holdTries is how often a file is made anew that others remove.
const holdTries = 1000

// holdFile makes a file and locks it; several processes can hold it at once. Where nothing can be
// locked nobody sees the hold: the error is a *lockError.
func (s *Store) holdFile(path string) (release func(), err error) {
	for range holdTries {
		_, before := os.Lstat(path)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := s.flock(f, unix.LOCK_SH); err != nil {
			if errors.Is(before, fs.ErrNotExist) {
				_ = os.Remove(path) // that nobody takes it for a hold
			}
			_ = f.Close()
			return nil, &lockError{err}
		}
		if stillAt(f, path) {
			return func() { s.letGo(f, path) }, nil
		}
		_ = f.Close() // the last one who held it removed it meanwhile
	}
	return nil, fmt.Errorf("%s cannot be held: it is removed again and again, or cannot be looked at", path)
}

// letGo removes the file if nobody else holds it.
func (s *Store) letGo(f *os.File, path string) {
	if s.flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil && stillAt(f, path) {
		_ = os.Remove(path)
	}
	_ = f.Close() // ends the lock
}

// fileHeld reports whether anybody holds the file. The error says that it cannot be told. To see
// that nobody does, the file is locked for a moment, which another who asks would take for a hold;
// so one asks after the other (oneProbe).
func (s *Store) fileHeld(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = s.flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		s.letGo(f, path)
		return false, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, &lockError{err}
}

// oneProbe does something while no other process asks which files of a directory are held. It waits
// for one that was stopped only so long. A directory that cannot be locked is not.
func (s *Store) oneProbe(path string, probe func()) {
	if dir, err := os.Open(path); err == nil {
		defer dir.Close()
		for until := time.Now().Add(probeWait); ; time.Sleep(lockPause) {
			if err := s.flock(dir, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(until) {
				break
			}
		}
	}
	probe()
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// stillAt reports whether path names the open file.
func stillAt(f *os.File, path string) bool {
	here, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}
