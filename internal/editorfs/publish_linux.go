package editorfs

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// publish makes a locked file that has its whole content from the beginning.
func publish(path string, data []byte, lock func(*os.File) error) (*os.File, error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return publishByName(path, data, lock)
	}
	file := os.NewFile(uintptr(fd), path)
	if err = fillEntry(file, data, lock); err == nil {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil {
		_ = file.Close()
		return publishByName(path, data, lock)
	}
	return file, nil
}
