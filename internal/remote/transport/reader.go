package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// reader is a GET that reads a stream. The connection's lock guards what is in it.
type reader struct {
	c      *connection
	s      *stream
	awake  chan struct{}
	done   chan struct{} // closed when it has left the stream for good
	probed bool          // it is to show that its client lives
	writes int           // how many writes have ended well
}

func (s *stream) wake() {
	if s.reader != nil {
		select {
		case s.reader.awake <- struct{}{}:
		default:
		}
	}
}

// errTaken is that somebody else reads the stream.
var errTaken = fail(http.StatusConflict, "Another request reads this stream already; end that one, or load the session again on a connection of its own.")

// attach makes a reader of a session's stream, "" for the connection's own. A client that
// says which event it had last takes the place of its own older reader. Otherwise an older
// one keeps the place, unless it leaves or turns out to be dead: it is made to write
// something, and does not get it written within probeLimit.
func (c *connection) attach(ctx context.Context, session string, after *uint64) (*reader, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stream(session)
	if s == nil {
		return nil, fail(http.StatusBadRequest, "The connection has too many sessions; open another connection.")
	}
	if old := s.reader; old != nil && after == nil && !c.outlive(ctx, old) {
		return nil, errTaken
	}
	if c.over || c.reason != "" {
		return nil, fail(http.StatusNotFound, "The connection has ended: "+c.reason+"; send initialize again.")
	}
	c.count(s, -s.waiting)
	if after != nil {
		if err := s.resume(*after); err != nil {
			c.count(s, s.waiting)
			return nil, fail(http.StatusConflict, capital(err.Error())+".")
		}
	}
	s.wake() // the older reader sees that it is replaced
	s.reader = &reader{c: c, s: s, awake: make(chan struct{}, 1), done: make(chan struct{})}
	c.count(s, s.waiting)
	c.nudge()
	return s.reader, nil
}

// outlive waits for a stream's reader to leave, and reports whether its place is free. It
// gives the lock away meanwhile.
func (c *connection) outlive(ctx context.Context, old *reader) bool {
	before := old.writes
	old.probed = true
	old.s.wake()
	c.mu.Unlock()
	timer := time.NewTimer(probeLimit)
	defer timer.Stop()
	select {
	case <-old.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	return old.s.reader == nil || old.s.reader == old && old.writes == before && ctx.Err() == nil
}

// detach leaves the stream to the next reader. left is whether its client closed it.
func (r *reader) detach(left bool) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	close(r.done)
	if r.s.reader != r {
		return
	}
	c.count(r.s, -r.s.waiting)
	r.s.reader, c.left = nil, left
	c.count(r.s, r.s.waiting)
	c.streams[""].wake() // what waited for this stream need not any more
	c.finishWritten()
	c.nudge()
}

// next is what the reader writes now: events, or a comment. Of a reader that is replaced,
// or whose connection is at its end, over is true.
func (r *reader) next() (batch []event, comment, over bool) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.s.reader != r || c.over {
		return nil, false, true
	}
	comment, r.probed = r.probed, false
	batch = r.s.batch()
	return batch, comment, len(batch) == 0 && c.reason != ""
}

// wrote says that n events, or a comment, were written.
func (r *reader) wrote(n int) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	r.writes++
	if r.s.reader != r || n == 0 {
		return
	}
	c.count(r.s, -r.s.wrote(n))
	if r.s != c.streams[""] {
		c.streams[""].wake()
	}
	c.finishWritten()
}

// run writes the stream's events until its client leaves or there is nothing more to come. It
// reports whether the client closed the stream, and not only takes nothing.
func (r *reader) run(ctx context.Context, w http.ResponseWriter) (left bool) {
	out := &sse{w: w, to: http.NewResponseController(w), ended: r.c.ended}
	defer out.watch()()
	if err := out.flush(); err != nil {
		return isBreak(err)
	}
	comments := time.NewTicker(keepAlive)
	defer comments.Stop()
	for {
		batch, comment, over := r.next()
		switch {
		case over:
			return false
		case len(batch) > 0 || comment:
			if err := out.events(batch, comment); err != nil {
				return isBreak(err)
			}
			r.wrote(len(batch))
			continue
		}
		select {
		case <-r.awake:
		case <-r.c.ended:
		case <-ctx.Done():
			return true
		case <-comments.C:
			if err := out.events(nil, true); err != nil {
				return isBreak(err)
			}
			r.wrote(0)
		}
	}
}

// isBreak reports whether a write failed because its reader is gone, and not by its deadline.
func isBreak(err error) bool { return !errors.Is(err, os.ErrDeadlineExceeded) }

// sse writes server-sent events.
type sse struct {
	w     http.ResponseWriter
	to    *http.ResponseController
	ended <-chan struct{} // of the connection
	buf   []byte

	mu      sync.Mutex
	writing bool
}

// watch interrupts a write that is under way when the connection ends. stop waits for it.
func (s *sse) watch() (stop func()) {
	var watching sync.WaitGroup
	left := make(chan struct{})
	watching.Go(func() {
		select {
		case <-s.ended:
			s.mu.Lock()
			if s.writing { // else it would break what can end well
				_ = s.to.SetWriteDeadline(time.Unix(1, 0))
			}
			s.mu.Unlock()
		case <-left:
		}
	})
	return func() {
		close(left)
		watching.Wait()
		_ = s.to.SetWriteDeadline(time.Time{}) // another request may come this way
	}
}

// events writes events, and maybe a comment, which clients pass over.
func (s *sse) events(batch []event, comment bool) error {
	if comment {
		if err := s.write([]byte(":\n\n")); err != nil {
			return err
		}
	}
	for _, e := range batch {
		s.buf = strconv.AppendUint(append(s.buf[:0], "id: "...), e.id, 10)
		s.buf = append(s.buf, "\ndata: "...)
		if err := s.write(s.buf); err != nil {
			return err
		}
		for rest := oneLine(e.data); len(rest) > 0; {
			n := min(len(rest), pieceSize)
			if err := s.write(rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		if err := s.write([]byte("\n\n")); err != nil {
			return err
		}
	}
	return s.flush()
}

// write writes a piece, for which the client has writeLimit. A writer that knows no
// deadlines, of a test, has none.
func (s *sse) write(piece []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	_, err := s.w.Write(piece)
	s.over()
	return err
}

func (s *sse) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return net.ErrClosed
	default:
	}
	s.writing = true
	_ = s.to.SetWriteDeadline(time.Now().Add(writeLimit))
	return nil
}

func (s *sse) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
}

// flush also takes the deadline back: of HTTP/2 it would end the stream when it passes,
// even if nothing is written then.
func (s *sse) flush() error {
	if err := s.begin(); err != nil {
		return err
	}
	err := s.to.Flush()
	s.over()
	_ = s.to.SetWriteDeadline(time.Time{})
	return err
}

// oneLine is JSON without line breaks, which can only stand between its values.
func oneLine(text []byte) []byte {
	for i, b := range text {
		if b == '\n' || b == '\r' {
			whole := append([]byte(nil), text...)
			for ; i < len(whole); i++ {
				if whole[i] == '\n' || whole[i] == '\r' {
					whole[i] = ' '
				}
			}
			return whole
		}
	}
	return text
}
