package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// gatedWriter writes nothing before it is opened.
type gatedWriter struct {
	open chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer
}

func (w *gatedWriter) Write(p []byte) (int, error) {
	<-w.open
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func lostLine(n int) []byte { return fmt.Appendf(nil, "%d lost\n", n) }

func TestLogWriterNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{open: make(chan struct{})}
		l := newLogWriter(w, lostLine)
		const size, all = 100, 10_000
		for i := range all {
			n, err := fmt.Fprintf(l, "%*d\n", size-1, i)
			require.NoError(t, err)
			require.Equal(t, size, n)
			if i == 0 {
				synctest.Wait() // the first line is being written
			}
		}
		require.False(t, l.close(), "the end does not wait for ever either")
		close(w.open)
		<-l.done
		lines := strings.Split(strings.TrimSuffix(w.out.String(), "\n"), "\n")
		kept := len(lines) - 1
		require.Equal(t, 1+maxLogBacklog/size, kept, "what is kept is bounded")
		for i, line := range lines[:kept] {
			require.Equal(t, fmt.Sprint(i), strings.TrimSpace(line))
		}
		require.Equal(t, fmt.Sprintf("%d lost", all-kept), lines[kept], "what is missing is told where it is missing")
	})
}

func TestLogWriterGoesOnAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{open: make(chan struct{})}
		l := newLogWriter(w, lostLine)
		huge := strings.Repeat("x", maxLogBacklog+1)
		for _, line := range []string{"one\n", huge, "two\n"} {
			_, _ = l.Write([]byte(line))
		}
		close(w.open)
		synctest.Wait()
		_, _ = l.Write([]byte("three\n"))
		require.True(t, l.close())
		require.Equal(t, "one\n2 lost\nthree\n", w.out.String())
	})
}
