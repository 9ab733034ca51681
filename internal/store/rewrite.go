package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	"droid-acp/internal/files"
)

// errMoving is why a file was not written: droid writes to the session all the time.
var errMoving = errors.New("it changes all the time; try again when nothing runs in it")

// rewriteTries is how often rewrite begins anew when the file changes meanwhile.
const rewriteTries = 3

// rewrite replaces the file by one with another first line. When the file changes
// meanwhile, it begins anew.
func rewrite(path string, change func(line []byte) ([]byte, error)) error {
	for range rewriteTries {
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
