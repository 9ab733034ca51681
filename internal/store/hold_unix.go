//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// holdFile makes a file and locks it; several processes can hold it at once.
func holdFile(path string) (release func(), err error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(f, unix.LOCK_SH); err != nil {
			_ = f.Close()
			return nil, err
		}
		if stillAt(f, path) {
			return func() { letGo(f, path) }, nil
		}
		_ = f.Close() // the last one who held it removed it meanwhile
	}
}

// letGo removes the file if nobody else holds it.
func letGo(f *os.File, path string) {
	if flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil && stillAt(f, path) {
		_ = os.Remove(path)
	}
	_ = f.Close() // ends the lock
}

// fileHeld reports whether anybody holds the file.
func fileHeld(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		_ = f.Close()
		return true
	}
	letGo(f, path)
	return false
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
