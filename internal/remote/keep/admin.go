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
	"strings"
	"syscall"
	"time"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/serve"
)

// Paths of what the commands ask of a server, on its Unix socket alone.
const (
	statusPath = "/status"
	stopPath   = "/stop"
)

// endTime is how long a session's agent may take to end it.
const endTime = 30 * time.Second

// maxAnswer bounds what a server answers, in bytes.
const maxAnswer = 16 << 20

// Hub is what the commands ask of a server.
type Hub interface {
	Status() serve.Status
	End(ctx context.Context, session string) error
}

// Admin answers the commands ps, stop and attach. stop ends all that the server runs and returns
// when that is gone; the process is to end then.
func Admin(hub Hub, stop func()) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statusPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(hub.Status()) // who is gone needs no answer
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
	return mux
}

// Client asks a server. Make it with NewClient. A server that takes a question and does not answer in time is a *HungError.
type Client struct {
	path    string
	command relay.Command
	limit   time.Duration // of an answer; that to a request to end something takes endTime besides
}

// NewClient makes a client of the server that listens there. It starts none: where nobody listens,
// each error is ErrNotRunning.
func NewClient(path string, command relay.Command) *Client { return &Client{path, command, AnswerTime} }

// Status is what the server says of itself.
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

// StopSession ends a session, whatever runs in it.
func (c *Client) StopSession(ctx context.Context, id string) error {
	_, err := c.ask(ctx, endTime+c.limit, http.MethodPost, stopPath+"?session="+url.QueryEscape(id))
	return err
}

// Stop ends the server and all that it runs, and returns when nothing of it is left, or another
// one has taken its place.
func (c *Client) Stop(ctx context.Context) error {
	before, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if _, err := c.ask(ctx, endTime+c.limit, http.MethodPost, stopPath); err != nil {
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
	waitExit(before.Process)
	return nil
}

// ForceStop is Stop, and kills a server that does not end by it. What that ran ends by itself then, since nobody is left to
// hear it.
func (c *Client) ForceStop(ctx context.Context) error {
	status, err := c.Status(ctx)
	if err == nil {
		err = c.Stop(ctx)
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

// exitTime is how long a process may take to end once it has nothing left to do.
const exitTime = 2 * time.Second

// waitExit waits until a process that has let its lock go has ended, or for exitTime: one that its parent does
// not look after stays in the system's list.
func waitExit(pid int) {
	process, err := os.FindProcess(pid)
	if err != nil { // it has ended, as Windows says
		return
	}
	for until := time.Now().Add(exitTime); process.Signal(syscall.Signal(0)) == nil && time.Now().Before(until); {
		time.Sleep(pause)
	}
}

func (c *Client) ask(ctx context.Context, limit time.Duration, method, path string) ([]byte, error) {
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
