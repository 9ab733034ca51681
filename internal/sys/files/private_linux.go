package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Private is a file that processes of this user are to read, and that other users cannot.
// It is in memory: it may hold secrets, and a file on the disk would stay behind if this
// program were killed. Path leads through our own process, which lives longer than those
// that it starts.
type Private struct {
	Path string
	file *os.File
}

// NewPrivate makes a Private. what is part of its name.
func NewPrivate(what string, data []byte) (*Private, error) {
	f, err := newMemoryFile("droid-acp-"+what, data)
	if err != nil {
		return nil, err
	}
	return &Private{fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()), f}, nil
}

// Replace gives the file other data: who opens the path reads the old or the new ones, whole.
func (p *Private) Replace(data []byte) error {
	next, err := newMemoryFile(p.file.Name(), data)
	if err != nil {
		return err
	}
	defer next.Close() // p has it
	return takePlace(p.file, next)
}

// Close takes the file away.
func (p *Private) Close() { _ = p.file.Close() } // it is only in memory

// newMemoryFile returns a file in memory that only the user can open.
func newMemoryFile(name string, data []byte) (*os.File, error) {
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
