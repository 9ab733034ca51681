package keep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"droid-acp/internal/sys/files"
)

// AsidePath returns the path of the socket of a server that was replaced at a path.
func AsidePath(path string) string { return path + ".old" }

// IsAside reports whether a server runs that was replaced at a path.
func IsAside(path string) bool {
	_, err := os.Lstat(lockOf(AsidePath(path))) // without this, isLocked would create the lock, and a server could find it held
	return err == nil && isLocked(AsidePath(path))
}

// StepAside moves the socket to AsidePath, so that another server can listen at its path. closeOthers closes the other listeners whose
// addresses that server needs. It fails if a server that was replaced before still runs.
func (l *Listener) StepAside(closeOthers func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := AsidePath(l.path)
	if l.aside {
		return errors.New("it has stepped aside")
	}
	if _, err := checkLength(path); err != nil {
		return err
	}
	lock, err := files.Locks{}.Take(lockOf(path))
	if err != nil {
		if lock != nil {
			_ = lock.Close() // it is not locked
		}
		return fmt.Errorf("the lock of the server before this one cannot be taken: %w; wait until that has ended", err)
	}
	l.SetUnlinkOnClose(false) // its path is that of the other server
	if err := os.Rename(l.path, path); err != nil {
		l.SetUnlinkOnClose(true)
		files.Unlock(lock, lockOf(path))
		return err
	}
	closeOthers()
	files.Unlock(l.lock, lockOf(l.path))
	l.path, l.lock, l.aside = path, lock, true
	return nil
}

// Close stops accepting connections.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.UnixListener.Close()
	if l.aside && err == nil {
		_ = os.Remove(l.path) // the next server would replace it
	}
	return err
}

// StepAside asks a draining server to let another one listen at its path.
func (c *Client) StepAside(ctx context.Context) error {
	_, err := c.ask(ctx, c.limit, http.MethodPost, asidePath)
	return err
}

// Yield reports whether one of the sessions is in use in the server, see serve.Server.Yield. Without a server none is; it waits for one that
// is ending.
func (c *Client) Yield(ctx context.Context, sessions []string) (inUse bool, err error) {
	query := url.Values{"session": sessions}
	answer, err := c.ask(ctx, c.limit, http.MethodPost, yieldPath+"?"+query.Encode())
	if errors.Is(err, ErrNotRunning) {
		ctx, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		return false, awaitRelease(ctx, c.path, func() bool { return false }) // what it ran may still end
	}
	if err == nil {
		err = json.Unmarshal(answer, &inUse)
	}
	return inUse, err
}
