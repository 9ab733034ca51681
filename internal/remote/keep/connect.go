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

// ErrNotRunning says that no server runs.
var ErrNotRunning = errors.New("no server runs")

const (
	// startTime is how long a server may take to start, without the time for which it waits for one that ends.
	startTime = 10 * time.Second
	// otherServerTime is how long the server of another is waited for when ours has ended at once.
	otherServerTime = 2 * time.Second
	// maxLog is from which size on the log of servers begins anew, in bytes.
	maxLog = 1 << 20
	// shownLog is how much of its end an error shows, in bytes.
	shownLog = 2 << 10
)

// Starter starts a server that lives on when this process ends.
type Starter struct {
	Program string   // the absolute path of this program
	Args    []string // which make it the server
	Env     []string // its environment
	Log     string   // a file that gets what it writes to stdout and stderr
	Command relay.Command

	began func(*subprocess.Detached) // tests: what was started
}

// StartError says why a server did not start, and what to do.
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

// logTail are the end of the server's log.
func (s *Starter) logTail() string {
	text, _, err := files.ReadTail(s.Log, shownLog)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// Connect connects to the server that listens there. Where none does, s starts one, and it is
// waited for; without s the error is ErrNotRunning. Of several who do so at once, all get to one
// server.
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

// await connects to the server, once it listens.
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
			if exited != nil && limit == startTime && isLocked(path) { // by one that ends; ours waits for it, and ends if in vain
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
	if _, err := subprocess.CheckPeer(conn.(*net.UnixConn)); err != nil { // it is one of that network
		_ = conn.Close() // nothing was said
		return nil, err
	}
	return conn, nil
}

// isNotListening reports whether a connection failed because nobody takes it.
func isNotListening(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || isConnRefused(err)
}

// AnswerTime is how long a server that has taken a connection may take to answer.
const AnswerTime = 5 * time.Second

// HungError says that a server takes connections and does not answer: it was stopped (SIGSTOP), or it hangs.
type HungError struct {
	Process int // its id, 0 where the system does not tell
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

// Dial is a way to a server.
type Dial func(context.Context) (net.Conn, error)

// abortCause is what ends a question to a server that was not put, or not answered in time.
type abortCause struct{ error }

// CallTimeout has do ask the server over a connection of dial, and returns its error. Where there is no connection that is dial's
// own, whatever do makes of it, and a *HungError where the server has taken the connection, and limit later do has not
// returned.
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
			hung.Process, _ = subprocess.CheckPeer(local) // dial has looked who it is
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
