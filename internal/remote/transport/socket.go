package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"go.uber.org/zap"
)

// socket is a connection by WebSocket. The goroutine of its request reads; one writes, one
// pings, and the first waits for both.
type socket struct {
	h      *Handler
	id     string
	conn   *websocket.Conn
	to     Receiver
	ctx    context.Context
	cancel context.CancelFunc
	awake  chan struct{}
	moved  atomic.Int64 // pieces that were read, or written after a wait: a client that sends or takes them lives
	held   atomic.Bool  // the client is not read
	writes atomic.Int64 // since when a piece is being written, in nanoseconds; 0 for none

	mu      sync.Mutex
	queue   [][]byte
	waiting int // bytes
	room    writeSignal
	gone    bool // nobody reads any more
	reason  string
	code    websocket.StatusCode
	late    bool // nothing more is written; the rest is dropped
	linger  *time.Timer
}

// socket upgrades a request, and stays until the connection has ended.
func (h *Handler) socket(w http.ResponseWriter, r *http.Request) *httpError {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // net/http ends it when the handler returns
	defer cancel()
	s := &socket{h: h, id: uuid.NewString(), ctx: ctx, cancel: cancel, awake: make(chan struct{}, 1)}
	if f := h.enter(s); f != nil {
		return f
	}
	defer h.leave(s)
	w.Header().Set(ConnectionHeader, s.id)
	var err error
	s.conn, err = websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // admit has looked at the origin
	})
	if err != nil { // it has answered
		h.o.Log.Debug("a WebSocket was not opened", zap.Error(err))
		return nil
	}
	defer func() { _ = s.conn.CloseNow() }()
	s.conn.SetReadLimit(h.o.MaxMessage)
	s.serve(r)
	return nil
}

func (s *socket) serve(r *http.Request) {
	log := s.h.o.Log.With(zap.String("connection", s.id))
	log.Debug("a client came by WebSocket", zap.String("from", r.RemoteAddr))
	s.to = s.h.o.Join(s, s.h.clientOptions(r))
	var work sync.WaitGroup
	work.Go(s.write)
	if !s.h.o.Local { // the system says when a process of this machine ends
		work.Go(s.ping)
	}
	err := s.read()
	s.cancel()
	work.Wait()
	s.mu.Lock()
	if s.linger != nil {
		s.linger.Stop()
	}
	reason := s.reason
	s.gone, s.queue = true, nil
	s.room.update(0, true)
	s.mu.Unlock()
	s.to.Disconnected()
	log.Debug("a client of WebSocket has gone", zap.String("reason", reason), zap.Error(err))
}

// read has the receiver take what the client sends, until the connection ends.
func (s *socket) read() error {
	var full <-chan struct{} // of the message before; nil while there is room for the next
	for {
		kind, r, err := s.conn.Reader(s.ctx)
		if err != nil {
			return err
		}
		s.moved.Add(1)
		if full != nil {
			s.pauseReading(full)
			full = nil
		}
		if kind != websocket.MessageText {
			if _, err := io.Copy(io.Discard, r); err != nil {
				return err
			}
			continue
		}
		text, release, err := s.h.bodies.gather(r, s.h.o.MaxMessage+1, func() { s.moved.Add(1) })
		if errors.Is(err, errBusy) {
			s.stop(websocket.StatusTryAgainLater, err.Error())
			<-s.ctx.Done() // when it has been told
		}
		if err == nil {
			full = s.to.Receive(text)
		}
		release()
		if err != nil {
			return err
		}
	}
}

// pauseReading reads nothing of a message until full is closed. The client gets no pings meanwhile: its pong may have to wait
// behind that message, and then some clients give the connection up.
func (s *socket) pauseReading(full <-chan struct{}) {
	s.held.Store(true)
	defer s.held.Store(false)
	select {
	case <-full:
	case <-s.ctx.Done():
	}
}

// Send queues a message.
func (s *socket) Send(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" || s.gone {
		return
	}
	s.queue = append(s.queue, text)
	s.waiting += len(text)
	if s.waiting > s.h.o.MaxWaiting {
		s.late = true
		s.finish(websocket.StatusPolicyViolation, "the client reads too slowly")
	}
	s.wake()
}

// Full says when there is room.
func (s *socket) Full() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room.full(s.waiting, s.gone || s.late)
}

// Close ends the connection once what was sent is written, or after lingerLimit.
func (s *socket) Close(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(websocket.StatusGoingAway, reason)
}

// stop is Close, but drops what waits.
func (s *socket) stop(code websocket.StatusCode, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = true
	s.finish(code, reason)
}

// end ends the connection now.
func (s *socket) end(reason string) {
	s.stop(websocket.StatusGoingAway, reason)
	s.cancel()
}

func (s *socket) finish(code websocket.StatusCode, reason string) {
	if s.reason != "" || s.gone {
		return
	}
	s.code, s.reason = code, reason
	s.linger = time.AfterFunc(lingerLimit, s.cancel)
	s.room.update(s.waiting, s.late)
	s.wake()
}

func (s *socket) wake() {
	select {
	case s.awake <- struct{}{}:
	default:
	}
}

// write writes what is queued, and at the end why the connection ends.
func (s *socket) write() {
	defer s.cancel()
	for {
		text, over := s.next()
		switch {
		case over:
			s.mu.Lock()
			code, reason := s.code, s.reason
			s.mu.Unlock()
			_ = s.conn.Close(code, shorten(reason)) // the client may have gone
			return
		case text != nil:
			if s.writeMessage(text) != nil {
				return
			}
			continue
		}
		select {
		case <-s.awake:
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *socket) next() (text []byte, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late || len(s.queue) == 0 {
		return nil, s.reason != ""
	}
	text, s.queue[0] = s.queue[0], nil
	s.queue = s.queue[1:]
	return text, false
}

// writeMessage writes a message. A large one goes in several frames, between which pings
// and the connection's end find their place.
func (s *socket) writeMessage(text []byte) error {
	defer s.wrote(len(text))
	if len(text) <= pieceSize {
		defer s.writing()()
		return s.conn.Write(s.ctx, websocket.MessageText, text)
	}
	w, err := s.conn.Writer(s.ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for len(text) > 0 {
		n := min(len(text), pieceSize)
		written := s.writing()
		if _, err := w.Write(text[:n]); err != nil {
			return err
		}
		written()
		text = text[n:]
		if s.isLate() {
			return nil // next has the connection closed
		}
	}
	return w.Close()
}

// writing notes that a piece is being written, until written is called. A buffer takes it at once, whether or not the
// client lives; one that is full takes it when the client has taken something.
func (s *socket) writing() (written func()) {
	began := time.Now()
	s.writes.Store(began.UnixNano())
	return func() {
		if s.writes.Store(0); time.Since(began) >= blockedAfter {
			s.moved.Add(1)
		}
	}
}

// isBlocked reports whether a piece waits for room.
func (s *socket) isBlocked() bool {
	began := s.writes.Load()
	return began != 0 && time.Since(time.Unix(0, began)) >= blockedAfter
}

func (s *socket) isLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late
}

func (s *socket) wrote(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting -= bytes
	s.room.update(s.waiting, s.late)
}

// ping ends the connection of a client that has gone: for keepAlive it has said nothing and taken nothing that waited,
// and then does not answer a ping, or goes on to take nothing. While something waits for it, it gets no ping: websocket
// gives up a connection on which that waits, too.
func (s *socket) ping() {
	every := time.NewTicker(keepAlive)
	defer every.Stop()
	for before := int64(-1); ; {
		select {
		case <-every.C:
		case <-s.ctx.Done():
			return
		}
		if s.held.Load() {
			before = -1
			continue
		}
		now := s.moved.Load()
		if now == before && !s.answers(before) && s.moved.Load() == before {
			s.end("the client does not answer")
			return
		}
		before = now
	}
}

// answers reports whether a client that is quiet answers a ping, or takes what waits for it, in time.
func (s *socket) answers(before int64) bool {
	ctx, cancel := context.WithTimeout(s.ctx, pongLimit)
	defer cancel()
	if s.isBlocked() {
		<-ctx.Done()
		return s.moved.Load() != before
	}
	return s.conn.Ping(ctx) == nil
}

// shorten is a reason as a close frame can hold it.
func shorten(reason string) string {
	const most = 123 // RFC 6455, 5.5
	if len(reason) <= most {
		return reason
	}
	reason = reason[:most]
	for !utf8.ValidString(reason) {
		reason = reason[:len(reason)-1]
	}
	return reason
}

// fullAt is how much waits for a client that reads, in bytes, when what makes more is to
// wait, too.
const fullAt = 2 << 20

// writeSignal tells those who make messages when there is room again. The connection's lock
// guards it.
type writeSignal struct{ freed chan struct{} }

// full is nil while there is room, else a channel that look closes.
func (r *writeSignal) full(waiting int, over bool) <-chan struct{} {
	if over || waiting < fullAt {
		return nil
	}
	if r.freed == nil {
		r.freed = make(chan struct{})
	}
	return r.freed
}

// update is called after something was written, and at the end.
func (r *writeSignal) update(waiting int, over bool) {
	if r.freed != nil && (over || waiting < fullAt) {
		close(r.freed)
		r.freed = nil
	}
}
