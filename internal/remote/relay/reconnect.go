package relay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/text/rawjson"
)

// MessageConn is a connection that carries whole messages, each one JSON text.
type MessageConn interface {
	// Read waits for the next message, which the caller owns. After an error there are no more.
	Read(ctx context.Context) ([]byte, error)
	// Write sends a message, and blocks while the other end does not read. It does not keep the message.
	Write(ctx context.Context, message []byte) error
	// Close ends the connection gracefully.
	Close() error
}

const (
	// ReconnectTime limits how long a link may be cut.
	ReconnectTime = 2 * time.Minute
	// attemptTime limits one attempt to connect again.
	attemptTime = 30 * time.Second
	// firstPause and maxPause limit the pauses between attempts; each is twice the one before.
	firstPause = 500 * time.Millisecond
	maxPause   = 10 * time.Second
	// maxAnswers limits the answers of the editor that are kept in case the server has not received them.
	maxAnswers = 64
)

// serverReplaced is the kind of the error of a request that a server did not carry out, because another one has its place. The connection
// ends after it.
const serverReplaced = "server_replaced"

// Reconnector is a MessageConn of an editor to a server of package serve, over links that may be cut. When one is, it connects again: it
// loads each open session behind the last message that the editor has, and sends the unanswered prompts again, each by its operationId. Fill
// in the struct, and call Dial once before anything else.
type Reconnector struct {
	Connect func(ctx context.Context) (MessageConn, error)
	Final   func(err error) bool // reports whether reconnecting is useless after a connection has ended with this error
	Notify  func(text string)    // tells the user that the link was cut, or is back
	Limit   time.Duration        // 0 for ReconnectTime

	cut     error      // the end of the last link, until Read connects again
	writing sync.Mutex // serializes writes to a connection

	mu         sync.Mutex
	changed    chan struct{} // closed when conn or err changes
	conn       MessageConn   // nil while there is none
	err        error         // the reason why there will be none
	links      int           // number of connections so far
	id         string        // _meta.droid-acp.clientId
	initialize []byte
	resumes    bool              // the server supports cursors
	provider   []byte            // the request that set the provider, to repeat to a new connection; nil for none
	pending    []*pendingMessage // the editor's unanswered requests, in order
	sessions   map[string]*openSession
	questions  map[string]*openQuestion // of the agent; by the key of their IDs
	answered   []string                 // keys of those that the editor has answered, the oldest first
	queue      [][]byte                 // messages for the editor that this end has made
	later      [][]byte                 // messages for the server, which the next Read or Write sends
}

// pendingMessage is an unanswered request of the editor.
type pendingMessage struct {
	line      []byte
	id        json.RawMessage
	method    string
	session   string
	sent      bool // to a connection, or refused: the next connection gets it
	refused   bool // by a server that was replaced, or behind such a one: it is sent to the next server after the session is loaded
	cancelled []byte
	own       func(result []byte) // handles the response to a request that this end has made
}

// openSession is a session that the editor has open.
type openSession struct {
	params map[string]json.RawMessage // to open it again
	at     json.RawMessage            // the cursor behind the last message
	epoch  string                     // of at
}

// openQuestion is a request of the agent to the editor.
type openQuestion struct {
	line   []byte // identifies it, since a restarted server reuses IDs
	id     json.RawMessage
	link   int    // the number of the last link on which it came
	answer []byte // nil while the editor has not answered
}

// Read implements MessageConn.
func (r *Reconnector) Read(ctx context.Context) ([]byte, error) {
	for {
		if line := r.fromQueue(); line != nil {
			return line, nil
		}
		if r.cut != nil {
			if err := r.reconnect(ctx); err != nil {
				return nil, err
			}
		}
		conn, err := r.await(ctx)
		if err != nil {
			return nil, err
		}
		line, err := conn.Read(ctx)
		switch {
		case err == nil:
			line = r.received(line)
			r.sendLater(ctx, conn)
			if line != nil {
				return line, nil
			}
		case ctx.Err() != nil || !r.canResume(err):
			r.lose(conn, err)
			return nil, err
		default:
			r.lose(conn, err)
			_ = conn.Close() // it has ended
			r.cut = err
			r.Notify(fmt.Sprintf("the link to the server was cut (%v); connecting again, for up to %v", err, r.limit()))
			r.refuseUnknown() // before it connects again
		}
	}
}

// Write implements MessageConn. While there is no link it waits for one.
func (r *Reconnector) Write(ctx context.Context, line []byte) error {
	var h jsonrpc.Head
	var p *pendingMessage
	link := 0 // the only one that gets the message; 0 for any
	ok := json.Valid(line)
	if ok {
		h, ok = jsonrpc.ReadHead(line)
	}
	if ok {
		var held bool
		if line, p, link, held = r.sends(line, h); held {
			return nil
		}
	}
	for {
		conn, err := r.await(ctx)
		if err != nil {
			return err
		}
		switch now := r.begin(p, conn); {
		case now == 0:
			continue
		case link != 0 && link != now:
			return nil // received sends it where the question comes again: another server may use the ID for another one
		}
		err = r.write(ctx, conn, line)
		if err == nil || ctx.Err() != nil || !r.canResume(err) {
			return err
		}
		r.lose(conn, err)
		if p != nil || ok && h.Method == "" {
			return nil // resume sends it again
		}
	}
}

// Close implements MessageConn.
func (r *Reconnector) Close() error {
	r.mu.Lock()
	conn := r.conn
	r.setLocked(nil, cmp.Or(r.err, errors.New("the connection was closed")))
	r.mu.Unlock()
	if conn == nil {
		return nil
	}
	return conn.Close()
}

// write sends what was queued for the server, and then a message of the editor.
func (r *Reconnector) write(ctx context.Context, conn MessageConn, line []byte) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.sendLaterLocked(ctx, conn)
	return conn.Write(ctx, line)
}

// Dial makes the first connection, whose error is not that of a link that was cut.
func (r *Reconnector) Dial(ctx context.Context) error {
	conn, err := r.Connect(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.sessions, r.questions = uuid.NewString(), map[string]*openSession{}, map[string]*openQuestion{}
	r.changed = make(chan struct{})
	r.setLocked(conn, nil)
	return nil
}

// setLocked sets the connection, or why there is none any more. The caller holds mu.
func (r *Reconnector) setLocked(conn MessageConn, err error) {
	if conn != nil {
		r.links++
	}
	r.conn, r.err = conn, err
	close(r.changed)
	r.changed = make(chan struct{})
}

// await waits for a connection.
func (r *Reconnector) await(ctx context.Context) (MessageConn, error) {
	for {
		r.mu.Lock()
		conn, err, changed := r.conn, r.err, r.changed
		r.mu.Unlock()
		if conn != nil || err != nil {
			return conn, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin records that a request is being sent to a connection. It returns the number of the link, 0 if that is no longer the current one.
func (r *Reconnector) begin(p *pendingMessage, conn MessageConn) (link int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != conn {
		return 0
	}
	if p != nil {
		p.sent = true
	}
	return r.links
}

func (r *Reconnector) fromQueue() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil
	}
	line := r.queue[0]
	r.queue = r.queue[1:]
	return line
}

// sendLater sends what was queued for the server. It does not wait for a Write where nothing is: the server may have to be read first.
func (r *Reconnector) sendLater(ctx context.Context, conn MessageConn) {
	r.mu.Lock()
	none := len(r.later) == 0
	r.mu.Unlock()
	if none {
		return
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	r.sendLaterLocked(ctx, conn)
}

// sendLaterLocked is sendLater for a caller that holds writing.
func (r *Reconnector) sendLaterLocked(ctx context.Context, conn MessageConn) {
	r.mu.Lock()
	lines := r.later
	r.later = nil
	r.mu.Unlock()
	for _, line := range lines {
		_ = conn.Write(ctx, line) // the next read reports a connection that has ended
	}
}

// put queues a message for the editor. The caller holds mu.
func (r *Reconnector) put(line []byte) { r.queue = append(r.queue, bytes.TrimSpace(line)) }

// params returns the params of a message; nil if it has none.
func params(line []byte, h jsonrpc.Head) []byte { return member(line, h.Params) }

func member(line []byte, at int) []byte {
	if at == 0 {
		return nil
	}
	return line[at : at+rawjson.SkipValue(line[at:], 0)]
}

func sessionOf(object []byte) string { return rawjson.Unquote(rawjson.Field(object, "sessionId")) }

// sends records a message of the editor, and returns it as it is sent, with what is pending then, and of an answer the link on which the
// question came last. held reports that sendRefused sends it: it is about a request that a replaced server has refused, or comes behind one
// about the same session. No cancel of a prompt that runs is held: a server refuses only clients without one.
func (r *Reconnector) sends(line []byte, h jsonrpc.Head) (_ []byte, _ *pendingMessage, link int, held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	session := sessionOf(params(line, h))
	switch {
	case h.Method == "":
		return line, nil, r.answers(line, h), false
	case h.ID == nil:
		requestID := rawjson.Field(params(line, h), "requestId")
		for _, p := range r.pending {
			if h.Method == "session/cancel" && p.session == session && p.method == "session/prompt" ||
				h.Method == "$/cancel_request" && jsonrpc.IDKey(p.id) == jsonrpc.IDKey(requestID) {
				p.cancelled = bytes.Clone(line)
				held = held || p.refused
			}
		}
		return line, nil, 0, held
	case h.Method == "initialize":
		if id := rawjson.Unquote(MetaField(params(line, h), "clientId")); id != "" {
			r.id = id
		}
		line = WithParamsMeta(line, map[string]string{"clientId": r.id})
		r.initialize = bytes.Clone(line)
	case h.Method == "session/prompt" && MetaField(params(line, h), "operationId") == nil:
		line = WithParamsMeta(line, map[string]string{"operationId": uuid.NewString()})
	}
	held = session != "" && slices.ContainsFunc(r.pending, func(p *pendingMessage) bool { return p.refused && p.session == session })
	p := &pendingMessage{line: bytes.Clone(line), id: bytes.Clone(h.ID), method: h.Method, session: session, sent: held, refused: held}
	r.pending = append(r.pending, p)
	return p.line, p, 0, held
}

// answers records an answer of the editor, and returns the link on which the question came last, 0 if it is unknown. The answer is kept, since
// the server asks again if it was lost with the link.
func (r *Reconnector) answers(line []byte, h jsonrpc.Head) (link int) {
	key := jsonrpc.IDKey(h.ID)
	q := r.questions[key]
	if q == nil || q.answer != nil {
		return 0
	}
	q.answer = bytes.Clone(line)
	if r.answered = append(r.answered, key); len(r.answered) > maxAnswers {
		delete(r.questions, r.answered[0])
		r.answered = r.answered[1:]
	}
	return q.link
}

// received handles a message of the server, and returns what the editor gets; nil for nothing.
func (r *Reconnector) received(line []byte) []byte {
	if !json.Valid(line) {
		return line
	}
	h, ok := jsonrpc.ReadHead(line)
	if !ok {
		return line
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case h.Method == "":
		return r.result(line, h)
	case h.IsRequest():
		key := jsonrpc.IDKey(h.ID)
		q := r.questions[key]
		if q == nil || !bytes.Equal(q.line, line) {
			r.questions[key] = &openQuestion{line: bytes.Clone(line), id: bytes.Clone(h.ID), link: r.links}
			return line
		}
		q.link = r.links
		if q.answer != nil {
			r.later = append(r.later, q.answer)
		}
		return nil
	case h.Method == "$/cancel_request":
		delete(r.questions, jsonrpc.IDKey(rawjson.Field(params(line, h), "requestId")))
	}
	r.advance(sessionOf(params(line, h)), params(line, h))
	return line
}

// advance records the cursor of a message or a result.
func (r *Reconnector) advance(session string, object []byte) {
	epoch, at := MetaField(object, "epoch"), MetaField(object, "line")
	if epoch == nil || at == nil {
		return
	}
	s := r.sessions[session]
	if s == nil { // a subagent's: the journal is its parent's
		for _, other := range r.sessions {
			if other.epoch == string(epoch) {
				s = other
			}
		}
	}
	if s != nil {
		s.at, s.epoch = fmt.Appendf(nil, `{"epoch":%s,"line":%s}`, epoch, at), string(epoch)
	}
}

// result handles an answer of the server.
func (r *Reconnector) result(line []byte, h jsonrpc.Head) []byte {
	key := jsonrpc.IDKey(h.ID)
	i := slices.IndexFunc(r.pending, func(p *pendingMessage) bool { return jsonrpc.IDKey(p.id) == key })
	if i < 0 {
		return line
	}
	p, result := r.pending[i], member(line, h.Result)
	if p.own == nil && result == nil && rawjson.Unquote(rawjson.Field(rawjson.Field(rawjson.Field(line, "error"), "data"), "kind")) == serverReplaced {
		p.refused = true
		return nil
	}
	r.pending = slices.Delete(r.pending, i, i+1)
	if p.own != nil {
		p.own(result)
		if !slices.ContainsFunc(r.pending, func(p *pendingMessage) bool { return p.own != nil }) {
			r.withdrawQuestions()
		}
		return nil
	}
	if result == nil {
		return line
	}
	if p.setsProvider() {
		r.provider = p.line
		return line
	}
	switch p.method {
	case "initialize":
		r.resumes = string(MetaField(result, "cursors")) == "true"
	case "session/new", "session/load", "session/resume", "session/fork":
		id := cmp.Or(sessionOf(result), p.session)
		ph, _ := jsonrpc.ReadHead(p.line)
		s := &openSession{params: map[string]json.RawMessage{}}
		for _, name := range []string{"cwd", "mcpServers", "additionalDirectories"} {
			if value := rawjson.Field(params(p.line, ph), name); value != nil {
				s.params[name] = value
			}
		}
		s.params["sessionId"], _ = json.Marshal(id)
		r.sessions[id] = s
		r.advance(id, result)
	default:
		r.forget(p)
	}
	return line
}

// setsProvider reports whether the message is a request that sets the provider.
func (p *pendingMessage) setsProvider() bool {
	h, _ := jsonrpc.ReadHead(p.line)
	return p.method == "providers/set" || p.method == "authenticate" && rawjson.Field(rawjson.Field(params(p.line, h), "_meta"), "gateway") != nil
}

// forget removes what is not to be restored on the next connection, since a request has taken it back or replaced it, or may have.
func (r *Reconnector) forget(p *pendingMessage) {
	switch {
	case slices.Contains([]string{"session/close", "session/delete", "session/archive"}, p.method):
		delete(r.sessions, p.session)
	case p.setsProvider(), p.method == "providers/disable", p.method == "logout":
		r.provider = nil
	}
}

// canResume reports whether to connect again after a connection has ended with this error.
func (r *Reconnector) canResume(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resumes && r.err == nil && (r.Final == nil || !r.Final(err))
}

// lose records that a connection has ended.
func (r *Reconnector) lose(conn MessageConn, err error) {
	resumes := r.canResume(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == conn {
		if resumes {
			err = nil
		}
		r.setLocked(nil, err)
	}
}

func (r *Reconnector) limit() time.Duration { return cmp.Or(r.Limit, ReconnectTime) }

// reconnect connects again after a link was cut. The error says why it gave up.
func (r *Reconnector) reconnect(ctx context.Context) error {
	ended, limit := r.cut, r.limit()
	r.cut = nil
	timeout, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		attempt, giveUp := context.WithTimeout(timeout, attemptTime)
		conn, err := r.Connect(attempt)
		if err == nil {
			err = r.resume(attempt, conn)
		}
		giveUp()
		if conn != nil {
			if err == nil {
				r.Notify(fmt.Sprintf("the link to the server is back, after %v", time.Since(began).Round(time.Second)))
				return nil
			}
			_ = conn.Close() // it has ended
		}
		select {
		case <-time.After(pause):
			continue
		case <-timeout.Done():
		}
		if ctx.Err() == nil {
			ended = &GivenUpError{ended, err, limit}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.setLocked(nil, cmp.Or(r.err, ended))
		return ended
	}
}

// GivenUpError means that reconnecting failed until the limit.
type GivenUpError struct {
	ended, last error
	limit       time.Duration
}

func (e *GivenUpError) Error() string {
	return fmt.Sprintf("%v; it could not be connected again within %v: %v", e.ended, e.limit, e.last)
}

// Attempts says, in a sentence, how long it was tried, and what came of that.
func (e *GivenUpError) Attempts() string {
	return fmt.Sprintf("It could not be connected again within %v: %v.", e.limit, strings.TrimSuffix(e.last.Error(), "."))
}

func (e *GivenUpError) Unwrap() error { return e.ended }
