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

// ErrNotRegular means that a path is not a regular file: a directory, a pipe, a device, or a virtual file of the kernel such as those in
// /proc.
var ErrNotRegular = errors.New("is no regular file")

// Open opens a regular file for reading, following symbolic links, and returns its FileInfo. Anything else is not opened, since that could
// block or have side effects, but fails with ErrNotRegular. The error is fs.ErrNotExist if there is nothing.
func Open(path string) (*os.File, fs.FileInfo, error) { return open(path, os.Stat, os.OpenFile, 0) }

// OpenNoFollow is Open, but does not follow a symbolic link at path: that is ErrNotRegular.
func OpenNoFollow(path string) (*os.File, fs.FileInfo, error) {
	return open(path, os.Lstat, os.OpenFile, noFollow)
}

func open(path string, look func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error), flags int) (*os.File, fs.FileInfo, error) {
	info, err := look(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || IsKernelPath(path) {
		return nil, nil, fmt.Errorf("%s %w", path, ErrNotRegular)
	}
	file, err := openFile(path, os.O_RDONLY|noWait|flags, 0) // it may have been replaced since
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

// RealPath returns path with symbolic links resolved, or unchanged if that fails.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// IsKernelPath reports whether a path belongs to the kernel: /proc, /sys or /dev. Such files are not opened: opening a device may have side
// effects, and /proc/self would be this process instead of droid.
func IsKernelPath(path string) bool {
	path = filepath.Clean(path)
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return !strings.HasPrefix(path, "/dev/shm/")
		}
	}
	return false
}

// Read reads a whole file as Open does. It fails if the file has more than max bytes.
func Read(path string, max int64) ([]byte, error) {
	file, info, err := Open(path)
	return read(file, info, err, path, max)
}

// ReadIn is Read for a path in root; symbolic links cannot lead out of root.
func ReadIn(root *os.Root, path string, max int64) ([]byte, error) {
	file, info, err := open(path, root.Stat, root.OpenFile, 0)
	return read(file, info, err, path, max)
}

// read reads and closes an opened file.
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

// ReadRange reads at most max bytes of a file from an offset, opening it as OpenNoFollow does. Beyond the end of the file the result is empty.
func ReadRange(path string, at, max int64) ([]byte, error) {
	file, _, err := OpenNoFollow(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.NewSectionReader(file, at, max))
}

// ReadTail reads at most the last max bytes of a file, opening it as Open does. cut reports whether the file is longer.
func ReadTail(path string, max int64) (data []byte, cut bool, err error) {
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
