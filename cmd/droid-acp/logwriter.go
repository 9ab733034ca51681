package main

import (
	"io"
	"sync"
	"time"

	"droid-acp/internal/text/visible"
)

const (
	// maxLogBacklog is how many bytes of log lines wait for a slow reader. Further lines are dropped and counted.
	maxLogBacklog = 256 << 10
	// logCloseTime is how long to wait at the end for the last lines to be read.
	logCloseTime = 500 * time.Millisecond
)

// logWriter writes lines to w, in order, from its own goroutine. Write never blocks: an editor that does not read stderr, or a log file
// that is a pipe or on a dead mount, must not stop callers.
type logWriter struct {
	w    io.Writer
	lost func(n int) []byte // the line that reports n dropped ones
	wake chan struct{}      // has a token while there is work
	done chan struct{}      // closed when the last line is written

	mu      sync.Mutex
	queue   []byte // whole lines
	dropped int    // since the queue was last written
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
	// After a line was dropped, later ones are dropped until the queue is written: so the log shows where lines are missing.
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

// close accepts no more lines and waits, for a limited time, until the queue is written. It reports whether it is.
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
			_, _ = l.w.Write(lines) // an error could not be reported anywhere
		}
	}
}

// syncWriter serializes writes, and makes them safe to show. stderr needs it, since a goroutine writes the log while a command reports its
// end; so does a login, which reports during requests.
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

// mute discards all further output.
func (w *syncWriter) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.muted = true
}

// flush writes a possibly incomplete end. It waits no longer than logCloseTime, since a write to a pipe that nobody reads does not return.
func (w *syncWriter) flush() {
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = w.to.Flush() // a failure could not be reported anywhere
	}()
	select {
	case <-flushed:
	case <-time.After(logCloseTime):
	}
}
