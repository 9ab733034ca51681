package droid

import (
	"errors"
	"io"

	"droid-acp/internal/jsonrpc"
)

// maxBacklog is how many bytes of requests may wait for droid to read them. A stuck 0.99 reads nothing for minutes (quirk 25).
const maxBacklog = 64 << 20

// Errors of sending.
var (
	// ErrClosed is returned by calls that begin after Close or Kill.
	ErrClosed = errors.New("droid: client is closed")
	// ErrBacklog is returned if droid has not read its input for so long that no more requests are queued.
	ErrBacklog = errors.New("droid: process does not read its input")
)

// writer is droid's stdin. Callers do not wait for a droid that does not read.
type writer struct {
	*jsonrpc.Outbox
	stdin io.WriteCloser
	max   int // maximum bytes of waiting requests
}

func newWriter(stdin io.WriteCloser) *writer {
	return &writer{jsonrpc.NewOutbox(stdin, 0), stdin, maxBacklog}
}

// isFull reports whether a request would wait behind too much. Answers to droid may always be queued.
func (w *writer) isFull(data []byte) bool {
	waits := w.Size()
	return waits > 0 && waits+len(data) > w.max
}

// run writes until Close, abort or the first error, and closes stdin. failFirst runs before anything else learns of the end, see
// Client.failFirst.
func (w *writer) run(failFirst func()) {
	defer w.stdin.Close() // nothing more is written; abort may have closed it
	defer failFirst()
	w.Run()
}

// abort drops the queue and closes stdin at once, even during a blocked write.
func (w *writer) abort() {
	w.Abort()
	w.stdin.Close() // the process is being ended, or has exited
}
