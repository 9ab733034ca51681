// Package transport is ACP's remote transport by WebSocket, as the RFD "Streamable HTTP &
// WebSocket Transport" has it (docs/rfds/streamable-http-websocket-transport.mdx of
// agentclientprotocol/agent-client-protocol, commit
// ccff4e7d2e431880225804a8c136c2ccfcb313d0): one endpoint, /acp. A client of that transport
// speaks Streamable HTTP and WebSocket; a server may speak WebSocket alone, and this one does.
// It knows connections and who may connect; what a message means is its receiver's.
package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/remote/serve"
)

// Path is where the endpoint is.
const Path = "/acp"

// HealthPath answers whoever asks whether the server runs, without a token, and tells nothing else.
const HealthPath = "/healthz"

// The header of the RFD, and our own with the server's version.
const (
	ConnectionHeader = "Acp-Connection-Id"
	VersionHeader    = "Droid-Acp-Version"
)

// Limits that no option changes.
const (
	maxConnections = 256              // of one handler; the next one gets 503
	pieceSize      = 32 << 10         // bytes that are written at once; a client that takes so many, when they have waited, lives
	refuseLimit    = 10 * time.Second // for the rest of a body that is not wanted
	lingerLimit    = 10 * time.Second // how long a connection that ends waits until what was sent is written
	keepAlive      = 30 * time.Second // between pings
	pongLimit      = 20 * time.Second
	blockedAfter   = 100 * time.Millisecond // how long the write of a piece takes that waits for the client
)

// Receiver is the other end of a connection; *serve.Client is one. Its methods are called
// one at a time. While what Receive returned is not closed, it is not called. Gone is called once, and last.
type Receiver interface {
	Receive(message []byte) (full <-chan struct{})
	Disconnected()
}

// Options say whom a handler serves and how.
type Options struct {
	Join       func(out serve.Outlet, o serve.ClientOptions) Receiver
	Local      bool     // it listens on a socket that only this user can open
	Token      string   // what each client must know, until SetToken; "" for none
	Origins    []string // of pages whose scripts may connect, as "https://example.org"
	Hosts      []string // which Host headers are taken, with or without a port; nil for any
	MaxMessage int64    // of a client's message, in bytes; 0 is 256 MiB where Local, else 64 MiB
	MaxWaiting int      // what waits for a client that reads slowly, in bytes; 0 is 64 MiB
	Version    string   // of the server, for clients
	Log        *zap.Logger
}

// Handler serves the endpoint. Make it with New and end it with Close.
type Handler struct {
	o      Options
	token  atomic.Pointer[string]
	bodies budget
	work   sync.WaitGroup // connections

	mu     sync.Mutex
	closed bool
	all    map[*socket]struct{}
}

// New makes a handler that has no connections yet.
func New(o Options) *Handler {
	if o.MaxMessage == 0 {
		o.MaxMessage = 64 << 20
		if o.Local {
			o.MaxMessage = 256 << 20
		}
	}
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 64<<20)
	o.Log = cmp.Or(o.Log, zap.NewNop())
	h := &Handler{o: o, all: make(map[*socket]struct{})}
	h.bodies.left.Store(4 * o.MaxMessage)
	h.SetToken(o.Token)
	return h
}

// SetToken sets what each client must know that connects from now on; "" for nothing.
func (h *Handler) SetToken(token string) { h.token.Store(&token) }

// ServeHTTP answers one request. A WebSocket stays until its client leaves, its receiver's
// agent is done with it, or Close ends it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == HealthPath && h.isOurs(r.Host) {
		_, _ = io.WriteString(w, "ok\n") // who does not read it has gone
		return
	}
	if f := h.admit(r); f != nil {
		f.write(w)
		return
	}
	w.Header().Set(VersionHeader, h.o.Version)
	if f := h.route(w, r); f != nil {
		f.write(w)
	}
}

// route has a request that is admitted answered, or returns the answer.
func (h *Handler) route(w http.ResponseWriter, r *http.Request) *httpError {
	switch {
	case r.URL.Path != Path:
		return fail(http.StatusNotFound, "There is nothing here; ACP is at "+Path+".")
	case !isUpgrade(r):
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		return fail(http.StatusUpgradeRequired, "This server speaks ACP by WebSocket alone, not by Streamable HTTP: connect with a ws:// or wss:// URL.")
	}
	return h.socket(w, r)
}

// enter counts a connection, unless there are too many or the handler is closed. Who has
// entered calls leave.
func (h *Handler) enter(s *socket) *httpError {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return fail(http.StatusServiceUnavailable, "The server ends; connect again later.")
	case len(h.all) >= maxConnections:
		return fail(http.StatusServiceUnavailable, "The server has too many connections; close some first.")
	}
	h.all[s] = struct{}{}
	h.work.Add(1)
	return nil
}

func (h *Handler) leave(s *socket) {
	h.mu.Lock()
	delete(h.all, s)
	h.mu.Unlock()
	h.work.Done()
}

// Close takes no more connections, ends those that there are once what was sent to them is
// written, at the latest when ctx ends, and returns when all are gone.
func (h *Handler) Close(ctx context.Context) {
	for _, s := range h.end() {
		s.Close("the server ends")
	}
	stop := context.AfterFunc(ctx, func() {
		for _, s := range h.end() {
			s.end("the server ends")
		}
	})
	defer stop()
	h.work.Wait()
}

func (h *Handler) end() []*socket {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return slices.Collect(maps.Keys(h.all))
}

// clientOptions are what a receiver is told of the client that sent the request.
func (h *Handler) clientOptions(r *http.Request) serve.ClientOptions {
	if h.o.Local {
		return serve.ClientOptions{Local: true, From: "socket"}
	}
	return serve.ClientOptions{From: r.RemoteAddr}
}

// Server is an HTTP server for a handler: HTTP/1.1 alone, which a WebSocket begins with,
// also without TLS, which is for a loopback address or a socket only. Headers must come within
// ten seconds; of what comes after them a Handler bounds the time itself.
func Server(h http.Handler, config *tls.Config) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: h, TLSConfig: config, Protocols: &protocols,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
