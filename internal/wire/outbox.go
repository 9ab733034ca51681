package wire

import (
	"errors"
	"io"
	"sync"
)

// Limits of what waits in the outbox for a slow editor.
const (
	// maxLines and maxBytes are where it is full: those who have much to send stop.
	maxLines = 1024
	maxBytes = 2 << 20
	// overfullAt is how many times over these limits the gate takes no more requests.
	overfullAt = 4
	// maxBatch bounds what one Write takes of several lines, in bytes.
	maxBatch = 256 << 10
)

var errClosed = errors.New("the connection to the editor is closed")

// outbox is the one way out to the editor: an ordered queue and one goroutine that
// writes it. Texts of one frame that wait side by side are merged.
//
// Nobody who sends ever waits. What bounds the queue is that those who have much to
// send ask full before.
type outbox struct {
	w io.Writer

	mu     sync.Mutex
	change *sync.Cond // queue or closed changed
	queue  []outgoing
	bytes  int
	room   chan struct{} // what full returned; closed when there is room again
	slack  chan struct{} // the same for overfull
	closed bool
	err    error
	done   chan struct{} // the writer has ended
	failed chan struct{} // closed when a write failed: nobody reads any more
}

// outgoing is one line to be, either encoded or still a text.
type outgoing struct {
	line []byte
	text *textLine
}

func newOutbox(w io.Writer) *outbox {
	o := &outbox{w: w, done: make(chan struct{}), failed: make(chan struct{})}
	o.change = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// Write queues a copy of one whole line. It implements io.Writer for the SDK's
// connection, which makes one Write a message.
func (o *outbox) Write(line []byte) (int, error) {
	if err := o.put(append([]byte(nil), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// put queues one whole line, which is the outbox's from now on. It leaves well formed.
// The error is that of an editor that is gone.
func (o *outbox) put(line []byte) error {
	line = wellFormed(line)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.append(outgoing{line: line})
}

// append queues an item. The caller holds mu.
func (o *outbox) append(item outgoing) error {
	switch {
	case o.err != nil:
		return o.err
	case o.closed:
		return errClosed
	}
	o.queue = append(o.queue, item)
	o.bytes += item.size()
	o.change.Signal()
	return nil
}

// full returns nil while there is room, else a channel that is closed when there is
// again. Of an editor that is gone there is always room.
func (o *outbox) full() <-chan struct{} { return o.over(&o.room, 1) }

// overfull is full for what an editor asks that does not read the answers: its
// limits lie so high above that a cancel behind a few requests is not held up.
func (o *outbox) overfull() <-chan struct{} { return o.over(&o.slack, overfullAt) }

func (o *outbox) over(wait *chan struct{}, times int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.closed || len(o.queue) < times*maxLines && o.bytes < times*maxBytes {
		return nil
	}
	if *wait == nil {
		*wait = make(chan struct{})
	}
	return *wait
}

// makeRoom tells those who wait. The caller holds mu.
func (o *outbox) makeRoom() {
	for _, wait := range []*chan struct{}{&o.room, &o.slack} {
		if *wait != nil {
			close(*wait)
			*wait = nil
		}
	}
}

// close takes nothing more. The writer ends when what waits is written; done tells
// when.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.makeRoom()
	o.change.Signal()
	o.mu.Unlock()
}

// run writes what waits, a batch a Write, until the outbox is closed and empty or
// the editor takes no more.
func (o *outbox) run() {
	defer close(o.done)
	var buf []byte
	for {
		batch := o.take()
		if len(batch) == 0 {
			return
		}
		line := batch[0].line
		if len(batch) > 1 || line == nil {
			buf = buf[:0]
			for _, item := range batch {
				buf = item.appendLine(buf)
			}
			line = buf
		}
		if _, err := o.w.Write(line); err != nil {
			o.fail(err)
			return
		}
		clear(batch) // the queue goes on behind it in the same memory
		if cap(buf) > 2*maxBatch {
			buf = nil // one long text does not keep its memory
		}
	}
}

// take waits for what is to be written next: one line, or several that are not
// long. It returns nothing when the outbox is closed and empty.
func (o *outbox) take() []outgoing {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.closed {
		o.change.Wait()
	}
	n, size := 0, 0
	for n < len(o.queue) && (n == 0 || size+o.queue[n].size() <= maxBatch) {
		size += o.queue[n].size()
		n++
	}
	batch := o.queue[:n:n]
	o.queue = o.queue[n:]
	if len(o.queue) == 0 {
		o.queue = nil // and its memory is free when the batch is written
	}
	o.bytes -= size
	if len(o.queue) < maxLines && o.bytes < maxBytes {
		o.makeRoom()
	}
	return batch
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	o.err, o.queue = err, nil
	o.makeRoom()
	o.mu.Unlock()
	close(o.failed)
}

// size is what counts of an item against the limits, in bytes.
func (i outgoing) size() int {
	if i.text != nil {
		return i.text.size()
	}
	return len(i.line)
}

func (i outgoing) appendLine(buf []byte) []byte {
	if i.text != nil {
		return i.text.appendLine(buf)
	}
	return append(buf, i.line...)
}
