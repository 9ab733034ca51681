package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"

	"droid-acp/internal/jsonrpc/flight"
)

// Limits of what is queued for a slow peer.
const (
	// maxLines and maxBytes make the outbox full: producers of many messages pause.
	maxLines = 1024
	maxBytes = 2 << 20
	// overfullAt is the multiple of these limits at which it is overfull.
	overfullAt = 4
	// maxBatch bounds the bytes that one Write takes of several lines.
	maxBatch = 256 << 10
)

// ErrClosed is the error of Put on a closed outbox.
var ErrClosed = errors.New("the way out is closed")

// Outbox is the outgoing queue of a connection, written by one goroutine. Adjacent texts of the same frame are merged.
//
// Sending never blocks. The queue is bounded because producers of many messages check Full or Size first.
type Outbox struct {
	w     io.Writer
	now   nowWriter // w if it supports this, like child.Writer
	batch int
	limit int // limit in bytes, see maxBytes

	flight *flight.Connection // nil without a recorder

	mu           sync.Mutex
	change       *sync.Cond // queue or closed has changed
	queue        []*Line
	busy         bool // Run is writing lines that it has taken
	bytes        int
	room         chan struct{} // returned by Full; closed when there is room again
	overfullRoom chan struct{} // the same for Overfull
	closed       bool
	err          error
	done         chan struct{} // closed when Run has returned
	failed       chan struct{} // closed when a write has failed: the peer no longer reads
}

// nowWriter writes without blocking and returns how many bytes were written.
type nowWriter interface{ WriteNow(p []byte) (n int) }

// NewOutbox creates an outbox that writes to w once Run is called. One Write contains several lines up to batch bytes, or one line of any
// length.
func NewOutbox(w io.Writer, batch int) *Outbox {
	o := &Outbox{batch: batch, limit: maxBytes, done: make(chan struct{}), failed: make(chan struct{})}
	o.change = sync.NewCond(&o.mu)
	o.SetWriter(w)
	return o
}

// SetWriter sets the writer before Run is called: lines may be queued for a peer that has not connected yet.
func (o *Outbox) SetWriter(w io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = w
	o.now, _ = w.(nowWriter)
}

// Record makes the outbox add the lines that it writes to a flight recorder. It is called before Run.
func (o *Outbox) Record(c *flight.Connection) { o.flight = c }

// Put queues one complete line and takes ownership of it. It fails with the write error if the peer no longer reads, or with ErrClosed.
func (o *Outbox) Put(data []byte) (*Line, error) {
	line := &Line{data: data}
	o.mu.Lock()
	defer o.mu.Unlock()
	return line, o.append(line)
}

// PutNow is Put for callers that keep data. If nothing is queued, it first writes what fits without blocking, so that Run need not be
// woken.
func (o *Outbox) PutNow(data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	whole := data
	if o.now != nil && !o.busy && len(o.queue) == 0 && !o.closed && o.err == nil {
		if data = data[o.now.WriteNow(data):]; len(data) == 0 {
			o.flight.Add(flight.Out, flight.Series{}, whole)
			return nil
		}
	}
	return o.append(&Line{data: bytes.Clone(data)})
}

// append queues a line. The caller holds mu.
func (o *Outbox) append(line *Line) error {
	switch {
	case o.err != nil:
		return o.err
	case o.closed:
		return ErrClosed
	}
	o.queue = append(o.queue, line)
	o.bytes += line.size()
	o.change.Signal()
	return nil
}

// Remove removes a line that is not yet being written, and reports whether it could.
func (o *Outbox) Remove(line *Line) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.queue, line)
	if i < 0 {
		return false
	}
	o.queue = slices.Delete(o.queue, i, i+1)
	o.bytes -= line.size()
	o.makeRoom()
	return true
}

// Size returns the number of queued bytes.
func (o *Outbox) Size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// Full returns nil while there is room, else a channel that is closed when there is room again. The outbox is full at 1024 lines or 2 MiB.
// If the peer is gone, there is always room.
func (o *Outbox) Full() <-chan struct{} { return o.over(&o.room, 1) }

// Overfull is Full with limits that are four times as high: for handling requests of a peer that does not read the responses, so that a
// cancellation behind a few requests is not delayed, and for producers that something waits for.
func (o *Outbox) Overfull() <-chan struct{} { return o.over(&o.overfullRoom, overfullAt) }

func (o *Outbox) over(wait *chan struct{}, times int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.closed || len(o.queue) < times*maxLines && o.bytes < times*o.limit {
		return nil
	}
	if *wait == nil {
		*wait = make(chan struct{})
	}
	return *wait
}

// makeRoom wakes waiters if there is room. The caller holds mu.
func (o *Outbox) makeRoom() {
	if o.err == nil && !o.closed && (len(o.queue) >= maxLines || o.bytes >= o.limit) {
		return
	}
	for _, wait := range []*chan struct{}{&o.room, &o.overfullRoom} {
		if *wait != nil {
			close(*wait)
			*wait = nil
		}
	}
}

// Close makes the outbox reject new lines. Run returns, and closes Done, once the queue is written.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.makeRoom()
	o.change.Signal()
}

// Abort is Close, but drops the queue.
func (o *Outbox) Abort() {
	o.mu.Lock()
	o.queue, o.bytes = nil, 0
	o.mu.Unlock()
	o.Close()
}

// Done is closed when Run has returned.
func (o *Outbox) Done() <-chan struct{} { return o.done }

// Failed is closed when a write has failed, so the peer no longer reads; see Err.
func (o *Outbox) Failed() <-chan struct{} { return o.failed }

// Err returns the error of the failed write, or nil.
func (o *Outbox) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Run writes the queue, one batch per Write, until the outbox is closed and empty or a write fails.
func (o *Outbox) Run() {
	defer close(o.done)
	var buf []byte
	for {
		batch := o.take()
		if len(batch) == 0 {
			return
		}
		for _, line := range batch {
			o.record(line)
		}
		data := batch[0].data
		if len(batch) > 1 || data == nil {
			buf = buf[:0]
			for _, line := range batch {
				buf = line.appendTo(buf)
			}
			data = buf
		}
		if _, err := o.w.Write(data); err != nil {
			o.fail(err)
			return
		}
		clear(batch) // the rest of the queue shares the array
		if cap(buf) > 2*maxBatch {
			buf = nil // do not retain the memory of one long text
		}
	}
}

func (o *Outbox) record(l *Line) {
	if l.data != nil {
		o.flight.Add(flight.Out, flight.Series{}, l.data)
		return
	}
	s := flight.Series{Kind: l.frame.Before, ID: l.frame.After}
	if !o.flight.More(flight.Out, s, 1, l.size()) {
		o.flight.Add(flight.Out, s, l.appendTo(nil))
		o.flight.More(flight.Out, s, 0, l.size())
	}
}

// take waits for the next batch: one line, or several short ones. It returns nil when the outbox is closed and empty.
func (o *Outbox) take() []*Line {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	for len(o.queue) == 0 && !o.closed {
		o.change.Wait()
	}
	n, size := 0, 0
	for n < len(o.queue) && (n == 0 || size+o.queue[n].size() <= o.batch) {
		size += o.queue[n].size()
		n++
	}
	batch := o.queue[:n:n]
	o.queue = o.queue[n:]
	if len(o.queue) == 0 {
		o.queue = nil // free the array once the batch is written
	}
	o.bytes -= size
	o.busy = n > 0
	o.makeRoom()
	return batch
}

func (o *Outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.queue, o.bytes = err, nil, 0
	o.makeRoom()
	close(o.failed)
}
