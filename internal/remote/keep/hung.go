package keep

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"droid-acp/internal/sys/child"
)

// AnswerTime is how long a server that has taken a connection may take to answer.
const AnswerTime = 5 * time.Second

// HungError says that a server takes connections and does not answer: it was stopped (SIGSTOP), or it hangs.
type HungError struct {
	Process int // its id, 0 where the system does not tell
	Limit   time.Duration
}

func (e *HungError) Error() string {
	which := ""
	if e.Process > 0 {
		which = fmt.Sprintf(" (process %d)", e.Process)
	}
	return fmt.Sprintf("the server that keeps sessions%s does not answer, also not after %v; `droid-acp stop --force` ends it and what it runs", which, e.Limit)
}

// Dial is a way to a server.
type Dial func(context.Context) (net.Conn, error)

// why is what ends a question to a server that was not put, or not answered in time.
type why struct{ error }

// Answered has do ask a server over a connection of dial, and returns its error. Where there is no connection that is dial's
// own, whatever do makes of it, and a *HungError where the server has taken the connection, and limit later do has not
// returned.
func Answered(ctx context.Context, limit time.Duration, dial Dial, do func(context.Context, Dial) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := do(ctx, func(way context.Context) (net.Conn, error) {
		conn, err := dial(way)
		if err != nil {
			cancel(why{err})
			return nil, err
		}
		hung := &HungError{Limit: limit}
		if local, ok := conn.(*net.UnixConn); ok {
			hung.Process, _ = child.Peer(local) // dial has looked who it is
		}
		time.AfterFunc(limit, func() { cancel(why{hung}) })
		return conn, nil
	})
	var w why
	if err != nil && errors.As(context.Cause(ctx), &w) {
		return w.error
	}
	return err
}
