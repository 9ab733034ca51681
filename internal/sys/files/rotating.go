package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
)

// RotatingFile is a file of lines that only the user can read. Before it would exceed its maximum size it is renamed to its path with
// OlderSuffix, which replaces an older one, and a new file begins. Several processes may append to it.
type RotatingFile struct {
	path, mark string
	head       func() []byte
	max        int64

	mu   sync.Mutex
	file *os.File // nil if it could not be opened again
	torn bool     // the last write was incomplete, so the next line needs a new beginning
}

// OlderSuffix is added to the path of a RotatingFile for the file before it.
const OlderSuffix = ".1"

// OpenRotating opens or creates the file at path. Every file and every opening of one begins with the line that head returns, which begins
// with mark. A symbolic link, a file of somebody else or readable by others, and a file that does not begin with mark are refused.
func OpenRotating(path, mark string, max int64, head func() []byte) (*RotatingFile, error) {
	r := &RotatingFile{path: path, mark: mark, max: max, head: head}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *RotatingFile) open() (err error) {
	if r.file, err = r.openFile(); err != nil {
		return err
	}
	if err = r.append(r.head()); err != nil {
		_ = r.file.Close() // the error before counts
		r.file = nil
	}
	return err
}

func (r *RotatingFile) openFile() (*os.File, error) {
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_RDWR, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return file, err
	}
	info, err := os.Lstat(r.path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s %w; name a new file", r.path, ErrNotRegular)
	case !OwnedByUser(info):
		return nil, fmt.Errorf("%s belongs to another user; name a new file", r.path)
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return nil, fmt.Errorf("others may read or change %s; name a new file, or run chmod 600 on it", r.path)
	}
	if file, err = os.OpenFile(r.path, os.O_APPEND|os.O_RDWR|noWait|noFollow, 0); err != nil {
		return nil, err
	}
	if err = r.check(file, info); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// check returns an error if the open file is not the one that was looked at, or has other contents than a RotatingFile.
func (r *RotatingFile) check(file *os.File, info fs.FileInfo) error {
	opened, err := file.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(opened, info) {
		return fmt.Errorf("%s was replaced while it was opened", r.path)
	}
	begins := make([]byte, len(r.mark))
	if n, _ := file.ReadAt(begins, 0); opened.Size() > 0 && string(begins[:n]) != r.mark {
		return fmt.Errorf("%s has something else in it; name a new file", r.path)
	}
	return nil
}

// Write appends whole lines. After an error the next Write tries again; what was not written is lost.
func (r *RotatingFile) Write(lines []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.rotate(int64(len(lines))); err != nil {
		return 0, err
	}
	if err := r.append(lines); err != nil {
		return 0, err
	}
	return len(lines), nil
}

func (r *RotatingFile) append(lines []byte) error {
	if r.torn {
		lines = append([]byte("\n"), lines...)
	}
	n, err := r.file.Write(lines)
	r.torn = err != nil && (n > 0 || r.torn)
	return err
}

// rotate begins a new file if so many more bytes do not fit, and follows another process that has. The lock keeps two of them from doing it
// at once.
func (r *RotatingFile) rotate(more int64) error {
	for range 3 { // other processes may fill the new file
		if err := r.reopen(); err != nil {
			return err
		}
		info, err := r.file.Stat()
		here := IsAt(r.file, r.path)
		if err != nil || here && (info.Size() == 0 || info.Size()+more <= r.max) {
			return err
		}
		held := errors.Is(new(Locks).Lock(r.file), ErrHeld) // where there are no locks, one process is assumed
		here = !held && IsAt(r.file, r.path)
		if runtime.GOOS == "windows" { // which renames no open file
			_ = r.file.Close()
		}
		if here {
			err = os.Rename(r.path, r.path+OlderSuffix)
		}
		_ = r.file.Close() // releases the lock; whole lines were written
		r.file, r.torn = nil, false
		if err != nil {
			return err
		}
	}
	return r.reopen()
}

func (r *RotatingFile) reopen() error {
	if r.file != nil {
		return nil
	}
	return r.open()
}

// Close closes the file.
func (r *RotatingFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
