package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"droid-acp/internal/files"
	"droid-acp/internal/sessionid"
)

// errMoving is why a title was not written: droid writes to the session all the time.
var errMoving = errors.New("it changes all the time; try again when nothing runs in it")

// setTitleTries is how often SetTitle begins anew when the file changes meanwhile.
const setTitleTries = 3

// SetTitle writes a title into a session's file, as a droid does that can rename: it is
// for 0.99, which cannot, but keeps to a title that is marked as the user's, also in a
// process that has the session open. The caller sees to it that no turn runs in the
// session. The file is replaced as a whole, or not at all, and keeps its times, by
// which sessions are sorted. The error is a *NotFoundError, or says what stands in the
// way.
func (s *Store) SetTitle(id, title string) error {
	return s.eachFile(id, func(path string) error {
		err := rewrite(path, func(line []byte) ([]byte, error) { return withTitle(line, title) })
		if err != nil {
			return fmt.Errorf("writing the title of session %s: %w", id, err)
		}
		return nil
	})
}

// eachFile calls change for each file of a session.
func (s *Store) eachFile(id string, change func(path string) error) error {
	if !sessionid.Valid(id) {
		return &NotFoundError{ID: id, Err: errNoID}
	}
	dirs, err := s.conversations(id)
	if err != nil {
		return err
	}
	found := false
	for _, dir := range dirs {
		if info, err := os.Lstat(dir.file(id + transcript)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := change(dir.file(id + transcript)); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return &NotFoundError{ID: id}
	}
	return nil
}

// rewrite replaces the file by one with another first line. When the file changes
// meanwhile, it begins anew.
func rewrite(path string, change func(line []byte) ([]byte, error)) error {
	for range setTitleTries {
		done, err := rewriteOnce(path, change)
		if done || err != nil {
			return err
		}
	}
	return errMoving
}

// rewriteOnce reports false when the file changed while it was copied.
func rewriteOnce(path string, change func(line []byte) ([]byte, error)) (done bool, err error) {
	from, before, err := files.Open(path)
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := files.Begin(path, 0o600)
	if err != nil {
		return false, err
	}
	defer to.Discard()
	to.ModTime = before.ModTime()
	if err := copyChanged(to, from, change); err != nil {
		return false, err
	}
	if err := errors.Join(from.Close(), to.Chmod(before.Mode().Perm())); err != nil {
		return false, err
	}
	err = to.Replace(func() error {
		now, err := os.Lstat(path)
		if err == nil && (!os.SameFile(before, now) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())) {
			err = errMoving
		}
		return err
	})
	if errors.Is(err, errMoving) {
		return false, nil
	}
	return err == nil, err
}

// copyChanged copies a session's file, with another first line.
func copyChanged(to io.Writer, from io.Reader, change func(line []byte) ([]byte, error)) error {
	lines := bufio.NewReader(from)
	first, err := lines.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := parseStart(first); err != nil {
		return err
	}
	line, err := change(first)
	if err != nil {
		return err
	}
	if _, err := to.Write(line); err != nil {
		return err
	}
	_, err = io.Copy(to, lines)
	return err
}

// withTitle sets the title in a session's first line and leaves all else, the order of
// the fields among it, as it is.
func withTitle(line []byte, title string) ([]byte, error) {
	fields, err := fieldsOf(line)
	if err != nil {
		return nil, err
	}
	where := "title"
	if has(fields, "sessionTitle") { // 0.99 and 0.117
		where = "sessionTitle"
	}
	text, _ := json.Marshal(title) // strings always encode
	fields = set(fields, where, text)
	return encoded(set(fields, "isSessionTitleManuallySet", json.RawMessage("true"))), nil
}

// fieldsOf are the fields of a session's first line, in their order.
func fieldsOf(line []byte) (fields []field, err error) {
	in := json.NewDecoder(bytes.NewReader(line))
	if _, err := in.Token(); err != nil { // {
		return nil, err
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, err
		}
		fields = append(fields, field{name.(string), value}) // the name of a field is a string
	}
	return fields, nil
}

// field is one field of a JSON object.
type field struct {
	name  string
	value json.RawMessage
}

func has(fields []field, name string) bool {
	for _, f := range fields {
		if f.name == name {
			return true
		}
	}
	return false
}

func set(fields []field, name string, value json.RawMessage) []field {
	for i := range fields {
		if fields[i].name == name {
			fields[i].value = value
			return fields
		}
	}
	return append(fields, field{name, value})
}

// encoded is the object of these fields, as a line.
func encoded(fields []field) []byte {
	var out bytes.Buffer
	for i, f := range fields {
		out.WriteByte("{,"[min(i, 1)])
		name, _ := json.Marshal(f.name) // strings always encode
		out.Write(name)
		out.WriteByte(':')
		out.Write(f.value)
	}
	out.WriteString("}\n")
	return out.Bytes()
}
