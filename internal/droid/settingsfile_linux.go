package droid

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openPrivateFile puts the data into memory: it may hold secrets, and a file on the
// disk would stay behind if this program were killed. droid and the droids that it
// starts read it by a path under our own process, which lives longer than they do.
func openPrivateFile(what string, data []byte) (*privateFile, error) {
	f, err := newMemoryFile(what, data)
	if err != nil {
		return nil, err
	}
	return &privateFile{
		path: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()),
		replace: func(data []byte) error {
			next, err := newMemoryFile(what, data)
			if err != nil {
				return err
			}
			defer next.Close() // f has it
			return takePlace(f, next)
		},
		close: func() { f.Close() }, // it is only in memory
	}, nil
}

// newMemoryFile returns a file in memory that only the user can open.
func newMemoryFile(what string, data []byte) (*os.File, error) {
	name := "droid-acp-" + what
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err = f.Chmod(0o600); err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// takePlace puts the file next under the descriptor of f, at once: who opens the path
// reads the old file or the new one, whole.
func takePlace(f, next *os.File) error {
	old, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var dup error
	err = old.Control(func(fd uintptr) { dup = unix.Dup3(int(next.Fd()), int(fd), unix.O_CLOEXEC) })
	return errors.Join(err, os.NewSyscallError("dup3", dup))
}
