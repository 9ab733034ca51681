package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// PrivateFile is a file that only processes of this user can read. It may hold secrets, so it is in memory: a file on disk would remain if
// this process were killed. Path leads through our own /proc entry; this process outlives those that read it.
type PrivateFile struct {
	Path string
	file *os.File
}

// NewPrivateFile creates a private file. what becomes part of its name.
func NewPrivateFile(what string, data []byte) (*PrivateFile, error) {
	f, err := newMemoryFile("droid-acp-"+what, data)
	if err != nil {
		return nil, err
	}
	return &PrivateFile{fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()), f}, nil
}

// Replace replaces the content atomically: whoever opens the path reads the old data or the new.
func (p *PrivateFile) Replace(data []byte) error {
	next, err := newMemoryFile(p.file.Name(), data)
	if err != nil {
		return err
	}
	defer next.Close() // p has a duplicate
	return swapDescriptor(p.file, next)
}

// Close removes the file.
func (p *PrivateFile) Close() { _ = p.file.Close() } // it is only in memory

// newMemoryFile returns a file in memory that only this user can open.
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

// swapDescriptor atomically replaces the file behind the descriptor of f by next.
func swapDescriptor(f, next *os.File) error {
	old, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var dup error
	err = old.Control(func(fd uintptr) { dup = unix.Dup3(int(next.Fd()), int(fd), unix.O_CLOEXEC) })
	return errors.Join(err, os.NewSyscallError("dup3", dup))
}
