package transport

import (
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
)

// connection is one of Streamable HTTP: a receiver, and the streams that its client reads
// what the receiver sends from. It begins with initialize and ends with DELETE, when
// nobody reads its own stream for aloneLimit or leftLimit, when too much waits for its client, and by
// Close. Its goroutine, run, waits for that.
type connection struct {
	h    *Handler
	id   string
	to   Receiver
	from string

	receiving sync.Mutex // of to, whose methods are called one at a time
	answer    chan []byte
	changed   chan struct{} // run looks again at what it waits for
	ended     chan struct{}

	mu      sync.Mutex
	reason  string // why it ends or has ended; "" while it lives
	over    bool   // ended is closed
	first   string // the id of initialize, until that is answered
	streams map[string]*stream
	left    bool   // its client closed the stream that it read last, and has said nothing since
	waiting [2]int // bytes: in streams that nobody reads, in those that somebody reads
	room    room
	loads   map[string]string // the sessions that requests of session/load name, by the requests' ids
	asked   map[string]string // on which session's stream the receiver asked what, by the requests' ids
}

// maxNoted bounds the ids that loads and asked have each.
const maxNoted = 1024

func newConnection(h *Handler, from string, initialize message) *connection {
	c := &connection{
		h: h, id: newID(), from: from,
		answer: make(chan []byte, 1), changed: make(chan struct{}, 1), ended: make(chan struct{}),
		first: jsonrpc.IDKey(initialize.ID), streams: make(map[string]*stream),
		loads: make(map[string]string), asked: make(map[string]string),
	}
	c.streams[""] = &stream{}
	return c
}

// run waits for the connection's end, and tells the receiver.
func (c *connection) run() {
	defer c.h.leave(c, c.id)
	c.h.o.Log.Debug("a client came by Streamable HTTP", zap.String("connection", c.id), zap.String("from", c.from))
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for over := false; !over; {
		c.mu.Lock()
		limit, why := c.patience()
		c.mu.Unlock()
		timer.Reset(limit)
		select {
		case <-c.changed:
		case <-timer.C:
			if why != "" {
				c.end(why)
			}
		case <-c.ended:
			over = true
		}
	}
	c.receiving.Lock()
	c.to.Gone()
	c.receiving.Unlock()
	c.h.o.Log.Debug("a client of Streamable HTTP has gone", zap.String("connection", c.id), zap.String("reason", c.why()))
}

// patience is how long the connection may stay as it is, and why it then ends.
func (c *connection) patience() (time.Duration, string) {
	switch {
	case c.reason != "":
		return lingerLimit, c.reason
	case c.left && !c.isRead():
		return leftLimit, "its client has gone"
	case c.first == "" && c.streams[""].reader == nil:
		return aloneLimit, "its client has no stream of the connection open"
	}
	return time.Hour, ""
}

// isRead reports whether somebody reads one of the streams.
func (c *connection) isRead() bool {
	for _, s := range c.streams {
		if s.reader != nil {
			return true
		}
	}
	return false
}

func (c *connection) why() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Send queues a message on the stream of its session.
func (c *connection) Send(text []byte, session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.reason != "" {
		return
	}
	e := event{data: text}
	if c.first != "" || len(c.loads) > 0 || session != "" {
		head, _ := jsonrpc.ReadHead(text)
		key := jsonrpc.IDKey(head.ID)
		loaded, isLoad := c.loads[key]
		switch {
		case head.Method != "":
			if head.ID != nil && session != "" && len(c.asked) < maxNoted {
				c.asked[key] = session
			}
		case c.first != "" && key == c.first:
			c.first = ""
			c.answer <- text
			c.nudge()
			return
		case isLoad:
			delete(c.loads, key)
			session = ""
			if s := c.streams[loaded]; s != nil {
				e.behind, e.upTo = s, s.last
			}
		}
	}
	s := c.stream(session)
	if s == nil {
		c.finish("it has too many sessions")
		return
	}
	s.add(e)
	c.count(s, len(text))
	switch {
	case c.waiting[1] > c.h.o.MaxWaiting:
		c.finish("its client reads too slowly")
	case c.waiting[0] > c.h.o.MaxKept:
		c.finish("too much waits for streams that its client does not open")
	}
	s.wake()
}

// stream finds or makes the stream of a session; nil is one too many.
func (c *connection) stream(session string) *stream {
	s := c.streams[session]
	if s == nil && len(c.streams) < maxStreams {
		s = &stream{}
		c.streams[session] = s
	}
	return s
}

func (c *connection) count(s *stream, bytes int) {
	if s.reader != nil {
		c.waiting[1] += bytes
	} else {
		c.waiting[0] += bytes
	}
	c.room.look(c.waiting[1], c.over)
}

// Full looks at the streams that somebody reads. What waits for the others would hold up
// the very message that has their client open them; MaxKept bounds that.
func (c *connection) Full() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.room.full(c.waiting[1], c.over)
}

// Close ends the connection once what waits for open streams is written.
func (c *connection) Close(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != "" {
		return
	}
	c.reason = reason
	for _, s := range c.streams {
		s.wake()
	}
	c.finishWritten()
	c.nudge()
}

// finishWritten ends a connection that is to end and has nothing more to write.
func (c *connection) finishWritten() {
	if c.reason != "" && c.waiting[1] == 0 {
		c.finish(c.reason)
	}
}

func (c *connection) end(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(reason)
}

// finish ends the connection now. The lock is held.
func (c *connection) finish(reason string) {
	if !c.over {
		c.over, c.reason = true, reason
		close(c.ended)
		c.room.look(0, true)
	}
}

func (c *connection) nudge() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// take gives the receiver a message, unless the header names another session than the
// message is about.
func (c *connection) take(m message, session string) *failure {
	if f := c.note(m, session); f != nil {
		return f
	}
	if !c.receive(m.text) {
		return fail(http.StatusNotFound, "The connection has ended: "+c.why()+"; send initialize again without "+ConnectionHeader+".")
	}
	return nil
}

// receive gives the receiver a text, if the connection has not ended.
func (c *connection) receive(text []byte) bool {
	c.receiving.Lock()
	defer c.receiving.Unlock()
	select {
	case <-c.ended:
		return false
	default:
		c.to.Receive(text)
		return true
	}
}

// note remembers where the answer to a request goes, and that the client lives.
func (c *connection) note(m message, session string) *failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		c.left = false
		c.nudge()
	}
	about, must := m.session, m.needsSession()
	key := jsonrpc.IDKey(m.ID)
	if m.isResponse() {
		about, must = c.asked[key]
	}
	switch {
	case must && session == "":
		return fail(http.StatusBadRequest, "The header "+SessionHeader+" is missing; this message is about a session.")
	case about != "" && session != "" && about != session:
		return fail(http.StatusBadRequest, "The header "+SessionHeader+" names another session than the message.")
	}
	if m.isResponse() {
		delete(c.asked, key)
	}
	if m.Method == "session/load" && m.ID != nil && len(c.loads) < maxNoted {
		c.loads[key] = session
	}
	return nil
}
