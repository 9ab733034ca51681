package main

import (
	"io"
	"sync"
)

// inTurn takes one write after the other. stderr needs it: the log is written by a
// goroutine of its own while a command tells how it ended.
type inTurn struct {
	mu sync.Mutex
	to io.Writer
}

func (w *inTurn) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
