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

// acceptPause is how long the listener waits after a connection could not be accepted,
// since what is missing then (file descriptors, memory) is not there at once.
const acceptPause = 50 * time.Millisecond

// Listener takes the requests of hook programs.
type Listener struct {
	socket  *net.UnixListener
	remove  func() // what the socket leaves behind
	command string
	handle  Handler
	log     *zap.Logger
	ioLimit time.Duration // for a program to send its request, and to take the answer

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	slots  chan struct{}  // one in it for each connection
	work   sync.WaitGroup // the loop and all connections
}

// Listen opens the socket and answers requests with h. It fails on systems where hooks
// were never tried (Windows among them), and where the socket or the path of this
// program cannot be had.
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

// commandLine is what droid's "sh -c" gets. A program that cannot be started, because
// the agent is gone, is no matter of droid's or the model's: without the end, droid
// would put the shell's complaint before the tool's result.
func commandLine(program, address string) string {
	return paths.ShellQuote(program) + " " + stream.OwnHook + " " + paths.ShellQuote(address) + " 2>/dev/null || :"
}

// Command is the shell command line for droid's settings. It works as long as the
// Listener is open; afterwards it does nothing and ends well.
func (l *Listener) Command() string { return l.command }

// Close takes no new requests, cancels the handlers and returns when all have ended;
// what they answer is still sent. It may be called again, but by no handler.
func (l *Listener) Close() {
	l.cancel()
	_ = l.socket.Close() // the loop ends either way
	l.work.Wait()
	l.remove()
}

// accept serves connections until the Listener is closed. It takes one only when there
// is a slot for it, so that a program that comes late waits instead of being refused.
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
			l.log.Warn("a hook's connection could not be accepted; droid goes on without us", zap.Error(err))
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

// serveOne reads a request, has it answered and sends the answer. A connection that
// does not keep to this is closed.
func (l *Listener) serveOne(conn *net.UnixConn) {
	defer conn.Close()
	if _, err := subprocess.CheckPeer(conn); err != nil {
		l.log.Warn("a connection to the hooks' socket was refused", zap.Error(err))
		return
	}
	r, err := l.receive(conn)
	if err != nil {
		l.log.Info("a hook's request was not understood", zap.Error(err))
		return
	}
	a, waits := l.answer(conn, r)
	if !waits {
		return
	}
	data, err := encode(a)
	if err != nil {
		l.log.Error("an answer to a hook cannot be sent", zap.String("tool", r.Tool), zap.Error(err))
		data = []byte("{}")
	}
	_ = conn.SetWriteDeadline(time.Now().Add(l.ioLimit)) // where it fails, so does the write
	if _, err = conn.Write(data); err != nil {
		l.log.Info("a hook did not take its answer", zap.String("tool", r.Tool), zap.Error(err))
	}
}

// receive reads the request, for as long as the limit and the Listener allow.
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

// answer runs the handler. waits is false when the program is gone meanwhile, or says
// more than its request: both end the handler's context.
func (l *Listener) answer(conn *net.UnixConn, r Request) (a Answer, waits bool) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	gone := make(chan bool, 1)
	_ = conn.SetReadDeadline(time.Time{}) // where it fails, the program counts as gone
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

// guarded runs the handler. One that panics has nothing to say.
func (l *Listener) guarded(ctx context.Context, r Request) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("panic in the answer to a hook", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			a = Answer{}
		}
	}()
	return l.handle(ctx, r)
}
