package via

import (
	"errors"
	"io"
	"time"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/subprocess"
)

// endPatience is how long the editor may have gone, and the far side take nothing of what it said before, until that is
// given up: the editor reads no answers, or the line hangs.
const endPatience = 2 * time.Second

// direction is one of the two on which lines pass.
type direction struct {
	ahead      *jsonrpc.PrefetchReader
	senderGone chan struct{} // closed when who says it is found to have gone
	ended      chan struct{} // closed when nothing more is heard
	tooLong    bool          // since a line is longer than max; for who has seen the end
}

func newDirection(in io.Reader) *direction {
	w := &direction{senderGone: make(chan struct{}), ended: make(chan struct{})}
	w.ahead = jsonrpc.NewPrefetchReader(in, func() { close(w.senderGone) })
	return w
}

// pump hears lines until there are no more, or one is too long. It hears none while the way out is full. What
// hear returns goes that way, together with what is there already behind it.
func (r *Relay) pump(w *direction, out *jsonrpc.Outbox, hear func(line []byte) []byte) {
	go func() {
		defer close(w.ended)
		lines := jsonrpc.NewLines(w.ahead, r.max, func([]byte) {})
		var waiting []byte // whole lines on the way out
		for {
			line, err := lines.Next()
			if err != nil {
				putNow(out, waiting)
				w.tooLong = errors.As(err, new(*jsonrpc.TooLongError))
				return
			}
			switch line = hear(line); {
			case len(line) > relay.Batch: // it is memory of its own, with room for its end
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
			if out == r.far { // what the far side said last may wait for a slow editor
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

// put sends a line, which is the outbox's then. The end of who is gone is noticed elsewhere.
func put(out *jsonrpc.Outbox, line []byte) { _, _ = out.Put(line) }

// putNow sends lines, if there are any, which stay the caller's.
func putNow(out *jsonrpc.Outbox, lines []byte) {
	if len(lines) > 0 {
		_ = out.PutNow(lines) // as for put
	}
}
