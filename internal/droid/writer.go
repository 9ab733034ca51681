package droid

import (
	"errors"
	"io"

	"droid-acp/internal/jsonrpc"
)

// maxBacklog is how many bytes of requests may wait for droid to read them.
// A wedged 0.99 reads nothing for minutes (quirk 25).
const maxBacklog = 64 << 20

// Errors of sending.
var (
	// ErrClosed is returned by calls that begin after Close or Kill.
	ErrClosed = errors.New("droid: client is closed")
	// ErrBacklog is returned when droid has not read its input for so long that
	// no more requests are queued.
	ErrBacklog = errors.New("droid: process does not read its input")
)

// writer is droid's stdin. Nobody waits for a droid that does not read.
type writer struct {
	*jsonrpc.Outbox
	stdin io.WriteCloser
	max   int // bytes of requests that wait
}

func newWriter(stdin io.WriteCloser) *writer {
	return &writer{jsonrpc.NewOutbox(stdin, 0), stdin, maxBacklog}
}

// isFull reports that a request would wait behind too much. Answers to droid always may.
func (w *writer) isFull(data []byte) bool {
	waits := w.Size()
	return waits > 0 && waits+len(data) > w.max
}

// run writes until Close, abort or the first error, and closes stdin. failFirst runs
// before anybody learns that, see Client.failFirst.
func (w *writer) run(failFirst func()) {
	defer w.stdin.Close() // nothing more is written; abort may have closed it
	defer failFirst()
	w.Run()
}

// abort drops what waits and closes stdin now, even while a write blocks.
func (w *writer) abort() {
	w.Abort()
	w.stdin.Close() // the process is being ended, or is gone already
}
