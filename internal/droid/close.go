package droid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/subprocess"
)

// Close ends droid gracefully: it interrupts a running turn (so that 0.99 does not leave tools behind, quirk 26), closes stdin, waits,
// sends SIGTERM, waits again and kills. This takes 0.1 s with a droid that obeys, up to 6 s with one that is logged in (see closeSession),
// 9 s with one that is stuck; when ctx ends, droid is killed at once. Close returns after the process has ended, see Exited: nil, or the
// error of ctx if that cut the wait short. It may be called repeatedly and from any goroutine.
func (c *Client) Close(ctx context.Context) error {
	shutdown := c.beginClose()
	var cut error
	select {
	case <-shutdown:
	case <-ctx.Done():
		cut = fmt.Errorf("closing droid: killed it: %w", ctx.Err())
		c.Kill()
		<-shutdown
	}
	if !isClosed(c.exited) { // only if there is no process
		return errors.New("closing droid: its stdout does not end")
	}
	return cut
}

// Kill ends droid and the tools that it runs at once; Exited is closed when that is done.
func (c *Client) Kill() {
	c.mu.Lock()
	c.setClosing()
	c.mu.Unlock()
	c.killProcess()
}

// KillFor is Kill with a reason for ExitError: "it …". The first reason counts.
func (c *Client) KillFor(reason string) {
	c.noteKill(reason)
	c.Kill()
}

// noteKill records why a running process is about to be killed.
func (c *Client) noteKill(reason string) {
	if c.proc != nil && c.proc.hasEnded() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.killedFor == "" {
		c.state.killedFor = reason
	}
}

// beginClose starts the shutdown once and returns the channel that is closed when it has finished.
func (c *Client) beginClose() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shutdown == nil {
		c.shutdown = make(chan struct{})
		c.setClosing()
		c.guard(func() { c.runShutdown(c.shutdown) })
	}
	return c.shutdown
}

// setClosing refuses new calls and lets the reader drop events. The caller
// holds mu.
func (c *Client) setClosing() {
	if !c.state.closing {
		c.state.closing = true
		close(c.closing)
	}
}

// runShutdown goes through the stages of Close until the client has ended.
func (c *Client) runShutdown(done chan<- struct{}) {
	defer close(done)
	c.endTurn()
	until := time.Now().Add(c.bounds.eof)
	if c.closeSession(until) {
		if err := c.proc.KillProgram(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			c.log.Warn("killing droid", zap.Error(err))
		}
		if subprocess.WaitTimeout(c.exited, c.bounds.term) {
			return
		}
	}
	c.out.Close()
	if subprocess.WaitTimeout(c.exited, time.Until(until)) {
		return
	}
	c.out.abort()
	if c.proc != nil && !c.proc.hasEnded() {
		c.log.Info("droid does not exit at the end of its input; terminating it")
		if err := c.proc.Terminate(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			c.log.Warn("terminating droid", zap.Error(err))
		}
		if subprocess.WaitTimeout(c.exited, c.bounds.term) {
			return
		}
		c.log.Warn("droid does not exit when terminated; killing it")
	}
	c.killProcess()
	if c.proc != nil {
		<-c.exited
		return
	}
	subprocess.WaitTimeout(c.exited, c.bounds.drain)
}

// closeSession asks droid to close its session, and reports whether droid may be killed after that: at the end of its input, and at
// SIGTERM, it would wait 5 s for a cloud that does not know it (0.215 to 0.225). It answers when the hooks at the session's end have run
// and the session's file is complete. What remains is sending the session to Factory, for logged-in users, and background commands: in both
// cases droid must exit by itself. The setting cloudSessionSync: false saves the 5 s as well, but makes the user's model write the titles.
func (c *Client) closeSession(until time.Time) bool {
	c.mu.Lock()
	session := c.state.session
	c.mu.Unlock()
	if c.proc == nil || session == "" || !c.Version().Supports(stream.ClosesSessions) || c.HasChildren() {
		return false
	}
	login := make(chan bool, 1)
	go func() { login <- mayHaveLogin(c.env) }()
	select {
	case has := <-login:
		if has {
			return false
		}
	case <-time.After(c.bounds.drain): // the disk hangs
		return false
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	c.sessionClosing.Store(true)
	if err := c.Call(ctx, methodClose, map[string]any{"sessionId": session}, nil); err != nil {
		c.log.Debug("closing droid's session", zap.Error(err))
		return false
	}
	return !c.HasChildren()
}

// endTurn interrupts a running turn and waits for its end, within its limit. The interrupt is repeated once halfway, because droid before
// 0.215 loses one that follows a prompt immediately.
func (c *Client) endTurn() {
	c.mu.Lock()
	busy, idle := c.state.busy, c.state.idle
	c.mu.Unlock()
	if !busy {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.bounds.interrupt)
	defer cancel()
	for _, wait := range []time.Duration{c.bounds.interrupt / 2, c.bounds.interrupt} {
		if err := c.Interrupt(ctx); err != nil {
			c.log.Debug("interrupting droid to close it", zap.Error(err))
			return
		}
		select {
		case <-idle:
		case <-c.dead:
		case <-ctx.Done():
		case <-time.After(wait):
			continue
		}
		return
	}
}

// killProcess kills the process, or ends the streams of a client without one.
func (c *Client) killProcess() {
	if c.proc != nil {
		if err := c.proc.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			c.log.Warn("killing droid", zap.Error(err))
		}
		return
	}
	c.out.abort()
	if closer, ok := c.stdout.(io.Closer); ok {
		closer.Close() // ends the reader
	}
}
