package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// ErrNotRunning means that no server runs.
var ErrNotRunning = errors.New("no server runs")

const (
	// startTime is how long a server may take to start, not counting the wait for an ending one.
	startTime = 10 * time.Second
	// otherServerTime is how long to wait for another process's server if ours has ended at once.
	otherServerTime = 2 * time.Second
	// maxLog is the size in bytes at which the servers' log is truncated.
	maxLog = 1 << 20
	// shownLog is how much of the end of the log an error shows, in bytes.
	shownLog = 2 << 10
)

// Starter starts a server that outlives this process.
type Starter struct {
	Program string   // the absolute path of this program
	Args    []string // arguments that make it the server
	Env     []string // its environment
	Log     string   // receives its stdout and stderr
	Command relay.Command

	began func(*subprocess.Detached) // for tests: called with what was started
}

// StartError explains why a server did not start, and what to do.
type StartError struct{ text string }

func (e *StartError) Error() string { return e.text }

// start starts the server.
func (s *Starter) start() (*subprocess.Detached, error) {
	log, err := s.openLog()
	if err != nil {
		return nil, fmt.Errorf("the server's log cannot be written: %w", err)
	}
	defer log.Close() // the server has its own
	dir := "/"
	if filepath.Separator != '/' {
		dir = filepath.Dir(s.Log)
	}
	return subprocess.StartDetached(subprocess.Command{Path: s.Program, Args: s.Args, Env: s.Env, Dir: dir}, log)
}

func (s *Starter) openLog() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(s.Log), 0o700); err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Lstat(s.Log); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(s.Log, flags, 0o600)
}

// logTail returns the end of the server's log.
func (s *Starter) logTail() string {
	text, _, err := files.ReadTail(s.Log, shownLog)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// Connect connects to the server at path. If none listens, s starts one and Connect waits for it; if s is nil, the error is ErrNotRunning.
// If several processes do so at once, all connect to the same server.
func Connect(ctx context.Context, path string, s *Starter) (net.Conn, error) {
	if err := checkPrivate(filepath.Dir(path)); err != nil && (!errors.Is(err, fs.ErrNotExist) || s == nil) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNotRunning
		}
		return nil, err
	}
	conn, err := dial(ctx, path)
	switch {
	case err == nil, !isNotListening(err):
		return conn, err
	case s == nil:
		return nil, ErrNotRunning
	}
	return s.connect(ctx, path)
}

// connect starts a server and connects to it.
func (s *Starter) connect(ctx context.Context, path string) (net.Conn, error) {
	server, err := s.start()
	if err != nil {
		return nil, &StartError{"the server that keeps sessions was not started: " + err.Error()}
	}
	if s.began != nil {
		s.began(server)
	}
	return s.await(ctx, path, server)
}

// startedServer is a server that was started.
type startedServer interface {
	Exited() <-chan struct{}
	Exit() subprocess.Exit
}

// await connects to the server once it listens.
func (s *Starter) await(ctx context.Context, path string, server startedServer) (net.Conn, error) {
	exited, limit := server.Exited(), startTime
	overdue := time.After(limit)
	for {
		conn, err := dial(ctx, path)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-exited: // another one may have been faster
			exited, overdue = nil, time.After(otherServerTime)
		case <-overdue:
			if exited != nil && limit == startTime && isLocked(path) { // by a server that is ending; ours waits for it, and exits if that takes too long
				limit, overdue = startTime+lockWait, time.After(lockWait)
				continue
			}
			how := fmt.Sprintf("it takes no connections after %v", limit)
			if exited == nil {
				how = "it has ended (" + server.Exit().Text + ")"
			}
			return nil, &StartError{fmt.Sprintf("the server that keeps sessions did not start: %s. Its log %s ends with:\n%s\nRun %s in a terminal to see more, or start the agent without --keep",
				how, s.Log, s.logTail(), s.Command("serve"))}
		case <-time.After(pause):
		}
	}
}

// dial connects to a server of the same user.
func dial(ctx context.Context, path string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTime}
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if _, err := subprocess.CheckPeer(conn.(*net.UnixConn)); err != nil { // net.UnixConn is the type for network "unix"
		_ = conn.Close() // nothing was sent
		return nil, err
	}
	return conn, nil
}

// isNotListening reports whether a connection failed because nothing listens.
func isNotListening(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || isConnRefused(err)
}

// AnswerTime is how long a server that has accepted a connection may take to answer.
const AnswerTime = 5 * time.Second

// HungError means that a server accepts connections and does not answer: it was stopped (SIGSTOP), or it hangs.
type HungError struct {
	Process int // its process ID, 0 if the system does not report it
	Limit   time.Duration
	Command relay.Command
}

func (e *HungError) Error() string {
	which := ""
	if e.Process > 0 {
		which = fmt.Sprintf(" (process %d)", e.Process)
	}
	return fmt.Sprintf("the server that keeps sessions%s does not answer, also not after %v; %s ends it and what it runs", which, e.Limit, e.Command("stop", "--force"))
}

// Dial connects to a server.
type Dial func(context.Context) (net.Conn, error)

// abortCause is the cause of a request's cancellation: it could not be sent, or was not answered in time.
type abortCause struct{ error }

// CallTimeout calls do, which sends a request to the server over a connection of dial, and returns its error. If dial fails, the error is
// dial's, whatever do returns; if the server has accepted the connection and do has not returned after limit, it is a *HungError.
func (c *Client) CallTimeout(ctx context.Context, limit time.Duration, dial Dial, do func(context.Context, Dial) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := do(ctx, func(way context.Context) (net.Conn, error) {
		conn, err := dial(way)
		if err != nil {
			cancel(abortCause{err})
			return nil, err
		}
		hung := &HungError{Limit: limit, Command: c.command}
		if local, ok := conn.(*net.UnixConn); ok {
			hung.Process, _ = subprocess.CheckPeer(local) // dial has checked whose process it is
		}
		time.AfterFunc(limit, func() { cancel(abortCause{hung}) })
		return conn, nil
	})
	var w abortCause
	if err != nil && errors.As(context.Cause(ctx), &w) {
		return w.error
	}
	return err
}
