package transport

import (
	"cmp"
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

// socket is a WebSocket connection. The goroutine of its request reads, one writes, one pings; the first waits for both.
type socket struct {
	h  *Handler
	id string
	admission
	begun  time.Time
	conn   *websocket.Conn
	to     Receiver
	ctx    context.Context
	cancel context.CancelFunc
	awake  chan struct{}
	moved  atomic.Int64              // pieces read, or written after a wait: a client that sends or takes them is alive
	held   atomic.Bool               // the client is not being read
	writes atomic.Pointer[time.Time] // start of the write in progress; nil if none

	mu      sync.Mutex
	queue   [][]byte
	waiting int // queued bytes
	room    writeSignal
	gone    bool // nothing is read any more
	reason  string
	code    websocket.StatusCode
	late    bool // nothing more is written; the queue is dropped
	linger  *time.Timer
}

// socket upgrades a request, and returns when the connection has ended.
func (h *Handler) socket(w http.ResponseWriter, r *http.Request, a admission) *httpError {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // net/http cancels it when the handler returns
	defer cancel()
	s := &socket{h: h, id: uuid.NewString(), admission: a, begun: time.Now(), ctx: ctx, cancel: cancel, awake: make(chan struct{}, 1)}
	if f := h.enter(s); f != nil {
		return f
	}
	defer h.leave(s)
	w.Header().Set(connectionHeader, s.id)
	var err error
	s.conn, err = websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // admit has checked the origin
	})
	if err != nil { // it has answered
		h.o.Log.Debug("cannot upgrade to WebSocket", zap.Error(err))
		return nil
	}
	defer func() { _ = s.conn.CloseNow() }()
	s.conn.SetReadLimit(h.o.MaxMessage)
	s.serve(r)
	return nil
}

func (s *socket) serve(r *http.Request) {
	log := s.h.o.Log.With(zap.String("connection", s.id)).With(s.h.logFields(r, s.admission)...)
	log.Info("a client connected")
	s.to = s.h.o.Join(s, s.clientOptions(r))
	var work sync.WaitGroup
	work.Go(s.write)
	if !s.h.o.Local { // the system reports the end of a local process
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
	log.Info("a client disconnected", zap.String("reason", cmp.Or(reason, "it left")), zap.NamedError("read", err))
}

// read passes the client's messages to the receiver until the connection ends.
func (s *socket) read() error {
	var full <-chan struct{} // from the message before; nil while there is room
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
			s.stop(websocket.StatusUnsupportedData, "ACP is sent in text messages, and this was a binary one")
			if _, err := io.Copy(io.Discard, r); err != nil {
				return err
			}
			continue
		}
		text, release, err := s.h.bodies.gather(r, s.h.o.MaxMessage+1, func() { s.moved.Add(1) })
		if errors.Is(err, errBusy) {
			s.stop(websocket.StatusTryAgainLater, err.Error())
			<-s.ctx.Done() // when the reason was sent
		}
		if err == nil && !s.isLate() { // otherwise the client, whose token may be revoked, gets no answer
			full = s.to.Receive(text)
		}
		release()
		if err != nil {
			return err
		}
	}
}

// pauseReading reads no more of a message until full is closed. The client gets no pings during that time: its pong might have to wait
// behind that message, and some clients give the connection up then.
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

// Waiting returns how many bytes are queued.
func (s *socket) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// Full returns a channel that is closed once there is room, or nil.
func (s *socket) Full() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room.full(s.waiting, s.gone || s.late)
}

// Close ends the connection once the queue is written, or after lingerLimit.
func (s *socket) Close(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(websocket.StatusGoingAway, reason)
}

// stop is Close, but drops the queue.
func (s *socket) stop(code websocket.StatusCode, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = true
	s.finish(code, reason)
}

// end ends the connection at once.
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

// write writes the queue, and finally why the connection ends.
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

// writeMessage writes a message. A large one is split into several frames, so that pings and the end of the connection can be sent between
// them.
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
			return nil // next ends the connection
		}
	}
	return w.Close()
}

// writing records that a piece is being written, until written is called. A buffer with room takes it at once, whether or not the client is
// alive; a full one takes it only after the client has read something.
func (s *socket) writing() (written func()) {
	began := time.Now()
	s.writes.Store(&began)
	return func() {
		if s.writes.Store(nil); time.Since(began) >= blockedAfter {
			s.moved.Add(1)
		}
	}
}

// isBlocked reports whether a piece waits for room.
func (s *socket) isBlocked() bool {
	began := s.writes.Load()
	return began != nil && time.Since(*began) >= blockedAfter
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

// ping ends the connection of a client that is gone: one that has sent nothing and taken nothing queued for keepAlive, and then does not
// answer a ping, or still takes nothing. While something is queued it gets no ping: the websocket package would give up a connection on
// which the ping itself has to wait.
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

// answers reports whether a quiet client answers a ping, or takes what is queued, in time.
func (s *socket) answers(before int64) bool {
	ctx, cancel := context.WithTimeout(s.ctx, pongLimit)
	defer cancel()
	if s.isBlocked() {
		<-ctx.Done()
		return s.moved.Load() != before
	}
	return s.conn.Ping(ctx) == nil
}

// shorten truncates a reason to what a close frame can hold.
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

// fullAt is how many bytes may be queued for a slow client before producers have to wait.
const fullAt = 2 << 20

// writeSignal wakes producers of messages when there is room again. The connection's lock guards it.
type writeSignal struct{ freed chan struct{} }

// full returns nil while there is room, otherwise a channel that update closes.
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
