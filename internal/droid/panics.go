package droid

import (
	"fmt"
	"runtime/debug"

	"go.uber.org/zap"
)

// guard runs f in a new goroutine. A panic there ends this droid alone: calls return the panic as the reason of its end.
func (c *Client) guard(f func()) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				c.log.Error("panic in the client of droid", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
				c.fail(&ExitError{Code: -1, Err: panicError(p)})
				c.Kill()
			}
		}()
		f()
	}()
}

// failFirst is deferred last, so that it runs before the deferred calls that report the goroutine's end: a panic must be recorded as the
// reason of the client's end before they record theirs.
func (c *Client) failFirst() {
	if p := recover(); p != nil {
		c.fail(&ExitError{Code: -1, Err: panicError(p)})
		panic(p)
	}
}

func panicError(p any) error { return fmt.Errorf("droid-acp failed: %v", p) }
