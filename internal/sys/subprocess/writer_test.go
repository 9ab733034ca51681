package subprocess

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func pair(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() }) // some have been
	return r, w
}

// TestPipe reads what is there, waits for more, and reports the end.
func TestPipe(t *testing.T) {
	in, out := pair(t)
	r, read := newPipeReader(in), make(chan string)
	defer r.Close()
	go func() {
		defer close(read)
		for buf := make([]byte, 8); ; {
			n, err := r.Read(buf)
			if err != nil {
				read <- err.Error()
				return
			}
			read <- string(buf[:n])
		}
	}()
	for _, text := range []string{"one", "two", "12345678"} {
		_, err := out.WriteString(text)
		require.NoError(t, err)
		require.Equal(t, text, <-read)
	}
	require.NoError(t, out.Close())
	require.Equal(t, io.EOF.Error(), <-read)
}

// TestCloseEndsReading: as that of an os.File does.
func TestCloseEndsReading(t *testing.T) {
	in, out := pair(t)
	began, ended := make(chan struct{}), make(chan error)
	r := newPipeReader(in)
	go func() {
		_, err := r.Read(make([]byte, 1))
		close(began)
		if err == nil {
			_, err = r.Read(make([]byte, 1))
		}
		ended <- err
	}()
	_, err := out.WriteString("x")
	require.NoError(t, err)
	<-began
	require.NoError(t, r.Close())
	require.ErrorIs(t, <-ended, os.ErrClosed)
	_, err = r.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, r.Close(), os.ErrClosed)
}

// TestWriter writes what there is room for without waiting, on a pipe that would wait.
func TestWriter(t *testing.T) {
	in, out := pair(t)
	out.Fd() // makes writing wait in the system, as on the stdout of an editor
	w, data := NewWriter(out), bytes.Repeat([]byte("x"), 1<<20)
	n := w.WriteNow(data)
	require.Less(t, n, len(data))
	require.Zero(t, w.WriteNow(data[n:]), "it is full")
	read := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(in)
		read <- all
	}()
	_, err := w.Write(data[n:])
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.Equal(t, len(data), len(<-read))
	require.Zero(t, w.WriteNow(data), "nobody reads")
	_, err = w.Write(data)
	require.Error(t, err)
}

// TestNotAPipe: another file is read and written as ever.
func TestNotAPipe(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	w := NewWriter(f)
	text := []byte("text")
	n := w.WriteNow(text)
	_, err = w.Write(text[n:])
	require.NoError(t, err)
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	r := newPipeReader(f)
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "text", string(got))
	require.NoError(t, r.Close())
}
