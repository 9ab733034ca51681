package jsonrpc

import (
	"errors"
	"fmt"
	"slices"
)

// maxWaiting is how many bytes of messages may have been read and not taken effect, each
// counted with what it costs beside. Beyond that the peer is not read.
const (
	maxWaiting = 16 << 20
	itemCost   = 256
)

// state is what a connection knows of its messages. It starts nothing, waits for nothing
// and calls nobody, so that a test can drive it alone. Conn.update is the one place where
// it is touched.
type state struct {
	// waiting was read and has not taken effect, the first first. size counts it.
	waiting []item
	size    int
	// holder is the call that is to say Ordered before the next item takes effect.
	holder *Call

	// requests are the peer's, read and without a response, by their ids. Nothing keeps
	// a peer from using an id twice.
	requests map[string][]*Response
	// asked are our own requests without an answer, by their ids.
	asked map[string]*Pending

	moved   bool // next may have something that it had not before
	ended   bool // nothing more is read
	left    bool // the peer says nothing more behind what is not yet read
	stopped bool // nothing more takes effect, and no request of ours gets an answer
}

// item is something that was read: a message, or the answer to a line that is none.
type item struct {
	frame
	size    int
	call    *Call  // of a request or notification
	refusal *Error // of a line that is no message; its id is the frame's
}

// isAnswered reports whether a line goes out for the item.
func (it *item) isAnswered() bool {
	return it.refusal != nil || it.call != nil && it.call.Response != nil
}

func newState() state {
	return state{requests: map[string][]*Response{}, asked: map[string]*Pending{}}
}

// arrive takes what was read.
func (s *state) arrive(it item) {
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
	s.moved = true
}

// end notes the end of the input.
func (s *state) end() { s.ended, s.moved = true, true }

// leave notes that the peer has gone, whatever of it is still to be read.
func (s *state) leave() { s.left, s.moved = true, true }

// isFull reports whether nothing more should be read for now.
func (s *state) isFull() bool { return s.size >= maxWaiting && !s.stopped }

// next takes out what takes effect now, if anything may. room says whether there is room
// for an answer: a notification, a cancel above all, and a response need none.
func (s *state) next(room bool) (it item, ok bool) {
	if s.holder != nil || len(s.waiting) == 0 || !room && s.waiting[0].isAnswered() {
		return item{}, false
	}
	it = s.waiting[0]
	s.waiting[0] = item{}
	s.waiting = s.waiting[1:]
	s.size -= it.size
	s.holder = it.call
	return it, true
}

// ordered lets the item behind a call take effect.
func (s *state) ordered(c *Call) {
	if s.holder == c {
		s.holder, s.moved = nil, true
	}
}

// isOver reports that all that will ever be read has taken effect.
func (s *state) isOver() bool { return s.ended && len(s.waiting) == 0 && s.holder == nil }

// answer notes the response to a request. It reports false when there was one before.
func (s *state) answer(r *Response) bool {
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

// withID are the peer's requests that have this id and no response.
func (s *state) withID(key string) []*Response { return slices.Clone(s.requests[key]) }

// ask notes a request of our own. It reports false when no answer can come any more.
func (s *state) ask(p *Pending) bool {
	if !s.stopped {
		s.asked[p.key] = p
	}
	return !s.stopped
}

// settle ends the wait of the request of our own with this id, and returns it; nil when
// nobody waits.
func (s *state) settle(key string) *Pending {
	p := s.asked[key]
	delete(s.asked, key)
	return p
}

// stop drops what has not taken effect. It returns the requests of our own that get no
// answer.
func (s *state) stop() (lost []*Pending) {
	for _, it := range s.waiting {
		if it.call != nil && it.call.Response != nil {
			s.answer(it.call.Response) // it never was taken up, so nobody answers it
		}
	}
	for _, p := range s.asked {
		lost = append(lost, p)
	}
	clear(s.asked)
	s.waiting, s.size, s.stopped = nil, 0, true
	return lost
}

// check finds what must not be, in time that does not depend on how much there is.
func (s *state) check() error {
	switch {
	case s.size < len(s.waiting)*itemCost || len(s.waiting) == 0 && s.size != 0:
		return fmt.Errorf("%d messages of %d bytes wait", len(s.waiting), s.size)
	case s.stopped && (len(s.waiting) > 0 || len(s.asked) > 0):
		return errors.New("something waits, though nothing takes effect any more")
	}
	return nil
}
