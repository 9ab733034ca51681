package hooks

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/subprocess"
	"droid-acp/internal/text/paths"
)

// acceptPause is how long the listener waits after a failed accept, since missing resources (file descriptors, memory) do not return at
// once.
const acceptPause = 50 * time.Millisecond

// Listener answers the requests of hook programs.
type Listener struct {
	socket  *net.UnixListener
	remove  func() // removes what the socket leaves on disk
	command string
	handle  Handler
	log     *zap.Logger
	ioLimit time.Duration // for a program to send its request, and to read the answer

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	slots  chan struct{}  // one element for each connection
	work   sync.WaitGroup // the loop and all connections
}

// Listen opens the socket and answers requests with h. It fails on systems where hooks are untested (such as Windows), and if the socket or
// the path of this program is not available.
func Listen(h Handler, log *zap.Logger) (*Listener, error) {
	program, err := programPath()
	if err != nil {
		return nil, err
	}
	socket, remove, err := listen()
	if err != nil {
		return nil, err
	}
	return serve(socket, remove, program, ioTimeout, h, log), nil
}

func serve(socket *net.UnixListener, remove func(), program string, limit time.Duration, h Handler, log *zap.Logger) *Listener {
	l := &Listener{socket: socket, remove: remove, handle: h, log: log, ioLimit: limit, slots: make(chan struct{}, maxConnections)}
	l.command = commandLine(program, socket.Addr().String())
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.work.Go(func() {
		l.accept()
	})
	return l
}

// commandLine returns the text for droid's "sh -c". If the program cannot be started, because the agent has exited, neither droid nor the
// model should notice: without the suffix, droid would put the shell's error message before the tool's result.
func commandLine(program, address string) string {
	return paths.ShellQuote(program) + " " + stream.OwnHook + " " + paths.ShellQuote(address) + " 2>/dev/null || :"
}

// Command returns the shell command line for droid's settings. It works while the Listener is open; afterwards it does nothing, and
// succeeds.
func (l *Listener) Command() string { return l.command }

// Close accepts no more requests, cancels the handlers and returns when all have ended; their answers are still sent. It may be called
// again, but not by a handler.
func (l *Listener) Close() {
	l.cancel()
	_ = l.socket.Close() // the loop ends in any case
	l.work.Wait()
	l.remove()
}

// accept serves connections until the Listener is closed. It accepts one only when there is a slot for it, so that further programs wait
// instead of being refused.
func (l *Listener) accept() {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.ctx.Done():
			return
		}
		conn, err := l.socket.AcceptUnix()
		if err != nil {
			<-l.slots
			if l.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			l.log.Warn("cannot accept a hook's connection; droid continues without it", zap.Error(err))
			select {
			case <-time.After(acceptPause):
			case <-l.ctx.Done():
			}
			continue
		}
		l.work.Go(func() {
			defer func() { <-l.slots }()
			l.serveOne(conn)
		})
	}
}

// serveOne reads a request, calls the handler and sends the answer. It closes a connection that violates the protocol.
func (l *Listener) serveOne(conn *net.UnixConn) {
	defer conn.Close()
	if _, err := subprocess.CheckPeer(conn); err != nil {
		l.log.Warn("refused a connection to the hooks' socket", zap.Error(err))
		return
	}
	r, err := l.receive(conn)
	if err != nil {
		l.log.Info("invalid request of a hook", zap.Error(err))
		return
	}
	a, waits := l.answer(conn, r)
	if !waits {
		return
	}
	data, err := encode(a)
	if err != nil {
		l.log.Error("cannot encode the answer to a hook", zap.String("tool", r.Tool), zap.Error(err))
		data = []byte("{}")
	}
	_ = conn.SetWriteDeadline(time.Now().Add(l.ioLimit)) // if it fails, so does the write
	if _, err = conn.Write(data); err != nil {
		l.log.Info("a hook did not read its answer", zap.String("tool", r.Tool), zap.Error(err))
	}
}

// receive reads the request, until the limit or the end of the Listener.
func (l *Listener) receive(conn *net.UnixConn) (Request, error) {
	if err := conn.SetReadDeadline(time.Now().Add(l.ioLimit)); err != nil {
		return Request{}, err
	}
	stop := context.AfterFunc(l.ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	r, err := readRequest(conn)
	if !stop() { // the Listener is closed
		return Request{}, context.Canceled
	}
	return r, err
}

// answer runs the handler. waits is false if the program has exited in the meantime, or has sent more than its request: both cancel the
// handler's context.
func (l *Listener) answer(conn *net.UnixConn, r Request) (a Answer, waits bool) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	gone := make(chan bool, 1)
	_ = conn.SetReadDeadline(time.Time{}) // if it fails, the program counts as exited
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ended := errors.Is(err, os.ErrDeadlineExceeded) // by us, below
		if !ended {
			cancel()
		}
		gone <- !ended
	}()
	a = l.guarded(ctx, r)
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	return a, !<-gone
}

// guarded runs the handler. After a panic the answer is empty.
func (l *Listener) guarded(ctx context.Context, r Request) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("panic in the answer to a hook", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			a = Answer{}
		}
	}()
	return l.handle(ctx, r)
}
