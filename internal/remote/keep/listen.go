package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/subprocess"
)

// ErrRunning means that a server already listens there.
var ErrRunning = errors.New("another server of yours runs already")

const (
	// lockWait is how long to wait for a server that is ending and accepts no more connections: its agents may take 25 s to end.
	lockWait = 30 * time.Second
	// pause is the time between two checks.
	pause = 20 * time.Millisecond
	// dialTime is how long connecting may take.
	dialTime = 2 * time.Second
)

// Listener accepts connections of processes of the same user.
type Listener struct {
	*net.UnixListener
	log *zap.Logger

	mu    sync.Mutex
	path  string
	lock  *os.File
	aside bool // another server may have its place
}

// Listen listens on a Unix socket, whose directory must be private to the user. There is one server for a path: ErrRunning means that
// another one accepts connections. It waits for a server that is ending.
func Listen(ctx context.Context, path string, log *zap.Logger) (*Listener, error) {
	if _, err := checkLength(path); err != nil {
		return nil, err
	}
	if err := makePrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := takeLock(ctx, path)
	if err != nil {
		return nil, err
	}
	l, err := listen(ctx, path)
	if err != nil {
		files.Unlock(lock, lockOf(path))
		return nil, err
	}
	return &Listener{UnixListener: l, path: path, lock: lock, log: log}, nil
}

func lockOf(path string) string { return path + ".lock" }

// takeLock takes the lock that a server holds as long as it lives.
func takeLock(ctx context.Context, path string) (*os.File, error) {
	for until := time.Now().Add(lockWait); ; {
		lock, err := files.Locks{}.Take(lockOf(path))
		switch {
		case err == nil:
			return lock, nil
		case !errors.Is(err, files.ErrHeld):
			if lock != nil {
				_ = lock.Close() // it is not locked
			}
			return nil, fmt.Errorf("the server's lock %s cannot be taken: %w; set $XDG_RUNTIME_DIR to a directory of yours on a local disk", lockOf(path), err)
		case isListening(ctx, path):
			return nil, ErrRunning
		case !time.Now().Before(until):
			return nil, fmt.Errorf("a server that has %s locked neither takes connections nor ends; end it, then try again", lockOf(path))
		}
		if !subprocess.Sleep(ctx, pause) {
			return nil, context.Cause(ctx)
		}
	}
}

// isLocked reports whether a server holds its lock, which includes an ending one.
func isLocked(path string) bool {
	lock, err := files.Locks{}.Take(lockOf(path))
	switch {
	case err == nil:
		files.Unlock(lock, lockOf(path))
	case lock != nil:
		_ = lock.Close() // it is not locked
	}
	return errors.Is(err, files.ErrHeld)
}

// isListening reports whether a server accepts connections there.
func isListening(ctx context.Context, path string) bool {
	conn, err := dial(ctx, path)
	if err == nil {
		_ = conn.Close() // nothing was sent
	}
	return err == nil
}

// listen replaces the socket that a killed server left. The caller holds the lock.
func listen(ctx context.Context, path string) (*net.UnixListener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket && info.Mode().Type() != fs.ModeIrregular: // Windows reports a socket as irregular
		return nil, fmt.Errorf("%s is no socket; remove it, or listen elsewhere", path)
	case isListening(ctx, path):
		return nil, fmt.Errorf("another program listens on %s; end it, or listen elsewhere", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("the socket of a server that was killed cannot be removed: %w", err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close() // no client is connected
		return nil, err
	}
	return l, nil
}

// Accept returns the next connection of a process of the same user. It closes others.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if _, err := subprocess.CheckPeer(conn); err != nil {
			l.log.Warn("refused a connection", zap.Error(err))
			_ = conn.Close() // nothing was sent
			continue
		}
		return conn, nil
	}
}

// Release lets another server listen. Call it after closing the listener and ending everything else.
func (l *Listener) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	files.Unlock(l.lock, lockOf(l.path))
}

// awaitRelease waits until an ending server has released its lock, the last thing it does, or replaced reports that another server holds
// the lock by now.
func awaitRelease(ctx context.Context, path string, replaced func() bool) error {
	for {
		lock, err := files.Locks{}.Take(lockOf(path))
		switch {
		case err == nil:
			files.Unlock(lock, lockOf(path))
			return nil
		case !errors.Is(err, files.ErrHeld):
			return err
		case replaced():
			return nil
		}
		if !subprocess.Sleep(ctx, pause) {
			return fmt.Errorf("the server has ended what it ran, and does not end itself: %w", context.Cause(ctx))
		}
	}
}
