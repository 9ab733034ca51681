package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"droid-acp/internal/files"
)

const (
	// trashName is the directory beside the store that deleted sessions go to.
	trashName = "droid-acp-trash"
	// unfinished ends the name of a directory of the trash until it holds all files.
	unfinished = ".part"
)

// system are the calls that move files. Tests replace them to end a move halfway.
type system struct {
	link   func(from, to string) error
	remove func(path string) error
}

// piece is one file, symbolic link or directory of a session.
type piece struct {
	from   string
	name   string      // in the directory of the trash
	info   fs.FileInfo // of from, when the trash got it
	copied bool        // the trash has a copy; else a hard link to the same file
}

// conversation is a session's file with what droid keeps beside it.
type conversation struct {
	file piece
	rest []piece
}

// move is the way of sessions into the trash. First the trash gets all files,
// then the store loses them, the conversation before what belongs to it. So at any
// moment one of the two has each session whole. If two processes delete one at once,
// the one that removes the conversation has moved it.
type move struct {
	system
	bin           string
	conversations []conversation
	attachments   []piece
	removed       []piece
}

// trash moves the files of sessions, of which there is at least one, out of the store.
func (s *Store) trash(sessions []stored) error {
	trash := filepath.Join(filepath.Dir(s.root), trashName)
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return err
	}
	bin, err := os.MkdirTemp(trash, time.Now().UTC().Format("20060102T150405Z")+"-"+sessions[0].id+"-*"+unfinished)
	if err != nil {
		return err
	}
	m := &move{system: s.system, bin: bin}
	for _, one := range sessions {
		if err == nil {
			err = m.collect(one, filepath.Join(s.root, one.id))
		}
	}
	if err != nil || len(m.conversations) == 0 {
		_ = os.RemoveAll(m.bin) // the store has everything that it holds, or another process has moved it
		return err
	}
	whole := strings.TrimSuffix(bin, unfinished)
	if err := os.Rename(bin, whole); err != nil {
		_ = os.RemoveAll(m.bin)
		return err
	}
	m.bin = whole
	files.SyncDir(trash)
	return m.clear()
}

// collect gives the trash all files of a session.
func (m *move) collect(session stored, attachments string) error {
	id := session.id
	for _, d := range session.dirs {
		if err := os.MkdirAll(filepath.Join(m.bin, d.name), 0o700); err != nil {
			return err
		}
		file, err := m.take(d.file(id+transcript), filepath.Join(d.name, id+transcript))
		if err != nil {
			return err
		}
		if len(file) == 0 {
			continue // removed just now
		}
		c := conversation{file: file[0]}
		for _, end := range companions() {
			rest, err := m.take(d.file(id+end), filepath.Join(d.name, id+end))
			if err != nil {
				return err
			}
			c.rest = append(c.rest, rest...)
		}
		m.conversations = append(m.conversations, c)
		files.SyncDir(filepath.Join(m.bin, d.name))
	}
	more, err := m.take(attachments, id)
	m.attachments = append(m.attachments, more...)
	files.SyncDir(m.bin)
	return err
}

// take gives the trash one file, or a directory with all it holds. It returns
// nothing for what is not there.
func (m *move) take(from, name string) ([]piece, error) {
	p := piece{from: from, name: name}
	var err error
	if p.info, err = os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if p.info.IsDir() {
		return m.takeDirectory(p)
	}
	p.copied, err = m.put(from, filepath.Join(m.bin, name), p.info)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // removed just now
	}
	return []piece{p}, err
}

func (m *move) takeDirectory(p piece) ([]piece, error) {
	entries, err := os.ReadDir(p.from)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(m.bin, p.name)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	pieces := []piece{p}
	for _, e := range entries {
		held, err := m.take(filepath.Join(p.from, e.Name()), filepath.Join(p.name, e.Name()))
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, held...)
	}
	files.SyncDir(to)
	return pieces, nil
}

// put makes the file from appear at to as well: by a link, or by a copy where the
// system makes no link, as to another filesystem.
func (m *move) put(from, to string, info fs.FileInfo) (copied bool, err error) {
	if m.link(from, to) == nil {
		return false, nil
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return true, err
		}
		return true, os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return true, fmt.Errorf("%s is no file that can be moved", from)
	}
	return true, copyFile(from, to, info)
}

// errChanging says that a session is in use.
var errChanging = errors.New("something is being written to it, so a droid has it open; close it there first")

// clear removes from the store what the trash has. When that fails, the store gets
// back what it lost and the trash keeps nothing.
func (m *move) clear() error {
	for _, c := range m.conversations {
		if err := c.file.changed(); err != nil {
			_ = os.RemoveAll(m.bin)
			return err
		}
	}
	err := m.removeAll()
	switch {
	case err == nil && len(m.removed) > 0:
		return nil
	case err == nil: // another process has moved it
		return os.RemoveAll(m.bin)
	}
	for i := len(m.removed) - 1; i >= 0; i-- {
		if back := m.putBack(m.removed[i]); back != nil {
			return fmt.Errorf("%w; its files are in %s, as %w", err, m.bin, back)
		}
	}
	_ = os.RemoveAll(m.bin)
	return err
}

func (m *move) removeAll() error {
	for _, c := range m.conversations {
		mine, err := m.removePiece(c.file)
		if err != nil {
			return err
		}
		for _, p := range c.rest {
			if !mine {
				break
			}
			if _, err := m.removePiece(p); err != nil {
				return err
			}
		}
	}
	for i := len(m.attachments) - 1; i >= 0 && len(m.removed) > 0; i-- {
		if _, err := m.removePiece(m.attachments[i]); err != nil {
			return err
		}
	}
	return nil
}

// removePiece returns false for what was gone already. A directory that is not
// empty stays: something new lies in it.
func (m *move) removePiece(p piece) (bool, error) {
	err := m.remove(p.from)
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && p.info.IsDir():
		return false, nil
	case err != nil:
		return false, err
	}
	m.removed = append(m.removed, p)
	return true, nil
}

func (m *move) putBack(p piece) error {
	if p.info.IsDir() {
		return os.Mkdir(p.from, p.info.Mode().Perm())
	}
	_, err := m.put(filepath.Join(m.bin, p.name), p.from, p.info)
	return err
}

// changed is an error when the store's file is no longer what the trash has, or cannot be
// looked at.
func (p piece) changed() error {
	now, err := os.Lstat(p.from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !os.SameFile(now, p.info), p.copied && (now.Size() != p.info.Size() || !now.ModTime().Equal(p.info.ModTime())):
		return errChanging
	}
	return nil
}

// copyFile copies a file with its mode and time. When it returns nil the copy is on
// the disk and was compared.
func copyFile(from, to string, info fs.FileInfo) error {
	in, _, err := files.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it is only read
	out, err := files.Begin(to, 0o600)
	if err != nil {
		return err
	}
	defer out.Discard()
	out.ModTime = info.ModTime()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	if same, err := sameContent(in, out.File); err != nil || !same {
		return errors.Join(err, fmt.Errorf("the copy of %s differs", from))
	}
	return out.New()
}

// sameContent compares two files from their beginnings.
func sameContent(a, b *os.File) (bool, error) {
	if _, err := a.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	if _, err := b.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(a, bufA)
		k, errB := io.ReadFull(b, bufB)
		switch {
		case !bytes.Equal(bufA[:n], bufB[:k]):
			return false, nil
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return errors.Is(errB, io.EOF) || errors.Is(errB, io.ErrUnexpectedEOF), nil
		case err != nil || errB != nil:
			return false, errors.Join(err, errB)
		}
	}
}
