package main

import (
	"io"
	"sync"
	"time"

	"droid-acp/internal/text/visible"
)

const (
	// maxLogBacklog is how many bytes of log lines wait for a reader that is slow.
	// What comes then is dropped and counted.
	maxLogBacklog = 256 << 10
	// logCloseTime is how long the end waits for the last lines to be read.
	logCloseTime = 500 * time.Millisecond
)

// logWriter passes lines on to w, in order, from a goroutine of its own. Write
// never waits: an editor that does not read stderr, or a log file that is a pipe
// or on a dead mount, must not stop those who log.
type logWriter struct {
	w    io.Writer
	lost func(n int) []byte // the line that tells of n dropped ones
	wake chan struct{}      // has a token while there is something to do
	done chan struct{}      // closed when the last line is written

	mu      sync.Mutex
	queue   []byte // whole lines
	dropped int    // lines, since the queue was written last
	closed  bool
}

func newLogWriter(w io.Writer, lost func(n int) []byte) *logWriter {
	l := &logWriter{w: w, lost: lost, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

// Write queues one line, or drops it. It never fails.
func (l *logWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Once a line was dropped, so are the later ones until the queue is written:
	// then it is known where lines are missing.
	if l.dropped > 0 || l.closed || len(l.queue)+len(line) > maxLogBacklog {
		l.dropped++
		return len(line), nil
	}
	l.queue = append(l.queue, line...)
	l.signal()
	return len(line), nil
}

// Sync implements zapcore.WriteSyncer.
func (l *logWriter) Sync() error { return nil }

// close takes no more lines and waits until those that wait are written, but not
// for ever. It reports whether they are.
func (l *logWriter) close() bool {
	l.mu.Lock()
	l.closed = true
	l.signal()
	l.mu.Unlock()
	select {
	case <-l.done:
		return true
	case <-time.After(logCloseTime):
		return false
	}
}

func (l *logWriter) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *logWriter) run() {
	defer close(l.done)
	for range l.wake {
		for {
			l.mu.Lock()
			lines, dropped, closed := l.queue, l.dropped, l.closed
			l.queue, l.dropped = nil, 0
			l.mu.Unlock()
			if dropped > 0 {
				lines = append(lines, l.lost(dropped)...)
			}
			if len(lines) == 0 {
				if closed {
					return
				}
				break
			}
			_, _ = l.w.Write(lines) // where a log cannot be written, there is nowhere to say so
		}
	}
}

// syncWriter takes one write after the other, and makes it safe to show. stderr needs it: the log is written by a
// goroutine of its own while a command tells how it ended; and a login, which tells while it asks.
type syncWriter struct {
	mu    sync.Mutex
	to    *visible.SafeWriter
	muted bool
}

func (w *syncWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.muted {
		return len(p), nil
	}
	return w.to.Write(p)
}

// mute has all that is written from now on go nowhere.
func (w *syncWriter) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muted = true
}

// flush writes what may be incomplete.
func (w *syncWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.to.Flush() // there is nowhere to say that it failed
}
