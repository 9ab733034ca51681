package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/cli/flags"
	"droid-acp/internal/droid/gateway"
	"droid-acp/internal/remote/keep"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
	"droid-acp/internal/sys/subprocess"
)

// serverName is the name of the command that keeps agents.
const serverName = "serve"

// logJSON is the flag that makes stderr a log of JSON lines.
const logJSON = "log-json"

// serverEndTime is how long the agents of an ending server may take to end gracefully.
const serverEndTime = 25 * time.Second

// serverCommand returns the command that keeps agents alive while editors come and go.
func serverCommand() subcommand {
	return subcommand{
		Command: &cobra.Command{
			Use: serverName, Args: cobra.NoArgs, Short: "Keep agents while editors come and go (what --keep starts)",
			Long: "It listens on a Unix socket that only you can open, and runs agents for those who open sessions. What runs goes on when a client leaves, and the next one can join it. " +
				"With --listen clients over the network can come, too, by ACP's remote transport at /acp, a WebSocket; they must know a token. The flags of an agent are for theirs. " +
				"SIGHUP has tokens and certificate read again. It ends the connections of tokens that are no longer there, and nothing else.\n\n" +
				"Exit codes: 0 it was ended, or nothing was there for --idle, 1 it could not listen, or another one runs, 2 wrong usage.",
		},
		reads: agentNames(),
		own: []flags.Setting{
			socketSetting(),
			{Name: "listen", Kind: flags.Text, Value: "ADDRESS", Unset: "the socket alone", Does: "an address for clients over TCP, such as 127.0.0.1:7777; others than this machine's own need TLS"},
			{Name: "token-file", Kind: flags.File, Value: "FILE", Does: "the file with the token that these clients must know, or with lines of NAME ROLE TOKEN; it is made where it is missing"},
			{Name: "tls-cert", Kind: flags.File, Value: "FILE", Does: "the certificate for --listen, in PEM"},
			{Name: "tls-key", Kind: flags.File, Value: "FILE", Does: "its key, in PEM"},
			{Name: "origin", Kind: flags.Texts, Value: "URL", Does: "the origin of a web page that may connect to --listen, such as https://example.org"},
			{Name: "max-agents", Kind: flags.Number, Value: "N", Default: "0", Does: "how many agents run at once; who needs one more gets an error (0: any number)"},
			{Name: "max-sessions", Kind: flags.Number, Value: "N", Default: "0", Does: "how many sessions each token has open at once (0: any number)"},
			{Name: "max-memory", Kind: flags.Number, Value: "MIB", Default: "0", Does: "from how much memory of all agents on, in MiB, no session is opened (0: any; Linux)"},
			{Name: logJSON, Kind: flags.Switch, Does: "write the log to stderr as JSON lines, with who connects and what they open"},
			{Name: "host", Kind: flags.Texts, Value: "NAME", Does: "the name by which clients reach --listen through a proxy that passes it on as Host, such as droid.example.org"},
			{Name: "answer-for", Kind: flags.Duration, Value: "TIME", Default: "1h", Form: "a time such as 10m or 1h", Does: "how long a question waits while nobody is there who may answer it; then it is refused"},
			{Name: "keep-idle", Kind: flags.Duration, Value: "TIME", Default: "5m", Form: "a time such as 30s or 5m", Does: "how long a session stays without a client once nothing runs in it"},
			{Name: "idle", Kind: flags.Duration, Value: "TIME", Default: "30m", Form: "a time such as 10m or 1h", Does: "end when there was neither a client nor an agent for this time (0: never)"},
		},
		run: runServer,
	}
}

// remote is a server's configuration for TCP.
type remote struct {
	address, tokenFile string
	cert, key          string       // files, "" without TLS
	listener           net.Listener // nil until it listens
	options            transport.Options
	tls                *tls.Config // nil without TLS
	pair               atomic.Pointer[tls.Certificate]
}

// remote returns the configuration given by --listen and its flags, nil without --listen. The error says what is wrong with them.
func (c *invocation) remote() (*remote, error) {
	v := c.values
	address, cert, key := v.String("listen"), v.String("tls-cert"), v.String("tls-key")
	if address == "" {
		for _, name := range []string{"token-file", "tls-cert", "tls-key", "origin", "host"} {
			if v.String(name) != "" {
				return nil, fmt.Errorf("--%s is for --listen, and that is not there", name)
			}
		}
		return nil, nil
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("--tls-cert and --tls-key belong together")
	}
	loopback, err := keep.CheckAddress(address, cert != "")
	if err != nil {
		return nil, err
	}
	if v.String("token-file") == "" {
		return nil, errors.New("--listen needs --token-file: whoever reaches the address must know the token in it")
	}
	r := &remote{address: address, tokenFile: v.String("token-file"), cert: cert, key: key, options: transport.Options{Origins: v.Strings("origin")}}
	switch hosts := v.Strings("host"); {
	case loopback && cert == "":
		own, _, _ := net.SplitHostPort(address)                                            // CheckAddress has split it
		r.options.Hosts = append([]string{"localhost", "127.0.0.1", "::1", own}, hosts...) // a page's own name may resolve to this host (DNS rebinding)
	case len(hosts) > 0:
		return nil, errors.New("--host is for --listen without TLS; with TLS clients may use any name")
	}
	if cert != "" {
		pair, err := r.readPair()
		if err != nil {
			return nil, err
		}
		r.pair.Store(pair)
		r.tls = &tls.Config{
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.pair.Load(), nil }, MinVersion: tls.VersionTLS12,
		}
	}
	return r, nil
}

// readPair reads the certificate and its key; it returns nil without TLS.
func (r *remote) readPair() (*tls.Certificate, error) {
	if r.cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(r.cert, r.key)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be used: %w", err)
	}
	if err := keep.CheckSecret(r.key, "the key of the certificate"); err != nil {
		return nil, err
	}
	return &pair, nil
}

// reload reads the tokens and the certificate again, and ends the connections of tokens that are gone. After an error both are unchanged.
func (r *remote) reload(h *transport.Handler) error {
	pair, err := r.readPair()
	if err != nil {
		return err
	}
	tokens, err := keep.LoadTokens(r.tokenFile)
	if err != nil {
		return err
	}
	r.pair.Store(pair)
	h.SetTokens(tokens)
	return nil
}

// listen listens on the address.
func (r *remote) listen() (err error) {
	if r.listener, err = net.Listen("tcp", r.address); err != nil {
		return fmt.Errorf("%w; end what listens there, or give --listen another address of this machine", err)
	}
	return nil
}

func runServer(c *invocation) int {
	path, err := c.socket()
	if err != nil {
		return c.wrong(err)
	}
	remote, err := c.remote()
	if err != nil {
		return c.wrong(err)
	}
	if c.values.Number("max-memory") > 0 {
		if _, err := subprocess.Memory(nil); err != nil {
			return c.wrong(fmt.Errorf("--max-memory: %w", err))
		}
	}
	return c.logged(func(log *zap.Logger) int { return c.keep(log, path, remote) })
}

// keep runs the server on the socket at path, and on the network if remote is not nil.
func (c *invocation) keep(log *zap.Logger, path string, remote *remote) int {
	limitMemory()
	_ = os.Unsetenv(flags.EnvKeep) // its agents are kept already
	if remote != nil {             // before another server steps aside
		var err error
		if remote.options.Tokens, err = keep.LoadTokens(remote.tokenFile); err != nil {
			return c.failed(err)
		}
	}
	listener, err := keep.Listen(c.leaving.ctx, path, log)
	if errors.Is(err, keep.ErrRunning) && clientFor(path).StepAside(c.leaving.ctx) == nil {
		log.Info("taking the place of a server that drains")
		listener, err = keep.Listen(c.leaving.ctx, path, log)
	}
	switch {
	case errors.Is(err, keep.ErrRunning):
		command := commandFor(path)
		return c.failed(fmt.Errorf("%w; %s shows what it keeps, %s ends it", err, command("ps"), command("stop")))
	case err != nil:
		return c.failed(err)
	}
	defer listener.Release()
	s, err := c.newServer(listener, path, remote, log)
	if err != nil {
		_ = listener.Close() // no client was served
		return c.failed(err)
	}
	defer s.closeStderr()
	c.leaving.onForce(s.kill)
	c.leaving.onHangup(func() {
		if err := s.reload(); err != nil {
			s.notice(zap.ErrorLevel, err.Error()+"; tokens and certificate stay as they were")
		}
	})
	return s.run(c)
}

// server runs until it is no longer needed.
type server struct {
	hub       *serve.Server
	stderr    *logWriter                             // of its agents, nil if it is logged
	notice    func(level zapcore.Level, text string) // shows a text to the operator
	endpoints []endpoint
	stop      chan struct{} // closed by the command stop
	ended     chan struct{} // closed when everything that it ran has ended
	stopping  func()        // closes stop
	reload    func() error  // reads the tokens and the certificate again
	log       *zap.Logger
}

// endpoint is one way to connect to the server.
type endpoint struct {
	listener net.Listener
	http     *http.Server
	acp      *transport.Handler
}

// newServer makes a server that accepts no connections yet.
func (c *invocation) newServer(socket *keep.Listener, path string, remote *remote, log *zap.Logger) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if remote != nil {
		if err := remote.listen(); err != nil {
			return nil, err
		}
	}
	s := &server{stop: make(chan struct{}), ended: make(chan struct{}), reload: func() error { return nil }, log: log}
	s.stopping = sync.OnceFunc(func() { close(s.stop) })
	s.notice = func(level zapcore.Level, text string) { log.Log(level, text) }
	var agents io.Writer = agentLog{log}
	if !c.values.Bool(logJSON) {
		s.notice = func(_ zapcore.Level, text string) { fmt.Fprintf(c.stderr, "droid-acp serve: %s\n", text) }
		s.stderr = newLogWriter(c.stderr, func(n int) []byte {
			return fmt.Appendf(nil, "droid-acp serve: %d pieces of what agents wrote to stderr were lost here, because nobody read them in time\n", n)
		})
		agents = s.stderr
	}
	place := sha256.Sum256([]byte(path)) // each server has its own journals
	s.hub, err = serve.New(serve.Options{
		Agent: thisAgent(), Program: self, Args: c.values.Flags(agentNames()), Journals: stateFile(filepath.Join("journals", hex.EncodeToString(place[:8]))),
		AnswerFor: c.values.Duration("answer-for"), KeepIdle: c.values.Duration("keep-idle"), MaxAgents: c.values.Number("max-agents"), MaxSessions: c.values.Number("max-sessions"), MaxMemory: int64(c.values.Number("max-memory")) << 20, Memory: subprocess.Memory, Version: version(), Command: commandFor(path), Stderr: agents, Log: log, ServeQueries: serveQueries, Compare: compare, Thread: threads(), Ready: c.checkDroid(),
		Earlier: earlierServer{path, log},
	})
	if err != nil {
		s.closeStderr()
		return nil, err
	}
	admin := keep.Admin(s.hub, s.end, func() error { return s.stepAside(c.leaving.ctx, socket) })
	mux := http.NewServeMux()
	local := s.handler(transport.Options{Local: true})
	mux.Handle(transport.Path, local)
	mux.Handle("/", admin)
	s.endpoints = append(s.endpoints, endpoint{socket, transport.Server(mux, nil, log), local})
	if remote != nil {
		remote.options.Admin = admin
		far := s.handler(remote.options)
		s.endpoints = append(s.endpoints, endpoint{remote.listener, transport.Server(far, remote.tls, log), far})
		s.reload = func() error {
			err := remote.reload(far)
			if err == nil {
				log.Info("reloaded tokens and certificate")
			}
			return err
		}
		scheme := "ws"
		if remote.tls != nil {
			scheme = "wss"
		}
		s.notice(zap.InfoLevel, fmt.Sprintf("clients can connect to %s://%s%s with a token in %s", scheme, remote.listener.Addr(), transport.Path, remote.tokenFile))
	}
	return s, nil
}

// readyTime is how long the answer to whether droid is installed holds: who asks needs no token.
const readyTime = 5 * time.Second

// checkDroid returns a function that returns why agents find no droid, nil if they do.
func (c *invocation) checkDroid() func() error {
	var mu sync.Mutex
	var known error
	var until time.Time
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().After(until) {
			_, known = c.findDroid()
			until = time.Now().Add(readyTime)
		}
		return known
	}
}

// agentLog logs the lines that agents write to stderr.
type agentLog struct{ log *zap.Logger }

func (l agentLog) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.log.Info("an agent wrote to stderr", zap.ByteString("text", line))
		}
	}
	return len(text), nil
}

func (s *server) closeStderr() {
	if s.stderr != nil {
		s.stderr.close()
	}
}

// handler returns a handler that serves ACP on one endpoint.
func (s *server) handler(o transport.Options) *transport.Handler {
	o.Join = func(out serve.Outlet, client serve.ClientOptions) transport.Receiver { return s.hub.Join(out, client) }
	o.Version, o.Log = version(), s.log
	o.Metrics, o.Ready, o.Refused = s.hub.WriteMetrics, s.hub.CheckReady, s.hub.CountRefusal
	return transport.New(o)
}

// end handles the command stop. It returns when everything has ended.
func (s *server) end() {
	s.stopping()
	<-s.ended
}

// run serves until the server is no longer needed, and ends everything that it runs.
func (s *server) run(c *invocation) int {
	ctx, cancel := context.WithCancel(c.leaving.ctx)
	defer cancel()
	broken := make(chan error, len(s.endpoints))
	var serving sync.WaitGroup
	for _, d := range s.endpoints {
		serving.Go(func() {
			if err := d.serve(); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				broken <- err
			}
		})
	}
	idle := make(chan struct{})
	if limit := c.values.Duration("idle"); limit > 0 {
		serving.Go(func() {
			if s.hub.Idle(ctx, limit) == nil {
				close(idle)
			}
		})
	}
	code := exitOK
	select {
	case <-ctx.Done():
	case <-s.stop:
	case <-idle:
		s.log.Info("the server ends because it is unused")
	case err := <-broken:
		code = c.failed(err)
	}
	s.close()
	cancel()
	serving.Wait()
	return code
}

// stepAside lets another server listen in place of this one, which drains, and ends once nothing works in it.
func (s *server) stepAside(ctx context.Context, socket *keep.Listener) error {
	if !s.hub.Status().Draining {
		return errors.New("this server accepts new sessions itself")
	}
	if err := socket.StepAside(func() {
		for _, d := range s.endpoints {
			if d.listener != net.Listener(socket) {
				_ = d.listener.Close() // connections stay
			}
		}
	}); err != nil {
		return err
	}
	s.log.Info("another server takes the place of this one")
	go func() {
		if s.hub.DrainAside(ctx) == nil {
			s.stopping()
		}
	}()
	return nil
}

// earlierServer is a server whose place this one has taken.
type earlierServer struct {
	path string // of the socket that this one has now
	log  *zap.Logger
}

func (e earlierServer) Runs() bool { return keep.IsAside(e.path) }

func (e earlierServer) Yield(sessions []string) (inUse bool, err error) {
	return clientFor(keep.AsidePath(e.path)).Yield(context.Background(), sessions)
}

func (e earlierServer) Serve(h serve.AttachParams, in io.Reader, out io.Writer) error {
	aside := keep.AsidePath(e.path)
	bridge := &keep.StdioBridge{
		Attach: h, In: in, Out: out, Log: e.log, Command: commandFor(aside),
		Interactive: true, // it ends at once with the earlier server
		Connect:     func(ctx context.Context) (keep.MessageConn, error) { return attachTo(ctx, aside, nil) },
	}
	return bridge.Run(context.Background())
}

// kill ends everything that the server runs at once.
func (s *server) kill() {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	s.hub.Close(now)
}

func (d endpoint) serve() error {
	if d.http.TLSConfig != nil {
		return d.http.ServeTLS(d.listener, "", "")
	}
	return d.http.Serve(d.listener)
}

// close accepts no more connections, ends what runs, gracefully for serverEndTime, and answers the stop requests.
func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), serverEndTime)
	defer cancel()
	var shut sync.WaitGroup
	for _, d := range s.endpoints {
		_ = d.listener.Close() // it accepts no more
	}
	s.hub.Close(ctx)
	for _, d := range s.endpoints {
		d.acp.Close(ctx)
	}
	close(s.ended)
	for _, d := range s.endpoints {
		shut.Go(func() { _ = d.http.Shutdown(ctx) }) // clients that are still connected have got their answers
	}
	shut.Wait()
}

// thisAgent describes this program as an agent, for serve and via.
func thisAgent() relay.Agent {
	return relay.Agent{
		Name: "droid-acp", HistoryOwner: "droid", Provider: gateway.ProviderID, Activity: true, Client: protocol.ParseCapabilities,
		ReadMethods:     []string{"_droid/state", "_droid/stats", "_droid/messages", "_droid/last_assistant_text", "_droid/rewind_points", "_droid/commands", "_droid/models"},
		CommandPrefixes: "!",
		PathFields:      map[string]string{"_droid/state.result": "cwd", "_droid/export": "path", "_droid/export.result": "path"},
	}
}
