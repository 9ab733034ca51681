package transport

import "errors"

// event is one message on its way to a client.
type event struct {
	id   uint64
	data []byte
	// The answer to session/load goes to the connection's stream, what was loaded to the
	// session's. It is written when that is, as far as somebody reads it.
	behind *stream
	upTo   uint64
}

// stream is what one GET reads: first come the events that were written, as far as they
// are kept, then those that wait. It has neither a lock nor a clock.
type stream struct {
	events  []event
	written int    // how many of the events
	last    uint64 // the id of the newest event
	waiting int    // bytes
	kept    int    // bytes of those written
	reader  *reader
}

// Errors of resume.
var (
	errForgotten = errors.New("what came after this Last-Event-ID is not kept any more; load the session again")
	errUnknown   = errors.New("there has been no event with this Last-Event-ID; load the session again")
)

func (s *stream) add(e event) {
	s.last++
	e.id = s.last
	s.events = append(s.events, e)
	s.waiting += len(e.data)
}

// batch are the events to be written next: one, or more up to pieceSize bytes.
func (s *stream) batch() (batch []event) {
	size := 0
	for _, e := range s.events[s.written:] {
		if e.behind != nil && e.behind.owes(e.upTo) || size > 0 && size+len(e.data) > pieceSize {
			break
		}
		batch = append(batch, e)
		size += len(e.data)
	}
	return batch
}

// owes reports whether somebody reads the stream who has not been sent all up to an event.
func (s *stream) owes(upTo uint64) bool {
	return s.reader != nil && s.written < len(s.events) && s.events[s.written].id <= upTo
}

// wrote says that the next n events were written. Of old ones it forgets what is more than
// ringSize.
func (s *stream) wrote(n int) (bytes int) {
	for _, e := range s.events[s.written : s.written+n] {
		bytes += len(e.data)
	}
	s.written += n
	s.waiting -= bytes
	s.kept += bytes
	for s.kept > ringSize {
		s.kept -= len(s.events[0].data)
		s.events[0] = event{}
		s.events = s.events[1:]
		s.written--
	}
	return bytes
}

// resume has what came after an event written again.
func (s *stream) resume(after uint64) error {
	first := s.last + 1 - uint64(len(s.events)) // the id of the oldest that is kept
	switch {
	case after > s.last:
		return errUnknown
	case after+1 < first:
		return errForgotten
	}
	s.written = int(after + 1 - first)
	s.kept, s.waiting = 0, 0
	for i, e := range s.events {
		if i < s.written {
			s.kept += len(e.data)
		} else {
			s.waiting += len(e.data)
		}
	}
	return nil
}
