package main

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/text/visible"
)

// The end does not wait for a write to a stderr that nobody reads.
func TestFlushOfAFullStderr(t *testing.T) {
	t.Parallel()
	w := &syncWriter{to: visible.NewWriter(io.Discard)}
	flushed := make(chan struct{})
	w.mu.Lock() // as a write that does not return
	go func() {
		defer close(flushed)
		w.flush()
	}()
	select {
	case <-flushed:
	case <-time.After(20 * time.Second):
		require.Fail(t, "it waits")
	}
	w.mu.Unlock()
}
