package keep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"syscall"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
)

const (
	// lastTime is how long a bridge whose editor has gone waits for answers to the editor's requests.
	lastTime = 5 * time.Second
	// lingerTime is how long it stays after it has reported why it ends: some editors read nothing more from a process that has exited.
	lingerTime = time.Second
	// fullTime is how long the bridge waits for a server that takes no more messages once its editor has gone.
	fullTime = 2 * time.Second
)

// MessageConn is a connection that carries whole messages, each one JSON text.
type MessageConn = relay.MessageConn

// StdioBridge connects an editor, which speaks lines on stdin and stdout, to the server. Fill in the struct and call Run once.
type StdioBridge struct {
	Attach      serve.AttachParams
	URL         string    // of a server elsewhere, which decides how its agents run, so that Attach is not sent; "" for this machine's
	In          io.Reader // messages of the editor; the caller closes it
	Out         io.Writer // messages to the editor
	Connect     func(ctx context.Context) (MessageConn, error)
	Command     relay.Command
	Interactive bool      // a person runs it in a terminal, and sends no requests
	Stderr      io.Writer // receives the agent's stderr if Attach asks for it, and must not block
	Log         *zap.Logger

	editor    *relay.EditorConn
	heartbeat *relay.Heartbeat
	max       int // of a line, in tests; 0 for relay.MaxLine

	tooLong bool // the editor's last message was too long; valid after its end
}

// ServerGoneError means that the server has gone, or could not be reached.
type ServerGoneError struct{ Text string }

func (e *ServerGoneError) Error() string { return e.Text }

// Run passes messages on until the editor has gone, Out is no longer read, or ctx is done; it returns nil then, and what runs in the
// editor's sessions continues. If the server goes, each pending request, or else the next one, gets the reason as its answer; Run returns
// that reason, a *ServerGoneError.
func (f *StdioBridge) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.editor = relay.New(f.Out)
	go f.editor.Out.Run()
	defer f.editor.Flush()
	messages, err := f.attach(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return f.fail(ctx, &ServerGoneError{err.Error()}, f.readEditor(func([]byte) error { return nil }))
	}
	heard := make(chan error, 1)
	go func() { heard <- f.readServer(ctx, messages) }()
	left, leave := context.WithCancel(ctx)
	defer leave()
	ahead := jsonrpc.NewPrefetchReader(f.In, leave)
	f.In = ahead
	dead := make(chan struct{})
	f.heartbeat = relay.NewHeartbeat(ahead, f.editor.Put, func() { close(dead) })
	defer f.heartbeat.Stop()
	editor := f.readEditor(func(line []byte) error { return write(ctx, messages, line, ahead, left) })
	select {
	case err := <-heard:
		if left.Err() != nil && ctx.Err() == nil {
			return nil // the attempt to connect was cancelled
		}
		return f.serverGone(ctx, err, messages, editor)
	case <-editor:
		if f.tooLong {
			_ = messages.Close() // this ends readServer, too
			return f.fail(ctx, &ServerGoneError{"droid-acp passes on no message of more than 256 MiB, and the editor sent a longer one, so the connection has ended. What runs goes on. " +
				"Start the agent again and open the session again; a large file is sent as a resource link."}, editor)
		}
		if err, gone := f.awaitAnswers(ctx, heard); gone {
			return f.serverGone(ctx, err, messages, editor)
		}
	case <-dead:
		f.Log.Info("the link to the editor is dead")
	case <-ctx.Done():
	case <-f.editor.Out.Failed():
	}
	if err := messages.Close(); err != nil {
		f.Log.Debug("the connection to the server ended", zap.Error(err))
	}
	cancel()
	<-heard
	return nil
}

// write sends a message. While the server takes none, it looks for the end of the editor's input behind the message, after which left is
// done.
func write(ctx context.Context, messages MessageConn, message []byte, ahead *jsonrpc.PrefetchReader, left context.Context) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	look := time.AfterFunc(fullTime, ahead.Prefetch)
	defer look.Stop()
	stop := context.AfterFunc(left, func() {
		select {
		case <-time.After(fullTime):
			giveUp()
		case <-ctx.Done():
		}
	})
	defer stop()
	return messages.Write(ctx, message)
}

// awaitAnswers waits until the editor's requests before its end are answered, except for prompts, whose turns continue without it. gone
// reports whether the server has gone before that, err how.
func (f *StdioBridge) awaitAnswers(ctx context.Context, heard <-chan error) (err error, gone bool) {
	select {
	case err := <-heard:
		return err, true
	case <-f.editor.Drained():
	case <-ctx.Done():
	case <-f.editor.Out.Failed():
	case <-time.After(lastTime):
	}
	return nil, false
}

// attach connects, and says how the editor's agent is run.
func (f *StdioBridge) attach(ctx context.Context) (MessageConn, error) {
	hello, err := json.Marshal(struct {
		JSONRPC string             `json:"jsonrpc"`
		Method  string             `json:"method"`
		Params  serve.AttachParams `json:"params"`
	}{"2.0", serve.AttachMethod, f.Attach})
	if err != nil {
		return nil, err
	}
	messages, err := f.Connect(ctx)
	if err != nil || f.URL != "" {
		return messages, err
	}
	if err := messages.Write(ctx, hello); err != nil {
		_ = messages.Close() // it has ended
		f.Log.Warn("the server takes no message", zap.Error(err))
		return nil, errors.New("the server that keeps sessions ended while this connected to it; start the agent again")
	}
	return messages, nil
}

// readServer passes on the server's messages. While the editor is slow it reads none.
func (f *StdioBridge) readServer(ctx context.Context, messages MessageConn) error {
	for {
		message, err := messages.Read(ctx)
		if err != nil {
			return err
		}
		if f.Attach.Stderr && bytes.Contains(message, []byte(serve.StderrMethod)) && f.showStderr(message) {
			continue
		}
		if json.Valid(message) {
			if h, ok := jsonrpc.ReadHead(message); ok && h.Method == "" {
				f.editor.Resolve(h.ID)
			}
		}
		f.editor.Put(append(message, '\n'))
		if full := f.editor.Out.Full(); full != nil {
			select {
			case <-full:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// showStderr reports whether a message is a piece of the agent's stderr, which it writes to Stderr then.
func (f *StdioBridge) showStderr(message []byte) bool {
	var m struct {
		Method string
		Params serve.StderrParams
	}
	if json.Unmarshal(message, &m) != nil || m.Method != serve.StderrMethod {
		return false
	}
	_, _ = io.WriteString(f.Stderr, m.Params.Text) // a reader that is gone misses it
	return true
}

// readEditor passes on the editor's messages, and closes ended at the end of them or after one that is too long. Its goroutine stays behind
// if the editor neither sends anything nor closes its end.
func (f *StdioBridge) readEditor(send func(line []byte) error) (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := jsonrpc.NewLines(f.In, cmp.Or(f.max, relay.MaxLine), func([]byte) {})
		for {
			line, err := lines.Next()
			if err != nil {
				f.tooLong = errors.As(err, new(*jsonrpc.TooLongError))
				return
			}
			f.forward(line, send)
		}
	}()
	return done
}

// forward sends a line of the editor to the server. An invalid message is answered as an agent answers it.
func (f *StdioBridge) forward(line []byte, send func([]byte) error) {
	answers, passes := jsonrpc.Validate(line)
	for _, answer := range answers {
		f.editor.Put(append(answer, '\n'))
	}
	for _, message := range passes {
		f.send(message, send)
	}
}

// send sends a message to the server.
func (f *StdioBridge) send(line []byte, send func([]byte) error) {
	h, ok := jsonrpc.ReadHead(line)
	switch {
	case ok && h.Method == relay.HeartbeatMethod && f.heartbeat != nil: // from a via in between
		f.heartbeat.Received()
		return
	case ok && !f.editor.Track(h):
		return
	}
	if err := send(line); err != nil {
		f.Log.Debug("a message did not reach the server", zap.Error(err)) // readServer reports its end
	}
}

// serverGone answers the pending requests.
func (f *StdioBridge) serverGone(ctx context.Context, err error, messages MessageConn, editor <-chan struct{}) error {
	_ = messages.Close() // it has ended
	f.Log.Warn("the connection to the server has ended", zap.Error(err))
	if f.URL != "" {
		return f.fail(ctx, &ServerGoneError{farEnd(f.URL, err) + " Start the agent again and open the session again."}, editor)
	}
	text := "The server that keeps this session has ended without a word, so it was killed or it failed. The turn ended with it, and what was said up to then is stored."
	var said interface{ Said() string }
	switch {
	case errors.As(err, &said):
		text = "The server that keeps this session has ended the connection: " + said.Said() + ". If it still runs, the turn goes on there; " + f.Command("ps") + " shows it. " +
			"If it was ended, the turn ended with it, and what was said up to then is stored."
	case !isEnd(err):
		text = "The connection to the server that keeps this session broke. If the server still runs, the turn goes on there; " + f.Command("ps") + " shows it. " +
			"If not, the turn ended with it, and what was said up to then is stored."
	}
	return f.fail(ctx, &ServerGoneError{text + " Start the agent again and open the session again."}, editor)
}

// IsFinal reports whether it is of no use to connect again after a connection has ended so: the server has said why it ended it, and that
// no other one goes on.
func IsFinal(err error) bool {
	var said interface{ Said() string }
	return errors.As(err, &said) && said.Said() != serve.TakenOver
}

// farEnd says how the connection to a server elsewhere has ended. An end without a reason may be that of the server, of a proxy or of the link.
func farEnd(url string, err error) string {
	var said interface{ Said() string }
	var silent *transport.SilentError
	goesOn := " What runs there goes on if the server still runs."
	var givenUp *relay.GivenUpError
	if errors.As(err, &givenUp) {
		goesOn = " " + givenUp.Attempts() + goesOn
	}
	switch {
	case errors.As(err, &said):
		return "The server at " + url + " ended the connection: " + said.Said() + ". What runs there goes on unless the server ended."
	case errors.As(err, &silent):
		return "The link to the server at " + url + " is silent: " + silent.Error() + "." + goesOn
	}
	return "The connection to the server at " + url + " broke." + goesOn
}

// fail answers the pending requests, or else the next one, with the reason why the server is gone, and returns it.
func (f *StdioBridge) fail(ctx context.Context, fail *ServerGoneError, editor <-chan struct{}) error {
	f.editor.Interactive, f.editor.Linger = f.Interactive, lingerTime
	f.editor.Fail(ctx, jsonrpc.InternalError("server_gone", fail.Text), editor)
	return fail
}

// isEnd reports whether an error means that the other end of a connection was killed.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
