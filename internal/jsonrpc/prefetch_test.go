package jsonrpc

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

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
