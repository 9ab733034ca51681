package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"droid-acp/internal/sessionid"
)

// trashName is the directory beside the store that deleted sessions go to.
const trashName = "droid-acp-trash"

// companions end the names of the files that droid keeps beside a conversation.
// They are named one by one: an id may begin like another one.
func companions() []string {
	return []string{".settings.json", ".settings.json.bak"}
}

// Delete removes the session of this id from the store. Nothing is destroyed:
// its files move to a new directory
//
//	<home>/.factory/droid-acp-trash/<time>-<id>-<number>/
//
// in which they lie as in the store, with the times they had. Moving what that
// directory holds back into <home>/.factory/sessions brings the session back;
// nothing empties the trash.
//
// An id that the store does not have, or could not have, is no error, nor is
// one that another process deletes at the same time. The session should not be
// open: 0.99 would begin a new file without a beginning under the same name,
// 0.225 would lose what comes after.
func (s *Store) Delete(id string) error {
	if !sessionid.Valid(id) {
		return nil
	}
	dirs, _, err := s.directories()
	if err != nil {
		return err
	}
	var from []directory
	for _, d := range dirs {
		info, err := os.Lstat(d.file(id + transcript))
		switch {
		case err == nil && !info.IsDir():
			from = append(from, d)
		case err != nil && !missing(err):
			return fmt.Errorf("deleting session %s: %w", id, err)
		}
	}
	if len(from) == 0 {
		return nil
	}
	if err := s.trash(id, from); err != nil {
		return fmt.Errorf("deleting session %s: %w", id, err)
	}
	return nil
}

// missing says that a file is not there, also because its directory is gone or
// cannot be searched, in which case droid does not find it either.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// trash moves the session's files out of these directories.
func (s *Store) trash(id string, from []directory) error {
	bin := filepath.Join(filepath.Dir(s.root), trashName)
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	bin, err := os.MkdirTemp(bin, time.Now().UTC().Format("20060102T150405Z")+"-"+id+"-")
	if err != nil {
		return err
	}
	moved := false
	for _, d := range from {
		ok, err := d.moveTo(filepath.Join(bin, d.name), id)
		if err != nil {
			_ = os.Remove(bin) // keeps what was moved: only an empty directory goes
			return err
		}
		moved = moved || ok
	}
	if !moved {
		return os.Remove(bin)
	}
	_, err = move(filepath.Join(s.root, id), filepath.Join(bin, id))
	return err
}

// moveTo moves the conversation and then what belongs to it. Whoever moved the
// conversation moves the rest, so that two processes do not share it out.
func (d directory) moveTo(target, id string) (bool, error) {
	if err := os.MkdirAll(target, 0o700); err != nil {
		return false, err
	}
	moved, err := move(d.file(id+transcript), filepath.Join(target, id+transcript))
	if !moved && d.name != "" {
		_ = os.Remove(target) // it is empty, and its absence is not relied on
	}
	if !moved {
		return false, err
	}
	for _, end := range companions() {
		if _, err := move(d.file(id+end), filepath.Join(target, id+end)); err != nil {
			return true, err
		}
	}
	return true, nil
}

// move renames a file; it returns false if there is none.
func move(from, to string) (bool, error) {
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
