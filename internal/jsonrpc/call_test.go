package jsonrpc

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestHandlerGetsCallsAndGivesResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []Call
		p := serve(t, func(c *Call) (any, *Error) {
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

// TestNothingIsReadBeforeRun checks that the handler's state may be set up after New.
func TestNothingIsReadBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		read := make(chan string, 1)
		conn := New(in, io.Discard, func(c *Call) { read <- c.Method }, Options{}, zap.NewNop())
		go func() { _, _ = io.WriteString(stdin, `{"jsonrpc":"2.0","method":"m"}`+"\n") }()
		synctest.Wait()
		require.Empty(t, read)
		go conn.Run(t.Context())
		require.Equal(t, "m", <-read)
		_ = stdin.Close()
		conn.Close(time.Second)
	})
}

// TestCloseWithoutRun checks that nothing is left behind.
func TestCloseWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _ := io.Pipe()
		conn := New(in, io.Discard, nil, Options{}, zap.NewNop())
		conn.Close(time.Second)
	})
}

// TestCallsAreOrdered: the next line is read when the call before has said so, or
// has ended; saying it twice is once.
func TestCallsAreOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan string, 10)
		ordered, ends := make(chan struct{}), make(chan struct{})
		p := serve(t, func(c *Call) (any, *Error) {
			began <- c.Method
			if c.Method == "slow" {
				<-ordered
				c.Async()
				c.Async()
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

// A line has its number from its first byte on, also if its call has to wait.
func TestLinesAreNumbered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, ends := map[string]*Call{}, make(chan struct{})
		p := serve(t, func(c *Call) (any, *Error) {
			calls[c.Method] = c
			<-ends
			return nil, nil
		})
		p.read()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"first"}`)
		p.send(`{"jsonrpc":"2.0","method":"waits"}`)
		synctest.Wait()
		require.Len(t, calls, 1)
		ends <- struct{}{}
		require.Len(t, p.got(), 1)
		require.EqualValues(t, 2, p.conn.Lines())
		p.stdin.write(`{"jsonrpc":"2.0","id":2,`)
		synctest.Wait()
		require.EqualValues(t, 3, p.conn.Lines())
		p.send(`"method":"behind"}`)
		close(ends)
		require.Len(t, p.got(), 2)
		require.EqualValues(t, 2, calls["waits"].Line)
		require.EqualValues(t, 3, calls["behind"].Line)
	})
}

// TestNothingOvertakesAResponse checks that messages sent after a response was written come after it, whatever else is sent in between,
// even if the request was cancelled, which ends its context much earlier.
func TestNothingOvertakesAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		p := serve(t, nil)
		p.conn.handler = answers(func(c *Call) (any, *Error) {
			var params struct{ N int }
			require.NoError(t, json.Unmarshal(c.Params, &params))
			c.Async()
			p.conn.Text(TextFrame{`{"text":`, `}`}, "noise")
			if params.N%2 == 0 {
				<-c.Context.Done()
			}
			c.Respond(nil, nil)
			require.NoError(t, p.conn.Notify("behind", fmt.Sprintf("<%d>", params.N)))
			return nil, nil
		}).handle
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

// A cancel of null is of no request, also not of one whose ID is "".
func TestIDKey(t *testing.T) {
	require.Equal(t, IDKey([]byte(`"a<"`)), IDKey([]byte(`"a\u003c"`)))
	require.Equal(t, IDKey([]byte("1")), IDKey([]byte(" 1")))
	seen := map[string]bool{}
	for _, id := range []string{`""`, "null", `"null"`, "1", `"1"`} {
		seen[IDKey([]byte(id))] = true
	}
	require.Len(t, seen, 5)
}

// TestCancelledRequest: its context ends, and its response is the handler's.
func TestCancelledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := serve(t, func(c *Call) (any, *Error) {
			c.Async()
			<-c.Context.Done()
			<-release
			return "done", nil
		})
		p.read()
		p.send(`{"jsonrpc":"2.0","id":"x","method":"m"}`)
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"x"}}`)
		require.Empty(t, p.got())
		close(release)
		require.Equal(t, []string{response(`"x"`, `"result":"done"`)}, p.got())
	})
}

// TestPanicEndsTheRequestAlone, in the handler and where its result is encoded; so
// does a result that cannot be encoded.
func TestPanicEndsTheRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(c *Call) (any, *Error) {
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
			synctest.Wait() // requests are answered in any order
		}
		lines := p.got()
		require.Len(t, lines, 4)
		for i, want := range []string{
			"droid-acp failed while handling panic: test. The details are in its log; please report this.",
			"droid-acp failed while handling result: encoding.",
			"the result could not be encoded: json: unsupported type: chan int",
		} {
			require.Contains(t, lines[i], want)
			require.Contains(t, lines[i], `"code":-32603`)
			require.Contains(t, lines[i], `"data":{"kind":"internal_error"}`, "and nothing twice")
		}
		require.Equal(t, response("3", `"result":"fine"`), lines[3])
		logged := p.log.All()
		require.Len(t, logged, 2)
		require.Equal(t, "panic in a handler", logged[0].Message)
		require.Equal(t, "panic", logged[0].ContextMap()["method"])
		require.Equal(t, "test", logged[0].ContextMap()["panic"])
		require.Contains(t, logged[0].ContextMap()["stack"], "call_test.go")
	})
}

type brittle struct{}

func (brittle) MarshalJSON() ([]byte, error) { panic("encoding") }
