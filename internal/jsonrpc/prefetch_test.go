package jsonrpc

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// countingReader counts the reads that have begun.
type countingReader struct {
	io.Reader
	begun atomic.Int32
}

func (r *countingReader) Read(p []byte) (int, error) {
	r.begun.Add(1)
	return r.Reader.Read(p)
}

// A read that waits for data gets the next one: Prefetch does not take it.
func TestPrefetchDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		counted := &countingReader{Reader: in}
		a := NewPrefetchReader(counted, func() {})
		for range 2 {
			read := make(chan string)
			go func() {
				buf := make([]byte, 8)
				n, _ := a.Read(buf)
				read <- string(buf[:n])
			}()
			synctest.Wait()
			a.Prefetch()
			synctest.Wait()
			_, err := out.Write([]byte("text"))
			require.NoError(t, err)
			require.Equal(t, "text", <-read)
		}
		require.EqualValues(t, 2, counted.begun.Load())
		_ = out.Close()
	})
}

// A read while Prefetch waits for data gets that data, and later the end that was read ahead.
func TestReadDuringAPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		a := NewPrefetchReader(in, func() {})
		a.Prefetch()
		synctest.Wait()
		read := make(chan string)
		buf := make([]byte, 8)
		go func() {
			n, _ := a.Read(buf)
			read <- string(buf[:n])
		}()
		synctest.Wait()
		_, err := out.Write([]byte("text"))
		require.NoError(t, err)
		require.Equal(t, "text", <-read)
		a.Prefetch()
		_ = out.Close()
		synctest.Wait()
		_, err = a.Read(buf)
		require.ErrorIs(t, err, io.EOF)
	})
}

// IdleTime is the time since a read began that waits.
func TestIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		a := NewPrefetchReader(in, func() {})
		require.Zero(t, a.IdleTime())
		for range 2 {
			read := make(chan error)
			go func() { _, err := a.Read(make([]byte, 1)); read <- err }()
			time.Sleep(5 * time.Second)
			require.Equal(t, 5*time.Second, a.IdleTime()+1) // the nanosecond tells a read at the beginning from none
			_, err := out.Write([]byte("x"))
			require.NoError(t, err)
			require.NoError(t, <-read)
			require.Zero(t, a.IdleTime())
			time.Sleep(time.Second)
			require.Zero(t, a.IdleTime(), "nobody reads")
		}
	})
}
