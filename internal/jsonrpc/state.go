package jsonrpc

import (
	"errors"
	"fmt"
	"slices"
)

// maxWaiting is the maximum size in bytes of read but unhandled messages; each also counts itemCost for its overhead. Beyond that nothing
// is read.
const (
	maxWaiting = 16 << 20
	itemCost   = 256
)

// state is the state of a connection's messages. It starts nothing, blocks on nothing and calls nobody, so that tests can drive it alone.
// Only Conn.update accesses it.
type state struct {
	// waiting is the queue of read but unhandled items, of total size size.
	waiting []item
	size    int
	// current is the call that must call Async before the next item is handled.
	current *Call

	// requests holds the peer's unanswered requests by ID. A peer may use an ID twice.
	requests map[string][]*Response
	// pending holds our own unanswered requests by ID.
	pending map[string]*Pending

	changed  bool // next may return more than before
	ended    bool // the input has ended
	peerGone bool // the peer has closed its end; unread data may remain
	stopped  bool // nothing more is handled, and our requests get no response
}

// item is a message, or the error for a line that is not a message.
type item struct {
	frame
	size      int
	call      *Call  // of a request or notification
	rejection *Error // error for a line that is not a message; its ID is the frame's
}

// isAnswered reports whether the item causes a line to be sent.
func (it *item) isAnswered() bool {
	return it.rejection != nil || it.call != nil && it.call.Response != nil
}

func newState() state {
	return state{requests: map[string][]*Response{}, pending: map[string]*Pending{}}
}

// enqueue queues an item.
func (s *state) enqueue(it item) {
	if s.stopped {
		return
	}
	if it.call != nil && it.call.Response != nil {
		r := it.call.Response
		s.requests[r.key] = append(s.requests[r.key], r)
	}
	it.size += itemCost
	s.waiting = append(s.waiting, it)
	s.size += it.size
	s.changed = true
}

// setEnded records the end of the input.
func (s *state) setEnded() { s.ended, s.changed = true, true }

// setPeerGone records that the peer has closed its end, even if unread data remains.
func (s *state) setPeerGone() { s.peerGone, s.changed = true, true }

// isFull reports whether reading should pause.
func (s *state) isFull() bool { return s.size >= maxWaiting && !s.stopped }

// next dequeues the item to handle now, if any. Without room, only notifications, in particular cancellations, and responses are returned,
// since they cause no output.
func (s *state) next(room bool) (it item, ok bool) {
	if s.current != nil || len(s.waiting) == 0 || !room && s.waiting[0].isAnswered() {
		return item{}, false
	}
	it = s.waiting[0]
	s.waiting[0] = item{}
	s.waiting = s.waiting[1:]
	s.size -= it.size
	s.current = it.call
	return it, true
}

// releaseNext allows the item after c to be handled.
func (s *state) releaseNext(c *Call) {
	if s.current == c {
		s.current, s.changed = nil, true
	}
}

// isOver reports whether everything has been read and handled.
func (s *state) isOver() bool { return s.ended && len(s.waiting) == 0 && s.current == nil }

// markAnswered records the response to a request. It returns false if there already was one.
func (s *state) markAnswered(r *Response) bool {
	same := s.requests[r.key]
	i := slices.Index(same, r)
	if i < 0 {
		return false
	}
	if s.requests[r.key] = slices.Delete(same, i, i+1); len(same) == 1 {
		delete(s.requests, r.key)
	}
	return true
}

// withID returns the peer's unanswered requests with this ID.
func (s *state) withID(key string) []*Response { return slices.Clone(s.requests[key]) }

// addPending records a request of our own. It returns false if no response can arrive.
func (s *state) addPending(p *Pending) bool {
	if !s.stopped {
		s.pending[p.key] = p
	}
	return !s.stopped
}

// removePending removes our pending request with this ID and returns it, or nil.
func (s *state) removePending(key string) *Pending {
	p := s.pending[key]
	delete(s.pending, key)
	return p
}

// stop drops unhandled items and returns our requests that will get no response.
func (s *state) stop() (lost []*Pending) {
	for _, it := range s.waiting {
		if it.call != nil && it.call.Response != nil {
			s.markAnswered(it.call.Response) // never handled, so never answered
		}
	}
	for _, p := range s.pending {
		lost = append(lost, p)
	}
	clear(s.pending)
	s.waiting, s.size, s.stopped = nil, 0, true
	return lost
}

// check verifies invariants in constant time.
func (s *state) check() error {
	switch {
	case s.size < len(s.waiting)*itemCost || len(s.waiting) == 0 && s.size != 0:
		return fmt.Errorf("%d messages of %d bytes wait", len(s.waiting), s.size)
	case s.stopped && (len(s.waiting) > 0 || len(s.pending) > 0):
		return errors.New("something waits, though nothing takes effect any more")
	}
	return nil
}
