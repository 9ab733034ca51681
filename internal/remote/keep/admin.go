package keep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/serve"
)

// Paths of the commands' requests to a server, which transport.AdminPaths lists, too.
const (
	statusPath = "/status"
	stopPath   = "/stop"
	killPath   = "/kill"
	drainPath  = "/drain"
	asidePath  = "/aside"
	yieldPath  = "/yield"
)

// endTime is how long a session's agent may take to end.
const endTime = 30 * time.Second

// maxAnswer limits the size of a server's answer, in bytes.
const maxAnswer = 16 << 20

// Hub is the part of a serve.Server that the commands use.
type Hub interface {
	Status() serve.Status
	End(ctx context.Context, session string) error
	Kill(ctx context.Context, session string) error
	Drain(ctx context.Context) error
	Yield(ctx context.Context, session string) (inUse bool)
	WriteMetrics(w io.Writer) error
	CheckReady() error
}

// Admin answers the commands ps, stop and attach, and the server that takes the place of this one. stop ends everything that the server
// runs, and returns when it has ended; the process must exit then. aside has the server make room for another one.
func Admin(hub Hub, stop func(), aside func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(hub.Status()) // a client that is gone needs no answer
	})
	mux.HandleFunc("POST "+stopPath, func(w http.ResponseWriter, r *http.Request) {
		session := r.URL.Query().Get("session")
		if session == "" {
			stop()
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), endTime)
		defer cancel()
		if err := hub.End(ctx, session); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = hub.WriteMetrics(w) // a client that is gone needs no answer
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := hub.CheckReady(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n") // a client that is gone needs no answer
	})
	mux.HandleFunc("POST "+killPath, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), endTime)
		defer cancel()
		if err := hub.Kill(ctx, r.URL.Query().Get("session")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	mux.HandleFunc("POST "+drainPath, func(w http.ResponseWriter, r *http.Request) {
		limit, err := time.ParseDuration(r.URL.Query().Get("limit"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		if err := hub.Drain(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		stop()
	})
	mux.HandleFunc("POST "+asidePath, func(w http.ResponseWriter, _ *http.Request) {
		if err := aside(); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	mux.HandleFunc("POST "+yieldPath, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), AnswerTime/2) // who asks waits for AnswerTime
		defer cancel()
		inUse := slices.ContainsFunc(r.URL.Query()["session"], func(id string) bool { return hub.Yield(ctx, id) })
		_ = json.NewEncoder(w).Encode(inUse) // a client that is gone needs no answer
	})
	return mux
}

// Client sends requests to a server. Make it with NewClient. A server that accepts a request and does not answer in time is a *HungError.
type Client struct {
	path    string
	command relay.Command
	limit   time.Duration // for an answer; a request to end something gets endTime in addition
	far     *Far          // nil for a server of this machine
}

// NewClient makes a client of the server that listens at path. It does not start one: if none listens, each error is ErrNotRunning.
func NewClient(path string, command relay.Command) *Client {
	return &Client{path: path, command: command, limit: AnswerTime}
}

// Status returns the status of the server.
func (c *Client) Status(ctx context.Context) (status serve.Status, err error) {
	answer, err := c.ask(ctx, c.limit, http.MethodGet, statusPath)
	if err != nil {
		return status, err
	}
	if err := json.Unmarshal(answer, &status); err != nil {
		return status, fmt.Errorf("the server's status cannot be read; is it of another version? %w", err)
	}
	return status, nil
}

// StopSession ends a session, even while something runs in it.
func (c *Client) StopSession(ctx context.Context, id string) error {
	_, err := c.ask(ctx, endTime+c.limit, http.MethodPost, stopPath+"?session="+url.QueryEscape(id))
	return err
}

// KillSession ends the agent of a session at once.
func (c *Client) KillSession(ctx context.Context, id string) error {
	_, err := c.ask(ctx, endTime+c.limit, http.MethodPost, killPath+"?session="+url.QueryEscape(id))
	return err
}

// StopIdle is Stop, but waits until nothing works in the server, which accepts no new sessions during that time. After limit it fails, and the
// server goes on.
func (c *Client) StopIdle(ctx context.Context, limit time.Duration) error {
	return c.stop(ctx, limit+endTime+c.limit, drainPath+"?limit="+limit.String())
}

// Stop ends the server and everything it runs, and returns when all of it has ended, or another server has replaced it. ErrNotRunning is also
// returned after one has ended that accepted no more connections.
func (c *Client) Stop(ctx context.Context) error { return c.stop(ctx, endTime+c.limit, stopPath) }

func (c *Client) stop(ctx context.Context, limit time.Duration, path string) error {
	before, err := c.Status(ctx)
	if err == nil {
		_, err = c.ask(ctx, limit, http.MethodPost, path)
	}
	if c.far != nil || err != nil && !errors.Is(err, ErrNotRunning) {
		return err // the answer of a server elsewhere is all that is seen of its end
	}
	if _, none := os.Lstat(lockOf(c.path)); none != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if err := awaitRelease(ctx, c.path, func() bool {
		now, err := c.Status(ctx)
		return err == nil && now.Process != before.Process
	}); err != nil {
		return err
	}
	if err == nil {
		waitExit(before.Process)
	}
	return err
}

// ForceStop is Stop, but kills a server that does not end. What that ran then ends by itself, since nothing reads its output any more.
func (c *Client) ForceStop(ctx context.Context) error {
	status, err := c.Status(ctx)
	if err == nil || errors.Is(err, ErrNotRunning) {
		err = c.Stop(ctx)
	}
	if c.far != nil {
		return err // its process cannot be killed from here
	}
	if err == nil || errors.Is(err, ErrNotRunning) || ctx.Err() != nil {
		return err
	}
	process := status.Process
	if hung, is := errors.AsType[*HungError](err); is {
		process = hung.Process
	}
	if process <= 0 {
		return fmt.Errorf("%w; its process is not known here, so end it by hand", err)
	}
	running, err := os.FindProcess(process)
	if err == nil {
		err = running.Kill()
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("the server (process %d) cannot be killed: %w", process, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return awaitRelease(ctx, c.path, func() bool { return false })
}

// exitTime is how long a process may take to exit once it has nothing left to do.
const exitTime = 2 * time.Second

// waitExit waits until a process that has released its lock has ended, at most exitTime: a process whose parent does not wait for it stays
// in the process table.
func waitExit(pid int) {
	process, err := os.FindProcess(pid)
	if err != nil { // on Windows: it has ended
		return
	}
	for until := time.Now().Add(exitTime); process.Signal(syscall.Signal(0)) == nil && time.Now().Before(until); {
		time.Sleep(pause)
	}
}

func (c *Client) ask(ctx context.Context, limit time.Duration, method, path string) ([]byte, error) {
	if c.far != nil {
		return c.far.ask(ctx, limit, method, path)
	}
	var answer bytes.Buffer
	err := c.CallTimeout(ctx, limit, func(ctx context.Context) (net.Conn, error) { return Connect(ctx, c.path, nil) }, func(ctx context.Context, dial Dial) error {
		way := http.Client{Transport: &http.Transport{
			DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		}}
		request, err := http.NewRequestWithContext(ctx, method, "http://droid-acp"+path, nil)
		if err != nil {
			return err
		}
		response, err := way.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err := io.Copy(&answer, io.LimitReader(response.Body, maxAnswer)); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s", strings.TrimSpace(answer.String()))
		}
		return nil
	})
	return answer.Bytes(), err
}
