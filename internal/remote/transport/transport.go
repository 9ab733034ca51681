// Package transport is ACP's remote transport, as the RFD "Streamable HTTP & WebSocket
// Transport" has it (docs/rfds/streamable-http-websocket-transport.mdx of
// agentclientprotocol/agent-client-protocol, commit
// ccff4e7d2e431880225804a8c136c2ccfcb313d0): one endpoint, /acp, on which a client speaks
// either WebSocket, or POST with streams of server-sent events. It knows connections,
// streams and who may connect; what a message means is its receiver's.
//
// In three points it does not follow the RFD's text. A stream of a session that this
// connection has not named before is opened and not answered with 404: the RFD's own
// resume flow opens it before session/load, and so does the TypeScript SDK. HTTP/1.1 is
// served besides HTTP/2, as the fetch of Node speaks nothing else. Events have ids, and a
// stream goes on after Last-Event-ID, which the RFD leaves to its second version.
package transport

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/remote/serve"
)

// Path is where the endpoint is.
const Path = "/acp"

// HealthPath answers whoever asks whether the server runs, without a token, and tells nothing else.
const HealthPath = "/healthz"

// Headers of the RFD, and our own with the server's version.
const (
	ConnectionHeader = "Acp-Connection-Id"
	SessionHeader    = "Acp-Session-Id"
	VersionHeader    = "Droid-Acp-Version"
)

// Limits that no option changes.
const (
	maxConnections = 256              // of one handler; the next one gets 503
	maxStreams     = 1024             // of one connection
	maxSessionID   = 1024             // bytes of Acp-Session-Id
	ringSize       = 4 << 20          // bytes of a stream that Last-Event-ID can ask for again
	pieceSize      = 32 << 10         // bytes that are written at once; a client must take so many in writeLimit
	writeLimit     = time.Minute      // see pieceSize
	readLimit      = time.Minute      // for the next piece of a request's body
	refuseLimit    = 10 * time.Second // for the rest of a body that is not wanted
	aloneLimit     = time.Minute      // how long a connection lives without its stream
	leftLimit      = 15 * time.Second // the same where all streams that it had broke off, as at the death of its client
	lingerLimit    = 10 * time.Second // how long a connection that ends waits until what was sent is written
	keepAlive      = 30 * time.Second // between pings, and between the comments of a stream
	pongLimit      = 20 * time.Second
	probeLimit     = 2 * time.Second // how long a stream's older reader may take to show that it lives
)

// Receiver is the other end of a connection; *serve.Client is one. Its methods are called
// one at a time. Gone is called once, and last.
type Receiver interface {
	Receive(message []byte)
	Gone()
}

// Options say whom a handler serves and how.
type Options struct {
	Join       func(out serve.Outlet, o serve.ClientOptions) Receiver
	Local      bool     // it listens on a socket that only this user can open
	Token      string   // what each client must know; "" for none
	Origins    []string // of pages whose scripts may connect, as "https://example.org"
	Hosts      []string // which Host headers are taken, with or without a port; nil for any
	MaxMessage int64    // of a client's message, in bytes; 0 is 256 MiB where Local, else 64 MiB
	MaxWaiting int      // what waits for a client that reads slowly, in bytes; 0 is 64 MiB
	MaxKept    int      // what waits for a client that has no stream open, in bytes; 0 is 32 MiB
	Version    string   // of the server, for clients
	Log        *zap.Logger
}

// Handler serves the endpoint. Make it with New and end it with Close.
type Handler struct {
	o      Options
	bodies budget
	work   sync.WaitGroup // requests that stay open, and the goroutines of connections

	mu     sync.Mutex
	closed bool
	byID   map[string]*connection // of Streamable HTTP
	all    map[ender]struct{}     // those of WebSocket, too
}

// ender is a connection as Close sees it.
type ender interface {
	Close(reason string) // politely
	end(reason string)   // now
}

// New makes a handler that has no connections yet.
func New(o Options) *Handler {
	if o.MaxMessage == 0 {
		o.MaxMessage = 64 << 20
		if o.Local {
			o.MaxMessage = 256 << 20
		}
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = 64 << 20
	}
	if o.MaxKept == 0 {
		o.MaxKept = 32 << 20
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	h := &Handler{o: o, byID: make(map[string]*connection), all: make(map[ender]struct{})}
	h.bodies.left.Store(4 * o.MaxMessage)
	return h
}

// ServeHTTP answers one request. Those that stay open, streams and WebSockets, end when
// their client leaves, when their receiver's agent is done with them, and by Close.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == HealthPath && h.isOurs(r.Host) {
		_, _ = io.WriteString(w, "ok\n") // who does not read it has gone
		return
	}
	if f := h.admit(w, r); f != nil {
		f.write(w)
		return
	}
	w.Header().Set(VersionHeader, h.o.Version)
	if f := h.route(w, r); f != nil {
		f.write(w)
	}
}

// route has a request that is admitted answered, or returns the answer.
func (h *Handler) route(w http.ResponseWriter, r *http.Request) *failure {
	switch {
	case r.URL.Path != Path:
		return fail(http.StatusNotFound, "There is nothing here; ACP is at "+Path+".")
	case r.Method == http.MethodGet && isUpgrade(r):
		return h.socket(w, r)
	case r.Method == http.MethodGet:
		return h.get(w, r)
	case r.Method == http.MethodPost:
		return h.post(w, r)
	case r.Method == http.MethodDelete:
		return h.remove(w, r)
	case r.Method == http.MethodOptions && r.Header.Get("Origin") != "":
		w.WriteHeader(http.StatusNoContent) // admit has said what a page may do
		return nil
	}
	w.Header().Set("Allow", "GET, POST, DELETE")
	return fail(http.StatusMethodNotAllowed, "Use POST, GET or DELETE here.")
}

// enter counts a connection, unless there are too many or the handler is closed. register
// is called with the lock of the handler. Who has entered calls leave.
func (h *Handler) enter(e ender, register func()) *failure {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return fail(http.StatusServiceUnavailable, "The server ends; connect again later.")
	case len(h.all) >= maxConnections:
		return fail(http.StatusServiceUnavailable, "The server has too many connections; close some first.")
	}
	h.all[e] = struct{}{}
	register()
	h.work.Add(1)
	return nil
}

// stay counts a request of a connection that stays open, unless the handler is closed.
func (h *Handler) stay() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.work.Add(1)
	}
	return !h.closed
}

func (h *Handler) leave(e ender, id string) {
	h.mu.Lock()
	delete(h.all, e)
	delete(h.byID, id)
	h.mu.Unlock()
	h.work.Done()
}

// find returns the connection of Streamable HTTP that a request names.
func (h *Handler) find(r *http.Request) (*connection, *failure) {
	id := r.Header.Get(ConnectionHeader)
	if id == "" {
		return nil, fail(http.StatusBadRequest, "The header "+ConnectionHeader+" is missing; send the one that initialize was answered with.")
	}
	h.mu.Lock()
	c := h.byID[id]
	h.mu.Unlock()
	if c == nil {
		return nil, fail(http.StatusNotFound, "There is no connection of this "+ConnectionHeader+" any more; send initialize again without it.")
	}
	return c, nil
}

// Close takes no more connections, ends those that there are once what was sent to them is
// written, at the latest when ctx ends, and returns when all are gone.
func (h *Handler) Close(ctx context.Context) {
	for _, e := range h.end() {
		e.Close("the server ends")
	}
	stop := context.AfterFunc(ctx, func() {
		for _, e := range h.end() {
			e.end("the server ends")
		}
	})
	defer stop()
	h.work.Wait()
}

func (h *Handler) end() (all []ender) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for e := range h.all {
		all = append(all, e)
	}
	return all
}

// clientOptions are what a receiver is told of the client that sent the request.
func (h *Handler) clientOptions(r *http.Request) serve.ClientOptions {
	if h.o.Local {
		return serve.ClientOptions{Local: true, From: "socket"}
	}
	return serve.ClientOptions{From: r.RemoteAddr}
}

func newID() string { return uuid.NewString() }
