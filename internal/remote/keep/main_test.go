package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"droid-acp/internal/remote/serve"
	"droid-acp/internal/sys/subprocess"
)

// envPlay makes this test binary another program: "server", "broken", "stranger". Its argument is the path of a socket.
const envPlay = "DROID_ACP_TEST_KEEP"

// patience limits the wait for expected events.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	switch os.Getenv(envPlay) {
	case "server":
		os.Exit(playServer(os.Args[1]))
	case "broken":
		fmt.Fprintln(os.Stderr, "this server is broken")
		os.Exit(3)
	case "stranger":
		playStranger(os.Args[1], os.Args[2])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// playServer is a server without agents that answers the commands until it is stopped.
func playServer(path string) int {
	l, err := Listen(context.Background(), path, zap.NewNop())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := newAdminServer(l)
	<-s.stopped
	s.close()
	return 0
}

// adminServer is a server with a hub that records its requests.
type adminServer struct {
	*http.Server
	listener *Listener
	stopped  chan struct{}
	served   chan struct{}
	process  int // the process ID it reports
	ended    []string
}

func newAdminServer(l *Listener) *adminServer { return newAdminServerAs(l, os.Getpid()) }

func newAdminServerAs(l *Listener, process int) *adminServer {
	p := &adminServer{Server: new(http.Server), listener: l, process: process, stopped: make(chan struct{}), served: make(chan struct{})}
	p.Handler = Admin(p, func() { close(p.stopped) }, func() error { return l.StepAside(func() {}) })
	go func() {
		defer close(p.served)
		_ = p.Serve(l) // until it is closed
	}()
	return p
}

// close ends it as a server should end.
func (p *adminServer) close() {
	p.shut()
	p.listener.Release()
}

func (p *adminServer) shut() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = p.Shutdown(ctx)
	<-p.served
}

func (p *adminServer) Status() serve.Status {
	return serve.Status{Version: "1", Process: p.process, Sessions: []serve.SessionInfo{{ID: "abc"}}}
}

func (p *adminServer) Kill(ctx context.Context, session string) error {
	return p.End(ctx, session+" by force")
}

func (p *adminServer) WriteMetrics(w io.Writer) error {
	_, err := io.WriteString(w, "up 1\n")
	return err
}

func (p *adminServer) CheckReady() error { return nil }

func (p *adminServer) Yield(_ context.Context, session string) bool { return session == "abc" }

func (p *adminServer) Drain(ctx context.Context) error {
	if until, _ := ctx.Deadline(); time.Until(until) > time.Minute {
		return nil
	}
	<-ctx.Done()
	return errors.New("1 sessions still work")
}

func (p *adminServer) End(_ context.Context, session string) error {
	if session != "abc" {
		return fmt.Errorf("no session %s is open here", session)
	}
	p.ended = append(p.ended, session)
	return nil
}

// socketPath returns the path of a socket in a short directory.
func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "keep")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "droid-acp", socketName)
}

// started collects the processes that a test's Starter has started.
type started struct {
	mu  sync.Mutex
	all []*subprocess.Detached
}

func (s *started) began(d *subprocess.Detached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, d)
}

func (s *started) list() []*subprocess.Detached {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// awaitOne waits until at most one is running.
func (s *started) awaitOne(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		running := 0
		for _, d := range s.list() {
			select {
			case <-d.Exited():
			default:
				running++
			}
		}
		return running <= 1
	}, patience, time.Millisecond)
}

// starter starts this test binary as another program.
func starter(t testing.TB, play, path string) (*Starter, *started) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	all := new(started)
	t.Cleanup(func() {
		for _, d := range all.list() {
			awaitExit(t, d, path)
		}
	})
	return &Starter{
		began: all.began, Command: typed, Program: self, Args: []string{path}, Env: append(os.Environ(), envPlay+"="+play, "GORACE=atexit_sleep_ms=0"),
		Log: filepath.Join(t.TempDir(), "logs", "serve.log"),
	}, all
}

// awaitExit waits for a server, and stops it if it is running: a second one may start to listen when the first has ended.
func awaitExit(t testing.TB, d *subprocess.Detached, path string) {
	for until := time.Now().Add(patience); ; {
		select {
		case <-d.Exited():
			return
		case <-time.After(pause):
		}
		_ = NewClient(path, typed).Stop(context.Background()) // if it listens already
		require.True(t, time.Now().Before(until), "a server does not end")
	}
}

func listenAt(t testing.TB, path string) *Listener {
	t.Helper()
	l, err := Listen(t.Context(), path, zap.NewNop())
	require.NoError(t, err)
	return l
}

func closeListener(l *Listener) {
	_ = l.Close()
	l.Release()
}

func isClosed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, err := conn.Read(make([]byte, 1))
	return err != nil && !os.IsTimeout(err)
}

// typed marks a command in a text.
func typed(words ...string) string { return "<" + strings.Join(words, " ") + ">" }
