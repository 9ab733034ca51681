package via

import (
	"errors"
	"io"

	"droid-acp/internal/jsonrpc"
)

// pump hears lines until there are no more. It reads none while the way out is full. What
// hear returns goes that way, together with what is there already behind it.
func (r *Relay) pump(in io.Reader, out *jsonrpc.Outbox, hear func(line []byte) []byte, tooLong func(*jsonrpc.Outline)) (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var long *jsonrpc.Outline
		lines := jsonrpc.NewLines(in, r.max, func(piece []byte) {
			if long == nil {
				long = new(jsonrpc.Outline)
			}
			long.Read(piece)
		})
		var waiting []byte // whole lines on the way out
		var size *jsonrpc.TooLongError
		for {
			line, err := lines.Next()
			switch {
			case err == nil:
				switch line = hear(line); {
				case len(line) > batch: // it is memory of its own, with room for its end
					put(out, waiting)
					waiting = append(line, '\n')
				case line != nil:
					if waiting == nil {
						waiting = make([]byte, 0, len(line)+1+lines.Buffered())
					}
					waiting = append(append(waiting, line...), '\n')
				}
			case errors.As(err, &size):
				put(out, waiting) // the answer does not overtake it
				waiting = nil
				tooLong(long)
				long = nil
			default:
				put(out, waiting)
				return
			}
			if lines.Waiting() && len(waiting) < batch {
				continue
			}
			put(out, waiting)
			waiting = nil
			if full := out.Full(); full != nil {
				<-full
			}
		}
	}()
	return done
}

// put sends lines, if there are any. The end of who is gone is noticed elsewhere.
func put(out *jsonrpc.Outbox, lines []byte) {
	if len(lines) > 0 {
		_, _ = out.Put(lines)
	}
}
