package main

import (
	"sync"

	"droid-acp/internal/text/visible"
)

// inTurn takes one write after the other, and makes it safe to show. stderr needs it: the log is written by a
// goroutine of its own while a command tells how it ended; and a login, which tells while it asks.
type inTurn struct {
	mu    sync.Mutex
	to    *visible.Stream
	muted bool
}

func (w *inTurn) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.muted {
		return len(p), nil
	}
	return w.to.Write(p)
}

// mute has all that is written from now on go nowhere.
func (w *inTurn) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muted = true
}

// flush writes what may be incomplete.
func (w *inTurn) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.to.Flush() // there is nowhere to say that it failed
}
