package via

import (
	"errors"
	"io"
	"time"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/subprocess"
)

// endPatience is how long to wait for a far side that takes no more messages once the editor has gone: the editor reads no answers, or the
// connection hangs.
const endPatience = 2 * time.Second

// direction is one of the two directions in which lines pass.
type direction struct {
	ahead      *jsonrpc.PrefetchReader
	senderGone chan struct{} // closed when its sender is found to have gone
	ended      chan struct{} // closed at the end of its input
	tooLong    bool          // the input ended by a line longer than max; valid after the end
}

func newDirection(in io.Reader) *direction {
	w := &direction{senderGone: make(chan struct{}), ended: make(chan struct{})}
	w.ahead = jsonrpc.NewPrefetchReader(in, func() { close(w.senderGone) })
	return w
}

// pump reads lines until the end, or until one is too long. It pauses while the outbox is full. Whatever hear returns is sent, together
// with the lines that have arrived behind it.
func (r *Relay) pump(w *direction, out *jsonrpc.Outbox, hear func(line []byte) []byte) {
	go func() {
		defer close(w.ended)
		lines := jsonrpc.NewLines(w.ahead, r.max, func([]byte) {})
		var waiting []byte // whole lines to be sent
		for {
			line, err := lines.Next()
			if err != nil {
				putNow(out, waiting)
				w.tooLong = errors.As(err, new(*jsonrpc.TooLongError))
				return
			}
			switch line = hear(line); {
			case len(line) > relay.Batch: // it has separate memory, with room for its line end
				putNow(out, waiting)
				put(out, append(line, '\n'))
				waiting = waiting[:0]
			case line != nil:
				waiting = append(append(waiting, line...), '\n')
			}
			if lines.Buffered() && len(waiting) < relay.Batch {
				continue
			}
			putNow(out, waiting)
			waiting = waiting[:0]
			full := out.Full()
			if full == nil {
				continue
			}
			if out == r.far { // the far side's last lines may wait for a slow editor
				w.ahead.Prefetch()
			}
			select {
			case <-full:
			case <-w.senderGone:
				if !subprocess.WaitTimeout(full, endPatience) {
					return
				}
			}
		}
	}()
}

// put sends a line, which the outbox owns then. A receiver that is gone is noticed elsewhere.
func put(out *jsonrpc.Outbox, line []byte) { _, _ = out.Put(line) }

// putNow sends lines, if there are any. The caller keeps their memory.
func putNow(out *jsonrpc.Outbox, lines []byte) {
	if len(lines) > 0 {
		_ = out.PutNow(lines) // as in put
	}
}
