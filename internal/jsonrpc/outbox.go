package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
)

// Limits of what waits in the outbox for a slow peer.
const (
	// maxLines and maxBytes are where it is full: those who have much to send stop.
	maxLines = 1024
	maxBytes = 2 << 20
	// overfullAt is how many times over these limits no more requests take effect.
	overfullAt = 4
	// maxBatch bounds what one Write takes of several lines, in bytes.
	maxBatch = 256 << 10
)

// ErrClosed is why an outbox takes no more lines.
var ErrClosed = errors.New("the way out is closed")

// Outbox is the one way out to a peer: an ordered queue and one goroutine that writes
// it. Texts of one frame that wait side by side are merged.
//
// Nobody who sends ever waits. What bounds the queue is that those who have much to
// send ask Full before, or Size.
type Outbox struct {
	w     io.Writer
	now   nowWriter // w, where it is one, as a child.Writer is
	batch int
	most  int // bytes, see maxBytes

	mu     sync.Mutex
	change *sync.Cond // queue or closed changed
	queue  []*Line
	busy   bool // Run has taken what it has not written yet
	bytes  int
	room   chan struct{} // what Full returned; closed when there is room again
	slack  chan struct{} // the same for overfull
	closed bool
	err    error
	done   chan struct{} // Run has returned
	failed chan struct{} // closed when a write failed: nobody reads any more
}

// nowWriter writes what there is room for at once, and returns how much that was.
type nowWriter interface{ WriteNow(p []byte) (n int) }

// NewOutbox makes an outbox that writes to w, once its Run is called. One Write has
// several lines up to batch bytes, or one line of any length.
func NewOutbox(w io.Writer, batch int) *Outbox {
	o := &Outbox{batch: batch, most: maxBytes, done: make(chan struct{}), failed: make(chan struct{})}
	o.change = sync.NewCond(&o.mu)
	o.To(w)
	return o
}

// To says where Run writes, before it is called: lines may be queued for a peer that is not
// there yet.
func (o *Outbox) To(w io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = w
	o.now, _ = w.(nowWriter)
}

// Put queues one whole line, which is the outbox's from now on. The error is that of a
// peer that reads no more, or ErrClosed.
func (o *Outbox) Put(data []byte) (*Line, error) {
	line := &Line{data: data}
	o.mu.Lock()
	defer o.mu.Unlock()
	return line, o.append(line)
}

// PutNow is Put for a caller who keeps data. Where nothing waits, it has written what the
// peer has room for when it returns, and Run need not be woken for that.
func (o *Outbox) PutNow(data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now != nil && !o.busy && len(o.queue) == 0 && !o.closed && o.err == nil {
		if data = data[o.now.WriteNow(data):]; len(data) == 0 {
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

// Withdraw takes a line back that is not yet being written. It reports whether it could.
func (o *Outbox) Withdraw(line *Line) bool {
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

// Size is how many bytes wait to be written.
func (o *Outbox) Size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// Full returns nil while there is room, else a channel that is closed when there is
// again. At the limit wait 1024 lines or 2 MiB. Of a peer that is gone there is always
// room.
func (o *Outbox) Full() <-chan struct{} { return o.over(&o.room, 1) }

// overfull is Full for what a peer asks that does not read the answers: its limits lie
// so high above that a cancel behind a few requests is not held up.
func (o *Outbox) overfull() <-chan struct{} { return o.over(&o.slack, overfullAt) }

func (o *Outbox) over(wait *chan struct{}, times int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.closed || len(o.queue) < times*maxLines && o.bytes < times*o.most {
		return nil
	}
	if *wait == nil {
		*wait = make(chan struct{})
	}
	return *wait
}

// makeRoom tells those who wait, if there is room. The caller holds mu.
func (o *Outbox) makeRoom() {
	if o.err == nil && !o.closed && (len(o.queue) >= maxLines || o.bytes >= o.most) {
		return
	}
	for _, wait := range []*chan struct{}{&o.room, &o.slack} {
		if *wait != nil {
			close(*wait)
			*wait = nil
		}
	}
}

// Close takes nothing more. Run returns when what waits is written; Done tells when.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.makeRoom()
	o.change.Signal()
}

// Abort is Close, but drops what waits.
func (o *Outbox) Abort() {
	o.mu.Lock()
	o.queue, o.bytes = nil, 0
	o.mu.Unlock()
	o.Close()
}

// Done is closed when Run has returned.
func (o *Outbox) Done() <-chan struct{} { return o.done }

// Failed is closed when a write has failed, so that nobody reads any more; Err is why.
func (o *Outbox) Failed() <-chan struct{} { return o.failed }

// Err is the error of the write that failed, nil if none has.
func (o *Outbox) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Run writes what waits, a batch a Write, until the outbox is closed and empty or the
// peer takes no more.
func (o *Outbox) Run() {
	defer close(o.done)
	var buf []byte
	for {
		batch := o.take()
		if len(batch) == 0 {
			return
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
		clear(batch) // the queue goes on behind it in the same memory
		if cap(buf) > 2*maxBatch {
			buf = nil // one long text does not keep its memory
		}
	}
}

// take waits for what is to be written next: one line, or several that are not
// long. It returns nothing when the outbox is closed and empty.
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
		o.queue = nil // and its memory is free when the batch is written
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
