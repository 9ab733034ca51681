package adapter

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"unicode/utf8"
)

// Limits of what waits in the outbox for a slow editor. At either one it is full:
// sessions then read no more of droid, and so at last droid waits.
const (
	maxQueuedLines = 1024
	maxQueuedBytes = 2 << 20
	// maxMerged bounds one merged text chunk, in bytes.
	maxMerged = 64 << 10
	// maxBatch bounds what one Write takes of several lines, in bytes.
	maxBatch = 256 << 10
	// crowdedAt is how many times over the limits the gate takes no more requests.
	crowdedAt = 4
)

var errOutboxClosed = errors.New("the editor's end of the connection is closed")

// outbox is the one way out to the editor: an ordered queue and one goroutine
// that writes it. Text chunks of one message that wait side by side are merged,
// so a slow editor gets fewer and longer chunks.
//
// Nobody who sends ever waits, so that a session hears a cancel also while the
// editor reads nothing. What bounds the queue is that its senders ask it first:
// a session reads an event of droid, or replays a message of its history, only
// while full says that there is room.
type outbox struct {
	w io.Writer

	mu     sync.Mutex
	change *sync.Cond // queue or closed changed
	queue  []outgoing
	bytes  int
	room   chan struct{} // closed when there is room again; nil while there is
	hall   chan struct{} // the same for crowded
	closed bool
	err    error
	done   chan struct{} // the writer has ended
	failed chan struct{} // closed when a write failed: nobody reads any more
}

// outgoing is one line to be, either encoded or still a text chunk.
type outgoing struct {
	line []byte
	text *textChunk
}

// textChunk is an agent_message_chunk or agent_thought_chunk. prefix is the
// encoded line up to the text; chunks with the same prefix belong together.
type textChunk struct {
	prefix string
	text   string
	merged []byte // the text, once another one was added to it
}

const textChunkSuffix = "}}}}\n"

func newOutbox(w io.Writer) *outbox {
	o := &outbox{w: w, done: make(chan struct{}), failed: make(chan struct{})}
	o.change = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// Write queues one whole line. It implements io.Writer for the SDK's
// connection, which makes one Write a message.
func (o *outbox) Write(line []byte) (int, error) {
	if err := o.put(append([]byte(nil), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// put queues one whole line, which is the outbox's from now on. The error is
// that of an editor that is gone.
func (o *outbox) put(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.append(outgoing{line: line}, len(line))
}

// sendText queues a text chunk, or lengthens the one that waits last. A long text
// becomes several, which are encoded one by one when they are written. Of an editor
// that is gone its sender learns by its own end.
func (o *outbox) sendText(prefix, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.queue); n > 0 {
		last := o.queue[n-1].text
		if last != nil && last.prefix == prefix && last.size()+len(text) <= maxMerged {
			last.add(text)
			o.bytes += len(text)
			return
		}
	}
	for len(text) > maxMerged {
		n := maxMerged
		for n > maxMerged-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		_ = o.append(outgoing{text: &textChunk{prefix: prefix, text: text[:n]}}, n)
		text = text[n:]
	}
	_ = o.append(outgoing{text: &textChunk{prefix: prefix, text: text}}, len(text))
}

func (c *textChunk) size() int { return max(len(c.text), len(c.merged)) }

func (c *textChunk) add(text string) {
	if c.merged == nil {
		c.merged = append(make([]byte, 0, 2*(len(c.text)+len(text))), c.text...)
	}
	c.merged = append(c.merged, text...)
}

// append queues an item. The caller holds mu.
func (o *outbox) append(item outgoing, size int) error {
	switch {
	case o.err != nil:
		return o.err
	case o.closed:
		return errOutboxClosed
	}
	o.queue = append(o.queue, item)
	o.bytes += size
	o.change.Signal()
	return nil
}

// full returns nil while there is room, else a channel that is closed when there
// is again. Of an editor that is gone there is always room.
func (o *outbox) full() <-chan struct{} { return o.over(&o.room, 1) }

// crowded is full for what an editor asks that does not read the answers: its
// limits lie so high above that a cancel behind a few requests is not held up.
func (o *outbox) crowded() <-chan struct{} { return o.over(&o.hall, crowdedAt) }

func (o *outbox) over(wait *chan struct{}, times int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.closed || len(o.queue) < times*maxQueuedLines && o.bytes < times*maxQueuedBytes {
		return nil
	}
	if *wait == nil {
		*wait = make(chan struct{})
	}
	return *wait
}

// makeRoom tells those who wait. The caller holds mu.
func (o *outbox) makeRoom() {
	for _, wait := range []*chan struct{}{&o.room, &o.hall} {
		if *wait != nil {
			close(*wait)
			*wait = nil
		}
	}
}

// close takes nothing more. The writer ends when what waits is written; done
// tells when.
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
			buf = nil // one long chunk does not keep its memory
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
	if len(o.queue) < maxQueuedLines && o.bytes < maxQueuedBytes {
		o.makeRoom()
	}
	return batch
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	o.err, o.queue, o.bytes = err, nil, 0
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
	if i.text == nil {
		return append(buf, i.line...)
	}
	text := i.text.text
	if i.text.merged != nil {
		text = string(i.text.merged)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return buf // a string always encodes
	}
	buf = append(buf, i.text.prefix...)
	buf = append(buf, quoted...)
	return append(buf, textChunkSuffix...)
}
