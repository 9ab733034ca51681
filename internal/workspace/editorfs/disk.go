package editorfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"droid-acp/internal/sys/files"
)

// location is the file that a path leads to.
type location struct {
	path     string // as given by droid
	resolved string // without symbolic links
	link     string // target of path if it is a symbolic link
	exists   bool
}

var (
	errKind    = errors.New("it is no regular file")
	errPath    = errors.New("its path is not absolute")
	errShared  = errors.New("it has several names")
	errOwner   = errors.New("a new file there would have another owner or group")
	errNoWrite = errors.New("it or its directory cannot be written")
	errExtras  = errors.New("it has attributes that an editor would lose")
	errBusy    = errors.New("it changes while it is read")
)

// resolve resolves a path. The file, and directories above it, may be missing.
func resolve(path string) (location, error) {
	if !filepath.IsAbs(path) {
		return location{}, errPath
	}
	at := location{path: path}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		at.resolved, err = resolveMissing(filepath.Clean(path))
		return at, err
	}
	if err != nil {
		return at, err
	}
	at.exists = true
	if info.Mode()&fs.ModeSymlink != 0 {
		if at.link, err = os.Readlink(path); err != nil {
			return at, err
		}
	}
	at.resolved, err = filepath.EvalSymlinks(path)
	if err == nil && files.IsKernelPath(at.resolved) {
		err = errKind
	}
	return at, err
}

// resolveMissing returns the resolved path of a missing file.
func resolveMissing(path string) (string, error) {
	dir := filepath.Dir(path)
	if dir == path {
		return "", fs.ErrNotExist
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(dir); lerr == nil {
			return "", errKind // a dangling link
		}
		resolved, err = resolveMissing(dir)
	}
	if err != nil {
		return "", err
	}
	resolved = filepath.Join(resolved, filepath.Base(path))
	if files.IsKernelPath(resolved) {
		return "", errKind
	}
	return resolved, nil
}

// content is a file that was read.
type content struct {
	text    string
	ends    lineEnds
	info    fs.FileInfo
	changed time.Time
	unfit   error // why the file must not pass through the editor, whatever its text
}

// same reports whether a file is the one that was read, unchanged.
func (c *content) same(info fs.FileInfo, changed time.Time) bool {
	return os.SameFile(c.info, info) && c.info.Size() == info.Size() && c.info.ModTime().Equal(info.ModTime()) && c.changed.Equal(changed)
}

// readSuitable reads a file that may pass through the editor. Otherwise it returns the reason as error, along with the content if only the
// text is unsuitable.
func (f *Files) readSuitable(resolved string) (*content, error) {
	if err := f.failure("look"); err != nil {
		return nil, err
	}
	c, data, err := f.read(resolved)
	if err != nil {
		return nil, err
	}
	if c.unfit != nil {
		return nil, c.unfit
	}
	if c.text, c.ends, err = readable(data); err != nil {
		c.text = string(data)
	}
	return c, err
}

// readAny reads a regular file of at most maxSize, even if it must not pass through the editor: then content.unfit has the reason.
// fs.ErrNotExist means that the file is missing, errSize that it is larger; after any other error its content is unknown.
func (f *Files) readAny(resolved string) (*content, error) {
	if err := f.failure("peek"); err != nil {
		return nil, err
	}
	c, data, err := f.read(resolved)
	if err == nil {
		c.text = string(data)
	}
	return c, err
}

// read reads a file while it does not change.
func (f *Files) read(resolved string) (c *content, data []byte, err error) {
	for range 3 {
		c, data, err = f.readOnce(resolved)
		if !errors.Is(err, errBusy) {
			return c, data, err
		}
	}
	return nil, nil, err
}

func (f *Files) readOnce(resolved string) (*content, []byte, error) {
	file, before, err := files.OpenNoFollow(resolved)
	if errors.Is(err, files.ErrNotRegular) {
		err = errKind
	}
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if before.Size() > maxSize {
		return nil, nil, errSize
	}
	data := make([]byte, before.Size()+1)
	n, err := io.ReadFull(file, data)
	if err == nil || !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, nil, errors.Join(errBusy, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	c := &content{info: before, changed: f.changed(before), unfit: unfitReason(resolved, before)}
	if int64(n) != before.Size() || !c.same(info, f.changed(info)) {
		return nil, nil, errBusy
	}
	if c.unfit == nil {
		c.unfit = plainFile(file)
	}
	return c, data[:n], nil
}

// unfitReason returns why a regular file must not pass through the editor, as far as is known without opening it.
func unfitReason(path string, info fs.FileInfo) error {
	if info.Mode()&0o200 == 0 || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		return errNoWrite
	}
	return ordinary(path, info)
}

// tempName returns the name of a temporary file in the directory of a file.
func tempName(id string) string { return ".droid-acp-" + id + ".tmp" }

// isTempName reports whether name may have been made by tempName.
func isTempName(name string) bool {
	id, ok := strings.CutPrefix(name, ".droid-acp-")
	id, ok2 := strings.CutSuffix(id, ".tmp")
	return ok && ok2 && isID(id)
}

// put atomically replaces a file by a text. check is called right before. The temporary file is always removed.
func (f *Files) put(resolved, temp string, s *staged, step func(stepName), check func() error) error {
	if err := f.failure("put"); err != nil {
		return err
	}
	step(stepLink)
	d, err := s.named(resolved, filepath.Join(filepath.Dir(resolved), temp))
	if err != nil {
		return fmt.Errorf("writing beside it: %w", err)
	}
	defer d.Discard()
	return d.Replace(func() error {
		step(stepRename)
		if err := check(); err != nil {
			return err
		}
		return f.failure("rename")
	})
}
