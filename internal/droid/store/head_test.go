package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A reader that is reused for many files mixes up none of their content.
func TestReaderIsReused(t *testing.T) {
	s := newStore(t)
	long := s.write("-w", "long"+transcript, start225("long", abs("/w"), "a", nil)+turn225("secret"), sometime)
	short := s.write("-w", "short"+transcript, start225("short", abs("/w"), "a", nil), sometime)
	var r reader
	h, err := r.read(long, nil)
	require.NoError(t, err)
	require.Equal(t, "secret\n", h.prompt)
	h, err = r.read(short, nil)
	require.NoError(t, err)
	require.Empty(t, h.prompt)
	require.False(t, h.spoken)
	_, err = r.read(short+"x", nil)
	require.ErrorIs(t, err, errUnreadable)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzParseStart(f *testing.F) {
	f.Add([]byte(start99("x", "/w", "title", nil)))
	f.Add([]byte(start225("x", "/w", "title", fields{"parent": "y", "lastCwd": "/v"})))
	for _, bad := range badFiles() {
		if len(bad) < 1000 {
			f.Add([]byte(bad))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := parseStart(line)
		if err != nil {
			require.True(t, errors.Is(err, errDamaged) != errors.Is(err, errForeign), "%v", err)
			return
		}
		if cwd := s.cwd(); cwd != "" {
			require.True(t, filepath.IsAbs(cwd))
			require.Equal(t, filepath.Clean(cwd), cwd)
		}
		require.True(t, utf8.ValidString((head{firstRecord: s}).title()))
	})
}

func FuzzHead(f *testing.F) {
	f.Add([]byte(start99("x", "/w", "a", nil) + turn99("a\nb")))
	f.Add([]byte("\n" + start225("x", "/w", "a", nil) + turn225("a")))
	f.Add([]byte(start225("x", "/w", "a", nil) + message("user", "text", "") + "{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r reader
		h, err := r.from(iotest.DataErrReader(bytes.NewReader(data)), nil)
		if err != nil {
			require.True(t, errors.Is(err, errDamaged) || errors.Is(err, errForeign), "%v", err)
			return
		}
		if h.prompt != "" {
			require.True(t, h.spoken)
		}
		require.LessOrEqual(t, utf8.RuneCountInString(h.title()), maxOwnTitle+len(forkMark))
	})
}
