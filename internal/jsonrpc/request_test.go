package jsonrpc

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/jsonrpc/flight"
)

// outcome holds the arguments of done.
type outcome struct {
	result string
	err    error
}

// ask sends a request and returns where its outcome comes.
func (p *peer) ask(method string) (*Pending, <-chan outcome) {
	got := make(chan outcome, 2)
	return p.conn.Ask(method, nil, func(result json.RawMessage, err error) { got <- outcome{string(result), err} }), got
}

// TestAskInOrder: an answer takes effect where it came among other messages, and once.
func TestAskInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, heard := make(chan struct{}), make(chan string, 9)
		p := serve(t, func(c *Call) (any, *Error) {
			heard <- c.Method
			<-release
			return nil, nil
		})
		p.read()
		_, got := p.ask("a")
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"a"}`}, p.got())
		p.send(`{"jsonrpc":"2.0","method":"before"}`)
		p.send(`{"jsonrpc":"2.0","id":1,"result":7}`)
		p.send(`{"jsonrpc":"2.0","id":1,"result":8}`)
		synctest.Wait()
		require.Equal(t, "before", <-heard)
		require.Empty(t, got, "what came before is not ordered yet")
		close(release)
		require.Equal(t, outcome{"7", nil}, <-got)
		synctest.Wait()
		require.Empty(t, got)

		_, got = p.ask("b")
		p.end()
		require.Equal(t, outcome{"", ErrGone}, <-got)
		_, got = p.ask("late")
		require.Equal(t, outcome{"", ErrGone}, <-got)
	})
}

// TestWithdraw: the editor is notified unless it cannot know of the request; no response is delivered.
func TestWithdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, nil)
		require.NoError(t, p.conn.Notify("unread", nil))
		synctest.Wait() // the writer waits with it
		unsent, _ := p.ask("unsent")
		require.True(t, unsent.Withdraw())
		p.read()
		sent, got := p.ask("sent")
		synctest.Wait()
		require.True(t, sent.Withdraw())
		require.False(t, sent.Withdraw(), "once")
		p.send(`{"jsonrpc":"2.0","id":2,"result":7}`)
		require.Equal(t, []string{
			`{"jsonrpc":"2.0","method":"unread"}`,
			`{"jsonrpc":"2.0","id":2,"method":"sent"}`,
			`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`,
		}, p.got())
		require.Empty(t, got)
	})
}

func TestAskWhatCannotBeEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, nil)
		_, err := p.conn.Request(t.Context(), "m", make(chan int))
		var unsupported *json.UnsupportedTypeError
		require.ErrorAs(t, err, &unsupported)
	})
}

// TestPanicWhileHandlingResponse ends nothing else.
func TestPanicWhileHandlingResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, nil)
		p.read()
		p.conn.Ask("a", nil, func(json.RawMessage, error) { panic("test") })
		_, got := p.ask("b")
		p.send(`{"jsonrpc":"2.0","id":1,"result":7}`)
		p.send(`{"jsonrpc":"2.0","id":2,"result":8}`)
		require.Equal(t, "8", (<-got).result)
		require.Len(t, p.log.All(), 1)
	})
}

// TestPanicWhileReadingLine: the line is answered and the next one read.
func TestPanicWhileReadingLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(*Call) (any, *Error) { return nil, nil })
		p.conn.update(func(s *state) { s.requests = nil }) // no request can be noted
		p.read()
		p.send(`{"jsonrpc":"2.0","id":7,"method":"m"}`)
		require.Len(t, p.got(), 1)
		require.Contains(t, p.got()[0], `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"droid-acp failed: assignment`)
		require.Len(t, p.log.All(), 1)
		require.Contains(t, p.log.All()[0].ContextMap()["stack"], "conn.go")
		_, got := p.ask("next")
		p.send(`{"jsonrpc":"2.0","id":1,"result":7}`)
		require.Equal(t, "7", (<-got).result)
	})
}

// TestEndOfInputIsNoticed while a handler keeps the order, and behind answers that nobody
// reads. What was read before may get on for a while.
func TestEndOfInputIsNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		lines int
		hold  bool
	}{
		"a handler keeps the order": {3, true},
		"answers that nobody reads": {2 * overfullAt * maxLines, false},
		"more than is kept":         {overfullAt*maxLines + maxWaiting/itemCost + 5_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, func(c *Call) (any, *Error) {
					if tc.hold {
						<-c.Context.Done()
					}
					return nil, nil
				})
				for range tc.lines {
					p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
				}
				synctest.Wait()
				began := time.Now()
				p.stdin.end(io.EOF)
				<-p.ran
				require.Equal(t, endPatience, time.Since(began))
				require.Len(t, p.log.All(), 1)
			})
		})
	}
}

// TestWhatWasReadBeforeTheEnd still takes effect, as long as it gets on.
func TestWhatWasReadBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(*Call) (any, *Error) {
			time.Sleep(endPatience - time.Millisecond)
			return nil, nil
		})
		p.read()
		p.send(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"m"}`+"\n", 10))
		p.stdin.end(io.EOF)
		<-p.ran
		require.Len(t, p.got(), 10)
		require.Empty(t, p.log.All())
	})
}

// TestMemoryForWhatWaitsIsBounded checks that the editor's input is no longer read, and that the end of the connection does not wait for
// it.
func TestMemoryForWhatWaitsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(c *Call) (any, *Error) {
			<-c.Context.Done()
			return nil, nil
		})
		line := `{"jsonrpc":"2.0","method":"m","params":"` + strings.Repeat("a", 1<<20) + `"}`
		for range 40 {
			p.send(line)
		}
		synctest.Wait()
		p.stdin.mu.Lock()
		require.Greater(t, len(p.stdin.data), 20<<20, "not read")
		p.stdin.mu.Unlock()
		p.cancel()
		<-p.ran
	})
}

// TestRespondLater: after the handler has returned, and once.
func TestRespondLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := make(chan *Call, 9)
		p := serve(t, nil)
		p.conn.handler = func(c *Call) { calls <- c }
		p.read()
		p.send(`{"jsonrpc":"2.0","id":"<a>","method":"m"}`)
		p.send(`{"jsonrpc":"2.0","method":"notification"}`)
		call, notification := <-calls, <-calls
		require.Empty(t, p.got())
		require.Equal(t, `"<a>"`, string(call.Response.ID()))
		require.Nil(t, notification.Response.ID())
		notification.Respond("nobody's", nil)
		call.Respond(1, nil)
		call.Respond(2, nil)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":"\u003ca\u003e","result":1}`}, p.got())
		require.Error(t, call.Context.Err(), "it has ended")
	})
}

// TestCancelledByAnotherSpelling checks a cancel with another spelling of the id, which JSON allows for numbers; a string is not a number.
// A request of that name is one like any other.
func TestCancelledByAnotherSpelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := make(chan *Call, 9)
		p := serve(t, nil)
		p.conn.handler = func(c *Call) { calls <- c }
		p.send(`{"jsonrpc":"2.0","id":"1","method":"m"}`)
		p.send(`{"jsonrpc":"2.0","id":"<a>","method":"m"}`)
		one, a := <-calls, <-calls
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"\u003ca\u003e"}}`)
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request"}`)
		<-a.Context.Done()
		p.send(`{"jsonrpc":"2.0","id":2,"method":"$/cancel_request","params":{"requestId":"1"}}`)
		(<-calls).Respond(nil, nil)
		require.NoError(t, one.Context.Err())
		one.Respond(nil, nil)
		a.Respond(nil, nil)
	})
}

// TestReadToEnd checks that a child's mistakes are reported to the caller, that its lines have a separate limit, and that its output is
// read even after it stops reading.
func TestReadToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refused []string
		recorder := flight.New(1 << 20)
		in := &stdin{more: make(chan struct{}, 1)}
		_, out := io.Pipe()
		_ = out.CloseWithError(io.ErrClosedPipe)
		heard := make(chan string, 9)
		c := New(in, out, func(c *Call) { heard <- c.Method },
			Options{MaxLine: 100, ReadToEnd: true, Flight: recorder.Connection("child"), Rejected: func(e *Error) { refused = append(refused, e.Message[:min(15, len(e.Message))]) }}, zap.NewNop())
		require.NoError(t, c.Notify("nobody reads", nil))
		ran := make(chan struct{})
		go func() { defer close(ran); c.Run(t.Context()) }()
		synctest.Wait()
		in.write("nonsense\n" + `{"jsonrpc":"2.0","method":"` + strings.Repeat("m", 99) + "\"}\n" + `{"jsonrpc":"2.0","method":"last"}`)
		in.end(io.EOF)
		<-ran
		require.Equal(t, "last", <-heard)
		require.Equal(t, []string{"Parse error", "Invalid request"}, refused)
		require.Contains(t, strings.Join(recorder.Lines(func(*flight.Connection, string) bool { return true }), "\n"), `child < 33 B {method:"last"}`)
		c.Abort()
	})
}
