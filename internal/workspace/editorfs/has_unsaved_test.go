package editorfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// says is an editor that answers each read with a text or an error, or not at all, after something has happened.
type says struct {
	text   string
	err    error
	silent bool
	before func()
}

func (s says) ReadTextFile(ctx context.Context, _ string) (string, error) {
	if s.before != nil {
		s.before()
	}
	if s.silent {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return s.text, s.err
}

func (says) WriteTextFile(string, string) <-chan error { panic("nothing is written") }

// That text is unsaved is said where it is certain.
func TestHasUnsaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	long := func(fs.FileInfo) time.Time { return time.Now().Add(-time.Minute) }
	for name, c := range map[string]struct {
		disk    string
		editor  says
		changed func(fs.FileInfo) time.Time
		want    bool
	}{
		"unsaved":                    {"one\n", says{text: "two\n"}, long, true},
		"unsaved, CRLF":              {"one\r\ntwo\r\n", says{text: "one\nthree\n"}, long, true},
		"the same":                   {"one\n", says{text: "one\n"}, long, false},
		"without the last newline":   {"one\n", says{text: "one"}, long, false},
		"without returns":            {"one\r\ntwo\r\n", says{text: "one\ntwo\n"}, long, false},
		"an error":                   {"one\n", says{err: errors.New("no")}, long, false},
		"no answer":                  {"one\n", says{silent: true}, long, false},
		"nothing":                    {"one\n", says{}, long, false},
		"changed just now":           {"one\n", says{text: "two\n"}, func(fs.FileInfo) time.Time { return time.Now().Add(-time.Second) }, false},
		"changed meanwhile":          {"one\n", says{text: "one\n", before: func() { _ = os.WriteFile(path, []byte("droid's\n"), 0o600) }}, long, false},
		"gone meanwhile":             {"one\n", says{text: "two\n", before: func() { _ = os.Remove(path) }}, long, false},
		"larger than is looked at":   {strings.Repeat("a", maxUnsavedSize+1), says{text: "two\n"}, long, false},
		"no text":                    {"a\x00b", says{text: "two\n"}, long, false},
		"empty, as in the directory": {"", says{text: "two\n"}, long, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(c.disk), 0o600))
			began := time.Now()
			require.Equal(t, c.want, HasUnsaved(t.Context(), c.editor, path, c.changed), name)
			require.LessOrEqual(t, time.Since(began), unsavedTime)
		})
	}
	require.False(t, HasUnsaved(t.Context(), says{text: "x"}, filepath.Dir(path), nil))
	require.False(t, HasUnsaved(t.Context(), says{text: "x"}, path+"none", nil))
}
