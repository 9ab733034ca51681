package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
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

// serve runs a connection with a handler. The editor reads nothing before read.
func serve(t *testing.T, handler Handler) *peer {
	in := &stdin{more: make(chan struct{}, 1)}
	stdout, out := io.Pipe()
	core, log := observer.New(zap.WarnLevel)
	p := &peer{t: t, log: log, stdin: in, out: stdout, ran: make(chan struct{})}
	p.conn = New(in, out, handler, zap.New(core))
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

// stdin is a pipe that takes what is written at once.
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

// got returns what the editor has read when nothing moves any more.
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

// indexOf is where the first line stands that contains text.
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

func TestHandlerGetsCallsAndGivesResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []Call
		p := serve(t, func(c *Call) (any, *acp.RequestError) {
			calls = append(calls, *c)
			switch c.Method {
			case "result":
				return map[string]int{"n": 7}, nil
			case "error":
				return "dropped", NewError(-32000, "No", "not  now\nor later")
			}
			return nil, nil
		})
		p.read()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"result","params":{"a":1}}`)
		p.send(`{"jsonrpc":"2.0","id":"two","method":"error"}`)
		p.send(`{"jsonrpc":"2.0","method":"notification","params":[2]}`)
		p.send(`{"jsonrpc":"2.0","id":3,"method":"nothing"}`)
		require.Equal(t, []string{
			response("1", `"result":{"n":7}`),
			response(`"two"`, `"error":{"code":-32000,"message":"No: not now or later","data":{"details":"not  now\nor later"}}`),
			response("3", noResult),
		}, p.got())
		require.Len(t, calls, 4)
		require.Equal(t, []string{"result", "error", "notification", "nothing"},
			[]string{calls[0].Method, calls[1].Method, calls[2].Method, calls[3].Method})
		require.Equal(t, `{"a":1}`, string(calls[0].Params))
		require.Nil(t, calls[1].Params)
		require.NotNil(t, calls[0].Response)
		require.Nil(t, calls[2].Response, "a notification has none")
		p.end()
		require.Empty(t, p.log.All())
	})
}

// TestNothingIsReadBeforeRun: what the handler uses may be set up after New.
func TestNothingIsReadBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		read := make(chan string, 1)
		conn := New(in, io.Discard, func(c *Call) (any, *acp.RequestError) {
			read <- c.Method
			return nil, nil
		}, zap.NewNop())
		go func() { _, _ = io.WriteString(stdin, `{"jsonrpc":"2.0","method":"m"}`+"\n") }()
		synctest.Wait()
		require.Empty(t, read)
		go conn.Run(t.Context())
		require.Equal(t, "m", <-read)
		_ = stdin.Close()
		conn.Close(time.Second)
	})
}

// TestCloseWithoutRun: nothing is left behind.
func TestCloseWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _ := io.Pipe()
		conn := New(in, io.Discard, nil, zap.NewNop())
		conn.Close(time.Second)
	})
}

// TestCallsAreOrdered: the next line is read when the call before has said so, or
// has ended; saying it twice is once.
func TestCallsAreOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan string, 10)
		ordered, ends := make(chan struct{}), make(chan struct{})
		p := serve(t, func(c *Call) (any, *acp.RequestError) {
			began <- c.Method
			if c.Method == "slow" {
				<-ordered
				c.Ordered()
				c.Ordered()
				<-ends
			}
			if c.Method == "b" {
				<-ends
			}
			return nil, nil
		})
		p.read()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
		require.Equal(t, "slow", <-began)
		p.send(`{"jsonrpc":"2.0","method":"a"}`)
		synctest.Wait()
		require.Empty(t, began, "slow is not ordered yet")
		close(ordered)
		require.Equal(t, "a", <-began)
		require.Empty(t, p.got(), "slow still runs")
		p.send(`{"jsonrpc":"2.0","id":2,"method":"b"}`)
		require.Equal(t, "b", <-began)
		p.send(`{"jsonrpc":"2.0","id":3,"method":"c"}`)
		synctest.Wait()
		require.Empty(t, began, "b is not ordered before it ends")
		close(ends)
		require.Equal(t, "c", <-began)
		require.Len(t, p.got(), 3)
	})
}

// TestNothingOvertakesAResponse: what is sent once a response is written comes
// behind it, whoever else sends meanwhile, and also when the request was cancelled,
// which ends its context long before.
func TestNothingOvertakesAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		p := serve(t, nil)
		p.conn.handler = func(c *Call) (any, *acp.RequestError) {
			var params struct{ N int }
			require.NoError(t, json.Unmarshal(c.Params, &params))
			c.Ordered()
			c.Response.WhenWritten(func() {
				require.NoError(t, p.conn.Notify("behind", fmt.Sprintf("<%d>", params.N)))
			})
			p.conn.Text(TextFrame{`{"text":`, `}`}, "noise")
			if params.N%2 == 0 {
				<-c.Context.Done()
			}
			return nil, nil
		}
		p.read()
		for i := range n {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"m","params":{"n":%d}}`, i, i)
		}
		for i := 0; i < n; i += 2 {
			p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`, i)
		}
		lines := p.got()
		for i := range n {
			at := indexOf(t, lines, response(fmt.Sprint(i), noResult))
			require.Less(t, at, indexOf(t, lines, fmt.Sprintf(`\u003c%d\u003e`, i)))
		}
	})
}

// TestCancelledRequest: its context ends, and its response is the handler's.
func TestCancelledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan struct{})
		release := make(chan struct{})
		p := serve(t, func(c *Call) (any, *acp.RequestError) {
			c.Response.WhenWritten(func() { close(written) })
			c.Ordered()
			<-c.Context.Done()
			<-release
			return "done", nil
		})
		p.read()
		p.send(`{"jsonrpc":"2.0","id":"x","method":"m"}`)
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"x"}}`)
		require.Empty(t, p.got())
		select {
		case <-written:
			require.Fail(t, "the context ended, but nothing is written")
		default:
		}
		close(release)
		require.Equal(t, []string{response(`"x"`, `"result":"done"`)}, p.got())
		<-written
	})
}

// TestPanicEndsTheRequestAlone, in the handler and where its result is encoded; so
// does a result that cannot be encoded.
func TestPanicEndsTheRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(c *Call) (any, *acp.RequestError) {
			switch c.Method {
			case "panic":
				panic("test")
			case "result":
				return brittle{}, nil
			case "channel":
				return make(chan int), nil
			}
			return "fine", nil
		})
		p.read()
		for i, method := range []string{"panic", "result", "channel", "after"} {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":%q}`, i, method)
		}
		lines := p.got()
		require.Len(t, lines, 4)
		for i, want := range []string{
			"internal_error: droid-acp failed while handling panic: test. The details are in its log; please report this.",
			"internal_error: droid-acp failed while handling result: encoding.",
			"internal_error: the result could not be encoded: json: unsupported type: chan int",
		} {
			require.Contains(t, lines[i], want)
			require.Contains(t, lines[i], `"code":-32603`)
		}
		require.Equal(t, response("3", `"result":"fine"`), lines[3])
		logged := p.log.All()
		require.Len(t, logged, 2)
		require.Equal(t, "panic in a handler", logged[0].Message)
		require.Equal(t, "panic", logged[0].ContextMap()["method"])
		require.Equal(t, "test", logged[0].ContextMap()["panic"])
		require.Contains(t, logged[0].ContextMap()["stack"], "conn_test.go")
	})
}

type brittle struct{}

func (brittle) MarshalJSON() ([]byte, error) { panic("encoding") }

func TestRequestToTheEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, nil)
		p.answer = func(line string) string {
			switch {
			case strings.Contains(line, `"good"`):
				return `{"jsonrpc":"2.0","id":1,"result":{"picked":"a"}}`
			case strings.Contains(line, `"bad"`):
				return `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no such method"}}`
			case strings.Contains(line, `"broken"`):
				return `{"jsonrpc":"1.0","id":3,"result":{"picked":"a"}}`
			}
			return ""
		}
		p.read()
		type picked struct{ Picked string }
		got, err := Request[picked](t.Context(), p.conn, "good", map[string]int{"x": 1})
		require.NoError(t, err)
		require.Equal(t, picked{"a"}, got)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"good","params":{"x":1}}`}, p.got())

		var refused *acp.RequestError
		_, err = Request[picked](t.Context(), p.conn, "bad", nil)
		require.ErrorAs(t, err, &refused)
		require.Equal(t, -32601, refused.Code)
		_, err = Request[picked](t.Context(), p.conn, "broken", nil)
		require.ErrorContains(t, err, `\"jsonrpc\" must be`, "a response that is refused ends its request")

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = Request[picked](ctx, p.conn, "mute", nil)
		require.Error(t, err)
		lines := p.got()
		require.JSONEq(t, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4}}`, lines[len(lines)-1])

		go p.end()
		_, err = Request[picked](t.Context(), p.conn, "mute", nil)
		require.Error(t, err, "the editor is gone")
	})
}

// TestSendersNeverWait: an editor that reads nothing is told of by Full, and by
// nothing else; and it reads all in the end.
func TestSendersNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(*Call) (any, *acp.RequestError) { return nil, nil })
		frame := TextFrame{`{"text":`, `}`}
		began := time.Now()
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				for range maxLines {
					require.NoError(t, p.conn.Notify("n", "x"))
					p.conn.Text(frame, "y")
				}
			})
		}
		senders.Wait()
		require.Zero(t, time.Since(began))
		room := p.conn.Full()
		require.True(t, isFull(room))
		p.read()
		all := strings.Join(p.got(), "\n")
		require.Equal(t, 8*maxLines, strings.Count(all, `"method":"n"`))
		require.Equal(t, 8*maxLines, strings.Count(all, "y"))
		require.False(t, isFull(room))
		require.Nil(t, p.conn.Full())
		p.end()
	})
}

func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, nil)
		p.read()
		require.NoError(t, p.conn.Notify("m", []int{1}))
		var unsupported *json.UnsupportedTypeError
		require.ErrorAs(t, p.conn.Notify("m", make(chan int)), &unsupported)
		require.Equal(t, []string{`{"jsonrpc":"2.0","method":"m","params":[1]}`}, p.got())
		p.end()
		require.NoError(t, p.conn.Notify("m", nil), "an editor that is gone is no error")
		require.Len(t, p.got(), 1)
	})
}

// TestRunEnds with the input, with its context, and with an editor that does not
// read any more; nothing is said of the first two.
func TestRunEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end    func(p *peer)
		logged int
	}{
		"input":   {func(p *peer) { p.stdin.end(io.EOF) }, 0},
		"context": {func(p *peer) { p.cancel() }, 0},
		"output":  {func(p *peer) { _ = p.out.Close(); _ = p.conn.Notify("m", nil) }, 1},
		"reading": {func(p *peer) { p.stdin.end(errors.New("test")) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, nil)
				synctest.Wait()
				select {
				case <-p.ran:
					require.Fail(t, "it ended before")
				default:
				}
				tc.end(p)
				<-p.ran
				require.Len(t, p.log.All(), tc.logged)
			})
		})
	}
}

// TestRunEndsWhileAHandlerIsNotOrdered: what comes behind is not read any more,
// and the response is waited for.
func TestRunEndsWhileAHandlerIsNotOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, release := make(chan string, 2), make(chan struct{})
		p := serve(t, func(c *Call) (any, *acp.RequestError) {
			began <- c.Method
			<-release
			return nil, nil
		})
		p.read()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"a"}`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"b"}`)
		require.Equal(t, "a", <-began)
		p.cancel()
		<-p.ran
		time.AfterFunc(time.Second/2, func() { close(release) })
		at := time.Now()
		p.conn.Close(time.Second)
		require.Equal(t, time.Second/2, time.Since(at))
		require.Equal(t, []string{response("1", noResult)}, p.got())
		require.Empty(t, began)
		require.Empty(t, p.log.All())
	})
}

// TestCloseIsBounded: by a handler that does not end, and by an editor that does
// not read.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := serve(t, func(*Call) (any, *acp.RequestError) {
			<-release
			return nil, nil
		})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"a"}`)
		require.NoError(t, p.conn.Notify("unread", nil))
		synctest.Wait()
		p.cancel()
		<-p.ran
		began := time.Now()
		p.conn.Close(time.Second)
		require.Equal(t, 2*time.Second, time.Since(began))
		logged := p.log.All()
		require.Len(t, logged, 2)
		require.Equal(t, "a request of the editor was left without an answer", logged[0].Message)
		require.Equal(t, "the editor did not take the last messages in time", logged[1].Message)
		close(release)
	})
}

// TestCloseWritesWhatWaits before it returns.
func TestCloseWritesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, nil)
		for i := range 10 {
			require.NoError(t, p.conn.Notify("n", i))
		}
		p.conn.Text(TextFrame{"", ""}, "last")
		time.AfterFunc(time.Second/2, p.read)
		p.end()
		lines := p.got()
		require.Len(t, lines, 11)
		require.Equal(t, `"last"`, lines[10])
		require.Empty(t, p.log.All())
	})
}

// TestManyRequestsOfAnEditorThatReadsNothing: at last its requests wait, and its
// cancel does not.
func TestManyRequestsOfAnEditorThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		calls := map[string]int{}
		p := serve(t, func(c *Call) (any, *acp.RequestError) {
			mu.Lock()
			defer mu.Unlock()
			calls[c.Method]++
			return nil, nil
		})
		const asked = 2 * overfullAt * maxLines
		for i := range asked {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, i)
		}
		p.send(`{"jsonrpc":"2.0","method":"end"}`)
		synctest.Wait()
		require.Less(t, calls["m"], asked, "the editor is not read")
		require.GreaterOrEqual(t, calls["m"], overfullAt*maxLines)
		p.read()
		require.Len(t, p.got(), asked)
		require.Equal(t, asked, calls["m"])
		require.Equal(t, 1, calls["end"])
		p.end()
	})
}

// TestLongestLineThroughTheConnection: what the gate lets through, the SDK's
// connection takes, which dies of longer lines.
func TestLongestLineThroughTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(c *Call) (any, *acp.RequestError) { return len(c.Params), nil })
		p.read()
		head, tail := `{"jsonrpc":"2.0","id":"long","method":"m","params":`, `}`
		size := maxLine - len(head) - len(tail)
		p.send(head + `"` + strings.Repeat("a", size-2) + `"` + tail)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"m","params":[]}`)
		require.Equal(t, []string{response(`"long"`, fmt.Sprintf(`"result":%d`, size)), response("2", `"result":2`)}, p.got())
	})
}
