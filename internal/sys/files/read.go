package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotRegular says that what is at a path is no regular file: a directory, a pipe, a
// device, or one of the kernel's own, such as those of /proc.
var ErrNotRegular = errors.New("is no regular file")

// Open opens a regular file for reading, through symbolic links, and returns how it is.
// Anything else is ErrNotRegular, and is not opened: that could wait for ever, or do
// something. fs.ErrNotExist says that there is nothing.
func Open(path string) (*os.File, fs.FileInfo, error) { return open(path, os.Stat, os.OpenFile, 0) }

// OpenExact is Open for a path that is no symbolic link itself: one is ErrNotRegular.
func OpenExact(path string) (*os.File, fs.FileInfo, error) {
	return open(path, os.Lstat, os.OpenFile, noFollow)
}

func open(path string, look func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error), flags int) (*os.File, fs.FileInfo, error) {
	info, err := look(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || IsKernels(path) {
		return nil, nil, fmt.Errorf("%s %w", path, ErrNotRegular)
	}
	file, err := openFile(path, os.O_RDONLY|noWait|flags, 0) // it may be another one by now
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil && (!info.Mode().IsRegular() || isKernelFile(file)) {
		err = fmt.Errorf("%s %w", path, ErrNotRegular)
	}
	if err != nil {
		_ = file.Close() // nothing was read
		return nil, nil, err
	}
	return file, info, nil
}

// Real is a path without symbolic links in it, or as it is where they cannot be followed.
func Real(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// IsKernels reports whether the kernel shows itself under a path. Such files are
// not opened: opening a device may do something, and /proc/self is this program, not
// droid.
func IsKernels(path string) bool {
	path = filepath.Clean(path)
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return !strings.HasPrefix(path, "/dev/shm/")
		}
	}
	return false
}

// Read reads a file as Open does, if it has at most max bytes.
func Read(path string, max int64) ([]byte, error) {
	file, info, err := Open(path)
	return read(file, info, err, path, max)
}

// ReadIn is Read for a path in root, which symbolic links do not lead out of.
func ReadIn(root *os.Root, path string, max int64) ([]byte, error) {
	file, info, err := open(path, root.Stat, root.OpenFile, 0)
	return read(file, info, err, path, max)
}

// read reads and closes what was opened.
func read(file *os.File, info fs.FileInfo, err error, path string, max int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size := info.Size()
	var data []byte
	if size <= max {
		all := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
		_, err = all.ReadFrom(io.LimitReader(file, max+1)) // it may have grown
		data, size = all.Bytes(), int64(all.Len())
	}
	if err == nil && size > max {
		err = fmt.Errorf("%s has more than %d bytes", path, max)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// From reads a file as OpenExact does, from a byte on, at most max bytes. Behind its end there is nothing.
func From(path string, at, max int64) ([]byte, error) {
	file, _, err := OpenExact(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.NewSectionReader(file, at, max))
}

// Tail reads the end of a file as Open does, at most max bytes. cut says whether there is
// more before.
func Tail(path string, max int64) (data []byte, cut bool, err error) {
	file, info, err := Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	from := info.Size() - max
	if from > 0 {
		if _, err := file.Seek(from, io.SeekStart); err != nil {
			return nil, false, err
		}
	}
	data, err = io.ReadAll(io.LimitReader(file, max))
	return data, from > 0, err
}
