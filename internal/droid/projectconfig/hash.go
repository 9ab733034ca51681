package projectconfig

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/sys/files"
)

// maxRead is how many bytes of programs, and of unknown or unparsable files, are read in one pass over a project.
const maxRead = 64 << 20

// errTooMuch means that a pass has reached maxRead or maxEntries.
var errTooMuch = errors.New("the files of the project are too large to look at")

// contents reads a file and returns its first two bytes and a hash. An error means that it could not be read completely.
func (r *reader) contents(path string) (first []byte, whole string, err error) {
	sum, begin := sha256.New(), make(prefixWriter, 0, 2)
	err = r.hash(io.MultiWriter(sum, &begin), path)
	return begin, fmt.Sprintf("%x", sum.Sum(nil)), err
}

// prefixWriter keeps the first bytes written to it, up to its capacity.
type prefixWriter []byte

func (b *prefixWriter) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), cap(*b)-len(*b))]...)
	return len(p), nil
}

// hash writes a file's content to w.
func (r *reader) hash(w io.Writer, path string) error {
	f, _, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it is only read
	n, err := io.Copy(w, io.LimitReader(f, maxRead-r.read+1))
	if r.read += n; err == nil && r.read > maxRead {
		err = errTooMuch
	}
	return err
}

// tree returns a hash of a file's or directory's names, modes and contents. It follows links to files only. An error means that not
// everything could be read.
func (r *reader) tree(path string) (whole string, err error) {
	sum := sha256.New()
	err = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return r.entry(sum, path)
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

func (r *reader) entry(sum hash.Hash, path string) error {
	if r.entries++; r.entries > maxEntries {
		return errTooMuch
	}
	info, err := os.Stat(path)
	switch {
	case err != nil && config.IsAbsent(err): // a dangling link
		target, err := os.Readlink(path)
		fmt.Fprintf(sum, "%q -> %q\n", path, target)
		return err
	case err != nil:
		return err
	}
	fmt.Fprintf(sum, "%q %v %d\n", path, info.Mode(), info.Size())
	if info.IsDir() {
		if own, err := os.Lstat(path); err != nil || !own.IsDir() {
			return fmt.Errorf("%s is a link to a directory", path)
		}
		return nil
	}
	return r.hash(sum, path)
}
