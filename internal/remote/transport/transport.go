// Package transport implements ACP's remote transport by WebSocket, as in the RFD "Streamable HTTP & WebSocket Transport"
// (docs/rfds/streamable-http-websocket-transport.mdx of agentclientprotocol/agent-client-protocol, commit
// ccff4e7d2e431880225804a8c136c2ccfcb313d0): one endpoint, /acp. Clients of that transport speak Streamable HTTP and WebSocket; a server
// may speak WebSocket alone, as this one does. Its main types are Handler, which the command serve runs, and Conn, which package keep uses
// to reach it.
//
// The package handles connections and admission; the receiver handles messages.
package transport

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"droid-acp/internal/remote/serve"
)

// Path is the path of the endpoint.
const Path = "/acp"

// healthPath answers, without a token, that the server runs, and nothing else.
const healthPath = "/healthz"

// readyPath answers, without a token, whether the server can open sessions; metricsPath, with one, its metrics.
const (
	readyPath   = "/readyz"
	metricsPath = "/metrics"
)

// AdminPaths are the paths of the requests of ps and stop: GET for any token, POST for those with the role full.
var AdminPaths = []string{"/status", "/stop", "/kill", "/drain"}

// The header of the RFD, and ours for the server's version.
const (
	connectionHeader = "Acp-Connection-Id"
	versionHeader    = "Droid-Acp-Version"
)

// Limits that no option changes.
const (
	maxConnections = 256              // per handler; further ones get 503, or the place of one that has sent nothing
	maxHalfOpen    = 256              // connections per server without a WebSocket; the oldest gives way to a further one
	pieceSize      = 32 << 10         // bytes written at once; a client that takes a queued piece is alive
	refuseLimit    = 10 * time.Second // for the rest of an unwanted body
	lingerLimit    = 10 * time.Second // how long an ending connection waits until its queue is written
	keepAlive      = 30 * time.Second // between pings
	pongLimit      = 20 * time.Second
	blockedAfter   = 100 * time.Millisecond // a write that takes longer waits for the client
)

// Receiver handles the messages of a connection; *serve.Client is one. Its methods are called one at a time. Receive is not called until
// the channel that the previous call returned is closed. Disconnected is called once, and last.
type Receiver interface {
	Receive(message []byte) (full <-chan struct{})
	Disconnected()
}

// Token is a secret by which a client is admitted.
type Token struct {
	Name   string // for the log
	Secret string
	Role   serve.Role // of its clients
}

// Options configure a handler.
type Options struct {
	Join       func(out serve.Outlet, o serve.ClientOptions) Receiver
	Local      bool                    // it listens on a socket that only this user can open
	Tokens     []Token                 // each client must present one of them, until SetTokens; nil for none
	Origins    []string                // of pages whose scripts may connect, such as "https://example.org"
	Hosts      []string                // accepted Host headers, with or without a port; nil for any
	MaxMessage int64                   // maximum size of a client's message, in bytes; 0 means 256 MiB if Local, otherwise 64 MiB
	MaxWaiting int                     // maximum size of the queue for a slow client, in bytes; 0 means 64 MiB
	Metrics    func(w io.Writer) error // writes the metrics of the server; nil if there are none
	Admin      http.Handler            // answers the commands ps and stop, at AdminPaths; nil if they do not come this way
	Ready      func() error            // returns why the server can open no session; nil if that is not known
	Refused    func(status int)        // counts a refused request; may be nil
	Version    string                  // of the server, as sent to clients
	Log        *zap.Logger
}

// Handler serves the endpoint. Make it with New and end it with Close.
type Handler struct {
	o      Options
	bodies budget
	work   sync.WaitGroup // connections

	mu      sync.Mutex
	closed  bool
	tokens  []Token
	tickets map[[sha256.Size]byte]*accessTicket // by the hashes of their secrets
	all     map[*socket]struct{}
}

// New makes a handler without connections.
func New(o Options) *Handler {
	if o.MaxMessage == 0 {
		o.MaxMessage = 64 << 20
		if o.Local {
			o.MaxMessage = 256 << 20
		}
	}
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 64<<20)
	o.Log = cmp.Or(o.Log, zap.NewNop())
	h := &Handler{o: o, all: make(map[*socket]struct{}), tickets: make(map[[sha256.Size]byte]*accessTicket)}
	h.bodies.left.Store(4 * o.MaxMessage)
	h.tokens = o.Tokens
	return h
}

// SetTokens replaces the tokens. Connections by tokens that are not among them, with the same name and role, end.
func (h *Handler) SetTokens(tokens []Token) {
	h.mu.Lock()
	h.tokens = tokens
	maps.DeleteFunc(h.tickets, func(_ [sha256.Size]byte, t *accessTicket) bool { return !slices.Contains(tokens, t.token) })
	var revoked []*socket
	for s := range h.all {
		if !slices.Contains(tokens, s.token) {
			revoked = append(revoked, s)
		}
	}
	h.mu.Unlock()
	for _, s := range revoked {
		s.stop(websocket.StatusPolicyViolation, "the token was revoked or changed")
	}
}

// ServeHTTP answers one request. For a WebSocket it returns when the client leaves, the receiver ends the connection, or Close does.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == healthPath && h.isOurs(r.Host) {
		_, _ = io.WriteString(w, "ok\n") // a client that does not read it has gone
		return
	}
	if r.URL.Path == readyPath && h.isOurs(r.Host) && h.o.Ready != nil {
		if h.o.Ready() != nil { // the reason is for the server's user
			fail(http.StatusServiceUnavailable, "not ready").write(w)
			return
		}
		_, _ = io.WriteString(w, "ok\n") // a client that does not read it has gone
		return
	}
	a, f := h.admit(r)
	if f == nil {
		w.Header().Set(versionHeader, h.o.Version)
		f = h.route(w, r, a)
	}
	if f != nil {
		if h.o.Refused != nil {
			h.o.Refused(f.status)
		}
		h.o.Log.Warn("refused a connection", append(h.logFields(r, a), zap.Int("status", f.status), zap.String("reason", f.reason()))...)
		f.write(w)
	}
}

// logFields returns the fields of the log by which the client that sent a request is known: the name of the token, if it presents one.
func (h *Handler) logFields(r *http.Request, a admission) []zap.Field {
	fields := []zap.Field{zap.String("from", h.origin(r))}
	if a.token.Name != "" {
		fields = append(fields, zap.String("token", a.token.Name), zap.Stringer("role", a.role))
	}
	return fields
}

// route handles an admitted request, or returns the error to answer with.
func (h *Handler) route(w http.ResponseWriter, r *http.Request, a admission) *httpError {
	switch {
	case r.URL.Path == metricsPath && h.o.Metrics != nil && r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = h.o.Metrics(w) // a client that does not read it has gone
		return nil
	case r.URL.Path == ticketPath && a.role != 0:
		return h.giveTicket(w, r, a)
	case h.o.Admin != nil && slices.Contains(AdminPaths, r.URL.Path):
		if r.Method != http.MethodGet && a.role&serve.Full == 0 {
			return fail(http.StatusForbidden, "The token has the role "+a.role.String()+", and only full may end what runs here.")
		}
		if r.Method != http.MethodGet {
			h.o.Log.Info("a client ends what runs here", append(h.logFields(r, a), zap.String("path", r.URL.Path), zap.String("session", r.URL.Query().Get("session")))...)
		}
		h.o.Admin.ServeHTTP(w, r)
		return nil
	case r.URL.Path != Path:
		return fail(http.StatusNotFound, "There is nothing here; ACP is at "+Path+".")
	case !isUpgrade(r):
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		return fail(http.StatusUpgradeRequired, "This server speaks ACP by WebSocket alone, not by Streamable HTTP: connect with a ws:// or wss:// URL.")
	}
	return h.socket(w, r, a)
}

// enter adds a connection, unless there are too many or the handler is closed. The caller must call leave.
func (h *Handler) enter(s *socket) *httpError {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) >= maxConnections {
		h.evictSilent()
	}
	switch {
	case h.closed:
		return fail(http.StatusServiceUnavailable, "The server ends; connect again later.")
	case h.tokens != nil && !slices.Contains(h.tokens, s.token): // SetTokens has revoked it since
		return fail(http.StatusUnauthorized, wrongToken)
	case len(h.all) >= maxConnections:
		return fail(http.StatusServiceUnavailable, "The server has too many connections; close some first.")
	}
	h.all[s] = struct{}{}
	h.work.Add(1)
	return nil
}

// evictSilent ends the oldest connection that has sent nothing, if there is one. The caller holds mu.
func (h *Handler) evictSilent() {
	var oldest *socket
	for s := range h.all {
		if s.moved.Load() == 0 && (oldest == nil || s.begun.Before(oldest.begun)) {
			oldest = s
		}
	}
	if oldest != nil {
		delete(h.all, oldest)
		oldest.end("it has sent nothing, and another client needs its place")
	}
}

func (h *Handler) leave(s *socket) {
	h.mu.Lock()
	delete(h.all, s)
	h.mu.Unlock()
	h.work.Done()
}

// Close accepts no more connections, ends the existing ones once their queues are written or ctx is done, and returns when all have ended.
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

// clientOptions returns what the receiver gets to know of the client that sent the request.
func (s *socket) clientOptions(r *http.Request) serve.ClientOptions {
	return serve.ClientOptions{Local: s.h.o.Local, From: s.h.origin(r), Role: s.role, Token: s.token.Name, Connection: s.id}
}

// origin returns where a request comes from, for people.
func (h *Handler) origin(r *http.Request) string {
	if h.o.Local {
		return "socket"
	}
	return r.RemoteAddr
}

// Server makes an HTTP server for a handler, which logs its errors. It speaks HTTP/1.1 alone, with which a WebSocket begins, and works without TLS, for a loopback
// address or a local socket. Headers must arrive within ten seconds; after them the Handler bounds the time itself.
func Server(h http.Handler, config *tls.Config, log *zap.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	errors, _ := zap.NewStdLogAt(log, zap.WarnLevel) // the level is known
	return &http.Server{
		ConnState: new(halfOpen).update,
		ErrorLog:  errors,
		Handler:   h, TLSConfig: config, Protocols: &protocols,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}
