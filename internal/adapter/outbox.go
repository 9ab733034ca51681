package adapter

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// Limits of what waits in the outbox for a slow editor. At either one, senders
// block, and so at last droid itself does.
const (
	maxQueuedLines = 1024
	maxQueuedBytes = 32 << 20
	// maxMerged bounds one merged text chunk, in bytes.
	maxMerged = 64 << 10
)

var errOutboxClosed = errors.New("the editor's end of the connection is closed")

// outbox is the one way out to the editor: an ordered, bounded queue and one
// goroutine that writes it. Text chunks of one message that wait side by side
// are merged, so a slow editor gets fewer and longer chunks.
type outbox struct {
	w io.Writer

	mu     sync.Mutex
	change *sync.Cond // queue, bytes, closed or err changed
	queue  []outgoing
	bytes  int
	ending bool // senders no longer wait for room
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
	text   []byte
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
	if err := o.put(outgoing{line: append([]byte(nil), line...)}, len(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// sendText queues a text chunk, or lengthens the one that waits last.
func (o *outbox) sendText(prefix, text string) {
	o.mu.Lock()
	if n := len(o.queue); n > 0 {
		last := o.queue[n-1].text
		if last != nil && last.prefix == prefix && len(last.text)+len(text) <= maxMerged {
			last.text = append(last.text, text...)
			o.bytes += len(text)
			o.mu.Unlock()
			return
		}
	}
	o.mu.Unlock()
	// The error is that of a closed outbox; a session learns of it when it ends.
	_ = o.put(outgoing{text: &textChunk{prefix: prefix, text: []byte(text)}}, len(text))
}

func (o *outbox) put(item outgoing, size int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && !o.ending && o.err == nil && (len(o.queue) >= maxQueuedLines || o.bytes >= maxQueuedBytes) {
		o.change.Wait()
	}
	switch {
	case o.err != nil:
		return o.err
	case o.closed:
		return errOutboxClosed
	}
	o.queue = append(o.queue, item)
	o.bytes += size
	o.change.Broadcast()
	return nil
}

// unbound lets senders pass at once, so that sessions can end although the
// editor reads nothing. What they still say is little.
func (o *outbox) unbound() {
	o.mu.Lock()
	o.ending = true
	o.change.Broadcast()
	o.mu.Unlock()
}

// close takes nothing more. The writer ends when what waits is written; done
// tells when.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.change.Broadcast()
	o.mu.Unlock()
}

// run writes what waits, all of it in one Write, until the outbox is closed and
// empty or the editor takes no more.
func (o *outbox) run() {
	defer close(o.done)
	var buf []byte
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.change.Wait()
		}
		items := o.queue
		o.queue, o.bytes = nil, 0
		o.change.Broadcast()
		o.mu.Unlock()
		if len(items) == 0 {
			return
		}
		buf = buf[:0]
		for _, item := range items {
			buf = item.appendLine(buf)
		}
		if _, err := o.w.Write(buf); err != nil {
			o.fail(err)
			return
		}
		if cap(buf) > 1<<20 {
			buf = nil // one huge update does not keep its memory
		}
	}
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	o.err, o.queue = err, nil
	o.change.Broadcast()
	o.mu.Unlock()
	close(o.failed)
}

func (i outgoing) appendLine(buf []byte) []byte {
	if i.text == nil {
		return append(buf, i.line...)
	}
	quoted, err := json.Marshal(string(i.text.text))
	if err != nil {
		return buf // a string always encodes
	}
	buf = append(buf, i.text.prefix...)
	buf = append(buf, quoted...)
	return append(buf, textChunkSuffix...)
}
