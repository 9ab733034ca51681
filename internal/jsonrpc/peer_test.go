package jsonrpc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// peer is the editor's side of a connection under test, in a synctest bubble.
type peer struct {
	t      *testing.T
	conn   *Conn
	log    *observer.ObservedLogs
	stdin  *stdin
	out    *io.PipeReader // its stdout
	cancel context.CancelFunc
	ran    chan struct{} // Run has returned

	mu     sync.Mutex
	lines  []string // all that was read
	answer func(line string) string
}

// answers is a handler that answers when it returns.
type answers func(c *Call) (result any, err *Error)

func (f answers) handle(c *Call) {
	result, err := f(c)
	c.Respond(result, err)
}

// serve runs a connection with a handler. The editor reads nothing before read.
func serve(t *testing.T, handler answers) *peer {
	in := &stdin{more: make(chan struct{}, 1)}
	stdout, out := io.Pipe()
	core, log := observer.New(zap.WarnLevel)
	p := &peer{t: t, log: log, stdin: in, out: stdout, ran: make(chan struct{})}
	p.conn = New(in, out, handler.handle, Options{}, zap.New(core))
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(t.Context())
	go func() {
		defer close(p.ran)
		p.conn.Run(ctx)
	}()
	t.Cleanup(func() {
		p.cancel()
		in.end(io.EOF)
		_ = stdout.Close()
		p.conn.Close(time.Second)
	})
	return p
}

// read has the editor read all that comes.
func (p *peer) read() {
	lines := bufio.NewScanner(p.out)
	lines.Buffer(nil, 32<<20)
	go func() {
		for lines.Scan() {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			answer := p.answer
			p.mu.Unlock()
			if answer != nil {
				if line := answer(lines.Text()); line != "" {
					p.send(line)
				}
			}
		}
	}()
}

func (p *peer) send(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	p.stdin.write(format + "\n")
}

// stdin is a pipe that accepts written data at once.
type stdin struct {
	mu   sync.Mutex
	data []byte
	err  error
	more chan struct{} // has a token when data or err changed
}

func (in *stdin) write(text string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.data = append(in.data, text...)
	in.wake()
}

func (in *stdin) end(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.err = err
	in.wake()
}

func (in *stdin) wake() {
	select {
	case in.more <- struct{}{}:
	default:
	}
}

func (in *stdin) Read(b []byte) (n int, err error) {
	for n == 0 && err == nil {
		in.mu.Lock()
		n = copy(b, in.data)
		if in.data = in.data[n:]; n == 0 {
			err = in.err
		}
		in.mu.Unlock()
		if n == 0 && err == nil {
			<-in.more
		}
	}
	return n, err
}

// got returns what the editor has read once nothing changes any more.
func (p *peer) got() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// end closes the agent's input, and the connection when Run has returned.
func (p *peer) end() {
	p.stdin.end(io.EOF)
	<-p.ran
	p.conn.Close(time.Second)
}

// indexOf returns the index of the first line that contains text.
func indexOf(t *testing.T, lines []string, text string) int {
	t.Helper()
	for i, line := range lines {
		if strings.Contains(line, text) {
			return i
		}
	}
	require.Fail(t, "missing", "%s in %q", text, lines)
	return -1
}

func response(id, rest string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, rest) }

const noResult = `"result":null`
