package testeditor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// smallFile is the size in bytes up to which a change of a file is also detected by its content: two writes may be so close together that
// the file's time is the same.
const smallFile = 64 << 10

// byteOrderMark may be the beginning of a UTF-8 file.
const byteOrderMark = "\ufeff"

// state has the properties of a file that can be observed without reading a large one.
type state struct {
	info    fs.FileInfo // nil if there is no file
	content string      // of a small file
	looks   int         // number of checks of the file since
}

// settled is the number of checks after which a changed file has another time: they take longer than a tick of the clock with which the
// system dates files.
const settled = 500

func (s state) same(as state) bool {
	if s.info == nil || as.info == nil {
		return s.info == nil && as.info == nil
	}
	return sameInfo(s.info, as.info) && s.content == as.content
}

func sameInfo(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// unchanged reports whether a file's time, size and mode are the same.
func (s state) unchanged(path string) bool {
	info, err := os.Stat(path)
	return err == nil && s.info != nil && sameInfo(s.info, info) && s.info.Mode() == info.Mode()
}

// probe returns the state of a file. An unreadable file counts as absent.
func probe(path string) state {
	file, err := os.Open(path)
	if err != nil {
		return state{}
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return state{}
	}
	if info.Size() > smallFile || !info.Mode().IsRegular() {
		return state{info: info}
	}
	content := make([]byte, info.Size())
	n, err := io.ReadFull(file, content)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return state{}
	}
	return stateOf(info, content[:n])
}

func stateOf(info fs.FileInfo, content []byte) state {
	if len(content) > smallFile {
		return state{info: info}
	}
	return state{info: info, content: string(content)}
}

// load reads a file and its state before that.
func load(path string) ([]byte, state, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, state{}, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, state{}, err
	}
	return content, stateOf(info, content), nil
}

// loaded is a file's content as held in a buffer.
type loaded struct {
	text      string
	crlf, bom bool
}

// decode converts a file's content to text. The first line end determines the kind of line ends.
func decode(content []byte) (loaded, error) {
	if !utf8.Valid(content) {
		return loaded{}, errors.New("the file is not in UTF-8")
	}
	text, bom := strings.CutPrefix(string(content), byteOrderMark)
	first := strings.IndexByte(text, '\n')
	return loaded{normalized(text), first > 0 && text[first-1] == '\r', bom}, nil
}

// normalized returns text with \n as all line ends.
func normalized(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// encode is the inverse of decode.
func encode(l loaded) []byte {
	text := l.text
	if l.crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if l.bom {
		text = byteOrderMark + text
	}
	return []byte(text)
}

// store replaces a file. It follows symbolic links, keeps the mode bits and creates missing directories. A read-only file is an error.
func store(path string, content []byte) (state, error) {
	target, err := resolve(path)
	if err != nil {
		return state{}, err
	}
	mode := fs.FileMode(0o644)
	switch info, err := os.Stat(target); {
	case err == nil && info.IsDir():
		return state{}, fmt.Errorf("%s is a directory", path)
	case err == nil && info.Mode()&0o200 == 0:
		return state{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	case err == nil:
		mode = info.Mode()
	case !errors.Is(err, fs.ErrNotExist):
		return state{}, err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return state{}, err
	}
	return replace(target, content, mode)
}

// replace writes a file in the target's directory and renames it.
func replace(target string, content []byte, mode fs.FileMode) (_ state, err error) {
	file, err := os.CreateTemp(filepath.Dir(target), ".testeditor-*")
	if err != nil {
		return state{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(mode))
	info, statErr := file.Stat()
	if err = errors.Join(err, statErr, file.Close()); err != nil {
		return state{}, err
	}
	return stateOf(info, content), os.Rename(file.Name(), target)
}

// resolve follows symbolic links, also to a file that does not exist yet.
func resolve(path string) (string, error) {
	for range 40 {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return real, nil
		}
		link, linkErr := os.Readlink(path)
		switch {
		case linkErr != nil && errors.Is(err, fs.ErrNotExist):
			return path, nil
		case linkErr != nil:
			return "", err
		case !filepath.IsAbs(link):
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", fmt.Errorf("%s has too many links", path)
}
