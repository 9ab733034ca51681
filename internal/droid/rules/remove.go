package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"droid-acp/internal/droid/config"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/text/rawjson"
)

// ErrNotRemovable means that Remove does not remove such a rule.
var ErrNotRemovable = errors.New("only what you have allowed yourself, in a file of yours, is taken back here")

// errChanged means that another process has written the file.
var errChanged = errors.New("it was written by somebody else at the same time")

const (
	lockName = "droid-acp-rules.lock"
	lockTime = 5 * time.Second // for another agent that writes the file
	tries    = 5               // if droid writes the file at the same time
)

// Removable reports whether the rule is a permission that Remove can remove.
func (r Rule) Removable() bool {
	return r.Owner == User && r.File != "" && (r.Kind == Allowed || r.Kind == MCP)
}

// Remove removes a permission from the user's file, which is rewritten as a whole with everything else unchanged; droid reads it again
// within two seconds (0.215, 0.225). A rule that no longer exists is not an error. A droid that has read the file before can write the rule
// again, so callers must check. After the end of ctx, which interrupts no call that hangs, nothing is changed.
func Remove(ctx context.Context, locks files.Locks, r Rule) error {
	if !r.Removable() {
		return ErrNotRemovable
	}
	path := files.RealPath(r.File) // a symbolic link to it stays one
	lock, err := lockFile(locks, filepath.Join(filepath.Dir(r.File), lockName))
	if err != nil {
		return err
	}
	defer lock()
	for range tries {
		if err = r.takeBack(ctx, path); !errors.Is(err, errChanged) {
			return err
		}
	}
	return err
}

// lockFile locks the user's files against other agents. On a file system without locks it does nothing.
func lockFile(locks files.Locks, path string) (release func(), err error) {
	file, err := locks.TakeWait(path, lockTime)
	if err == nil || file != nil && errors.As(err, new(*files.NoLocksError)) {
		return func() { files.Unlock(file, path) }, nil
	}
	return nil, err
}

func (r Rule) takeBack(ctx context.Context, path string) error {
	before, err := files.Read(path, config.MaxFile)
	if err != nil {
		return err
	}
	after, err := r.without(before)
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	d, err := files.NewDraft(path, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer d.Discard()
	if _, err := d.Write(after); err != nil {
		return err
	}
	return d.Replace(func() error {
		if now, err := files.Read(path, config.MaxFile); err != nil || !bytes.Equal(now, before) {
			return errors.Join(errChanged, err)
		}
		return context.Cause(ctx)
	})
}

// without returns the text of a file without the rule, and with everything else unchanged: comments, order, white space.
func (r Rule) without(data []byte) ([]byte, error) {
	for {
		plain := config.WithoutComments(data)
		var was any
		if err := json.Unmarshal(plain, &was); err != nil {
			return nil, fmt.Errorf("it is no JSON that can be changed: %w", err)
		}
		begin, end := r.locate(plain)
		if begin < 0 {
			return data, nil
		}
		data = cut(data, plain, begin, end)
		var is any
		if err := json.Unmarshal(config.WithoutComments(data), &is); err != nil || !reflect.DeepEqual(is, r.removed(was)) {
			return nil, errors.New("the entry cannot be told from the rest of the file; remove it by hand")
		}
	}
}

// removed returns a value without the first occurrence of the rule.
func (r Rule) removed(value any) any {
	at := value
	for _, key := range r.keys[:len(r.keys)-1] {
		at = at.(map[string]any)[key]
	}
	object, key := at.(map[string]any), r.keys[len(r.keys)-1]
	if !r.element {
		delete(object, key)
		return value
	}
	list := object[key].([]any)
	for i, v := range list {
		if v == r.Text {
			object[key] = append(append([]any{}, list[:i]...), list[i+1:]...)
			break
		}
	}
	return value
}

// locate returns the position of the rule in JSON without comments: an element of a list, or a member of an object. begin is negative if it
// is not there.
func (r Rule) locate(plain []byte) (begin, end int) {
	at := rawjson.SkipSpace(plain, 0)
	for i, key := range r.keys {
		name, value := member(plain, at, key)
		switch {
		case name < 0:
			return -1, -1
		case i == len(r.keys)-1 && !r.element:
			return name, rawjson.SkipValue(plain, value)
		}
		at = value
	}
	if plain[at] != '[' {
		return -1, -1
	}
	for i := rawjson.SkipSpace(plain, at+1); plain[i] != ']'; {
		end := rawjson.SkipValue(plain, i)
		if rawjson.IsString(plain[i:end]) && rawjson.Unquote(plain[i:end]) == r.Text {
			return i, end
		}
		if i = rawjson.SkipSpace(plain, end); plain[i] == ',' {
			i = rawjson.SkipSpace(plain, i+1)
		}
	}
	return -1, -1
}

// member returns the position of a member of the object at an index of valid JSON, and of its value. Of duplicate names the last one
// counts. name is negative if there is none.
func member(plain []byte, at int, key string) (name, value int) {
	if name = -1; plain[at] != '{' {
		return name, 0
	}
	for i := rawjson.SkipSpace(plain, at+1); plain[i] == '"'; {
		end := rawjson.SkipString(plain, i)
		begin := rawjson.SkipSpace(plain, rawjson.SkipSpace(plain, end)+1) // after the colon
		if rawjson.Unquote(plain[i:end]) == key {
			name, value = i, begin
		}
		if i = rawjson.SkipSpace(plain, rawjson.SkipValue(plain, begin)); plain[i] == ',' {
			i = rawjson.SkipSpace(plain, i+1)
		}
	}
	return name, value
}

// cut removes the text from begin to end, with the comma after it or, if there is none, before it, and its line if that is otherwise empty.
func cut(data, plain []byte, begin, end int) []byte {
	comma := rawjson.SkipSpace(plain, end)
	out := append([]byte{}, data...)
	if comma < len(plain) && plain[comma] == ',' {
		out = append(out[:comma], out[comma+1:]...)
	} else {
		before := bytes.TrimRight(plain[:begin], " \t\r\n")
		if n := len(before) - 1; n >= 0 && before[n] == ',' {
			out = append(out[:n], out[n+1:]...)
			begin, end = begin-1, end-1
		}
	}
	out = append(out[:begin], out[end:]...)
	line := bytes.LastIndexByte(out[:begin], '\n') + 1
	rest := bytes.IndexByte(out[begin:], '\n')
	switch {
	case rest >= 0 && line > 0 && len(bytes.TrimSpace(out[line:begin+rest])) == 0:
		return append(out[:line], out[begin+rest+1:]...)
	case begin < len(out) && out[begin] == ' ' && begin > 0 && bytes.IndexByte([]byte(" [{"), out[begin-1]) >= 0:
		return append(out[:begin], out[begin+1:]...)
	case begin < len(out) && out[begin-1] == ' ' && bytes.IndexByte([]byte("]}"), out[begin]) >= 0:
		return append(out[:begin-1], out[begin:]...)
	}
	return out
}
