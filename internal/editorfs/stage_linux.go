package editorfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// staged is a text that is ready to become a file: it has its room on the disk, and no name.
type staged struct {
	file  *os.File // nil where files need a name
	text  string
	mode  fs.FileMode
	mtime time.Time // zero: when it is written
	last  bool      // nothing makes up for it when the machine loses power: it is written through
}

// stage writes a text beside the file at path, without a name. A file system that
// cannot have such files gets the text when it gets its name.
func stage(path, text string, mode fs.FileMode) (*staged, error) {
	s := &staged{text: text, mode: mode}
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return s, nil
	}
	s.file = os.NewFile(uintptr(fd), "droid-acp-staged")
	if err := s.fill(s.file); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// name gives the staged text a name, once.
func (s *staged) name(path string) error {
	if s.file == nil {
		return s.create(path)
	}
	defer s.close()
	if s.last {
		if err := s.file.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", s.file.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err != nil { // there may be no /proc
		return s.create(path)
	}
	return nil
}

func (s *staged) close() {
	if s != nil && s.file != nil {
		_ = s.file.Close() // what has no name is gone
		s.file = nil
	}
}
