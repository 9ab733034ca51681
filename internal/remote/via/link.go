package via

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/sys/subprocess"
)

// link is a run of the command, as a connection of a relay.Reconnector.
type link struct {
	process   *subprocess.Process
	heartbeat *relay.Heartbeat
	messages  chan []byte
	closed    chan struct{}
	close     sync.Once
	ended     error // why there are no more messages; valid once messages is closed
	silent    atomic.Bool

	writing sync.Mutex
	out     io.Writer
}

// silentError is the error of a link that the heartbeat has found dead.
type silentError struct{}

func (silentError) Error() string { return "nothing comes from the far side" }

// startLink starts the command.
func (r *Relay) startLink(context.Context) (relay.MessageConn, error) {
	p, err := r.start()
	if err != nil {
		return nil, err
	}
	l := &link{process: p, messages: make(chan []byte), closed: make(chan struct{}), out: subprocess.NewWriter(p.Stdin)}
	ahead := jsonrpc.NewPrefetchReader(p.Stdout, func() {})
	l.heartbeat = relay.NewHeartbeat(ahead, func(line []byte) { _ = l.Write(context.Background(), bytes.TrimSpace(line)) }, func() {
		l.silent.Store(true)
		_ = p.Kill() // it may have ended
	})
	l.heartbeat.Timeout = r.heartbeatTimeout
	go l.read(ahead, r.max)
	if r.link.Swap(l) != nil { // its agent has answered an earlier one
		l.heartbeat.Start()
	}
	return l, nil
}

func (l *link) read(in io.Reader, limit int) {
	defer close(l.messages)
	lines := jsonrpc.NewLines(in, limit, func([]byte) {})
	for {
		line, err := lines.Next()
		if err != nil {
			l.ended = err
			return
		}
		if bytes.Contains(line, []byte(relay.HeartbeatMethod)) {
			if h, ok := jsonrpc.ReadHead(line); ok && h.Method == relay.HeartbeatMethod {
				l.heartbeat.Received()
				continue
			}
		}
		select {
		case l.messages <- append(make([]byte, 0, len(line)+1), line...):
		case <-l.closed:
			l.ended = io.ErrClosedPipe
			return
		}
	}
}

// Read implements relay.MessageConn.
func (l *link) Read(ctx context.Context) ([]byte, error) {
	select {
	case m, ok := <-l.messages:
		switch {
		case ok:
			return m, nil
		case l.silent.Load():
			return nil, silentError{}
		}
		return nil, fmt.Errorf("the command has ended: %w", l.ended)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements relay.MessageConn.
func (l *link) Write(_ context.Context, message []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(append(bytes.Clone(message), '\n'))
	return err
}

// Close implements relay.MessageConn. It kills the command, which may have ended.
func (l *link) Close() error {
	l.close.Do(func() {
		close(l.closed)
		l.heartbeat.Stop()
		_ = l.process.Kill()
		_ = l.process.Stdin.Close()
		<-l.process.AllExited()
		_ = l.process.Stdout.Close()
	})
	return nil
}

// pumpLinks connects the far side's outbox, and the reader that is returned, to links that come back when they are cut. end ends that.
func (r *Relay) pumpLinks(ctx context.Context) (from io.Reader, end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	conn := &relay.Reconnector{
		Connect: r.startLink, Final: func(error) bool { return r.ending.Load() },
		Notify: func(text string) { _, _ = io.WriteString(r.Stderr, "droid-acp via: "+text+"\n") }, // an error could not be reported anywhere else
	}
	if err := conn.Dial(ctx); err != nil {
		cancel()
		return nil, nil, err
	}
	r.far.SetWriter(lineWriter(func(line []byte) error { return conn.Write(ctx, line) }))
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			line, err := conn.Read(ctx)
			if err != nil {
				_ = in.Close()
				return
			}
			if _, err := in.Write(append(line, '\n')); err != nil {
				return
			}
		}
	}()
	return out, func() {
		cancel()
		_ = out.Close()
		<-done
		_ = conn.Close()
		_ = r.link.Load().Close() // if it has ended by itself
	}, nil
}

// lineWriter writes whole lines one by one.
type lineWriter func(line []byte) error

func (w lineWriter) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		if err := w(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}
