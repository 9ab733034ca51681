package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/rawjson"
)

// errMoving means that a file was not replaced because droid keeps writing to it.
var errMoving = errors.New("it changes all the time; try again when nothing runs in it")

// rewriteTries is how often setCWD starts over if the file changes during the copy.
const rewriteTries = 3

// SetCWD records in a session's file that droid continues in another directory, as droid itself does when a user changes it (lastCwd, which
// 0.99 to 0.225 read when they load the session). The caller ensures that no droid has the session open. The file is replaced atomically,
// and keeps its times. The error is a *NotFoundError, or says what prevented the change.
func (s *Store) SetCWD(id, dir string) error {
	if !stream.ValidSessionID(id) {
		return &NotFoundError{ID: id, Err: errNoID}
	}
	dirs, err := s.conversations(id)
	if err != nil {
		return err
	}
	found := false
	for _, in := range dirs {
		path := in.file(id + transcript)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		err := errMoving
		for try := 0; try < rewriteTries && errors.Is(err, errMoving); try++ {
			err = setCWD(path, dir)
		}
		if err != nil {
			return fmt.Errorf("writing the directory of session %s: %w", id, err)
		}
		found = true
	}
	if !found {
		return &NotFoundError{ID: id}
	}
	return nil
}

// setCWD replaces the file by one with a modified first line. It returns errMoving if the file changed while it was copied.
func setCWD(path, dir string) error {
	from, before, err := files.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := files.NewDraft(path, 0o600)
	if err != nil {
		return err
	}
	defer to.Discard()
	to.ModTime = before.ModTime()
	lines := bufio.NewReader(from)
	line, err := lines.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if line, err = withCWD(line, dir); err != nil {
		return err
	}
	if _, err = io.Copy(to, io.MultiReader(bytes.NewReader(line), lines)); err != nil {
		return err
	}
	if err := errors.Join(from.Close(), to.Chmod(before.Mode().Perm())); err != nil {
		return err
	}
	return to.Replace(func() error {
		now, err := os.Lstat(path)
		if err == nil && (!os.SameFile(before, now) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())) {
			err = errMoving
		}
		return err
	})
}

// withCWD sets the directory in which droid continues in a session's first line, and changes nothing else. The default is the directory
// where the session was started.
func withCWD(line []byte, dir string) ([]byte, error) {
	begun, err := parseStart(line)
	if err != nil {
		return nil, err
	}
	here, said := string(rawjson.AppendString([]byte(`"lastCwd":`), dir)), begun.CWD == dir
	var fields []string
	for name, value := range rawjson.Fields(line) {
		switch {
		case string(name) != "lastCwd":
			fields = append(fields, string(rawjson.AppendString(nil, string(name)))+":"+string(value))
		case !said:
			fields, said = append(fields, here), true
		}
	}
	if !said {
		fields = append(fields, here)
	}
	return []byte("{" + strings.Join(fields, ",") + "}\n"), nil
}
