package files

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// NewUnnamedDraft creates a draft that has no name, so that nothing is left if this process is killed. It fails if the file system does not
// support O_TMPFILE.
func NewUnnamedDraft(path string) (*Draft, error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &Draft{File: os.NewFile(uintptr(fd), path), path: path}, nil
}

// Link gives a nameless draft the name temp, which must not exist. It fails without /proc.
func (d *Draft) Link(temp string) error {
	err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", d.Fd()), unix.AT_FDCWD, temp, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.PathError{Op: "link", Path: temp, Err: err}
	}
	d.temp = temp
	return nil
}
