package droid

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// maxBacklog is how many bytes of requests may wait for droid to read them.
// A wedged 0.99 reads nothing for minutes.
const maxBacklog = 64 << 20

// Errors of sending.
var (
	// ErrClosed is returned by calls that begin after Close or Kill.
	ErrClosed = errors.New("droid: client is closed")
	// ErrBacklog is returned when droid has not read its input for so long that
	// no more requests are queued.
	ErrBacklog = errors.New("droid: process does not read its input")
)

// writer owns droid's stdin. Lines are queued and written by the one goroutine
// in run, so that nobody waits for a droid that does not read.
type writer struct {
	w      io.WriteCloser
	max    int // bytes of requests in queue
	wake   chan struct{}
	failed chan struct{} // closed when a write failed
	done   chan struct{} // closed when run has ended

	mu      sync.Mutex
	queue   []*outLine
	backlog int // bytes in queue
	ending  bool
	err     error
}

type outLine struct{ data []byte }

func newWriter(w io.WriteCloser) *writer {
	return &writer{
		w:      w,
		max:    maxBacklog,
		wake:   make(chan struct{}, 1),
		failed: make(chan struct{}),
		done:   make(chan struct{}),
	}
}

// put queues a line. A line with must set is taken however long the queue is.
func (w *writer) put(data []byte, must bool) (*outLine, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	if w.ending {
		return nil, ErrClosed
	}
	if !must && w.backlog > 0 && w.backlog+len(data) > w.max {
		return nil, ErrBacklog
	}
	l := &outLine{data: data}
	w.queue = append(w.queue, l)
	w.backlog += len(data)
	w.signal()
	return l, nil
}

// withdraw takes a line back that is not yet being written.
func (w *writer) withdraw(l *outLine) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, l)
	if i < 0 {
		return false
	}
	w.queue = slices.Delete(w.queue, i, i+1)
	w.backlog -= len(l.data)
	return true
}

// finish closes stdin once the queue is written.
func (w *writer) finish() {
	w.mu.Lock()
	w.ending = true
	w.signal()
	w.mu.Unlock()
}

// abort drops the queue and closes stdin now, even while a write blocks.
func (w *writer) abort() {
	w.mu.Lock()
	w.ending, w.queue, w.backlog = true, nil, 0
	w.signal()
	w.mu.Unlock()
	w.w.Close() // the process is being ended, or is gone already
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until finish, abort or the first error. failFirst runs before anybody
// learns that run has ended, see Client.failFirst.
func (w *writer) run(failFirst func()) {
	defer close(w.done)
	defer w.w.Close() // nothing more is written; abort may have closed it
	defer failFirst()
	for range w.wake {
		for {
			l, ending := w.pop()
			if l == nil {
				if ending {
					return
				}
				break
			}
			if _, err := w.w.Write(l.data); err != nil {
				w.fail(err)
				return
			}
		}
	}
}

func (w *writer) pop() (l *outLine, ending bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil, w.ending
	}
	l = w.queue[0]
	w.queue[0] = nil
	w.queue = w.queue[1:]
	w.backlog -= len(l.data)
	return l, w.ending
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = fmt.Errorf("writing to droid: %w", err)
	w.queue, w.backlog = nil, 0
	close(w.failed)
}

// failure is the error that failed was closed for.
func (w *writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
