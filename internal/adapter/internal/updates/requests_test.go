package updates

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/internal/monitor"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/testing/acptest"
)

// way is the way of a session to an editor, whose next line is next, and which say has answer.
type way struct {
	*Sender
	next func() string
	say  func(line string)
}

// post has f run with the session's lock.
func (s *Sender) post(f func()) { s.monitor.Post(f) }

// asking runs a test in a bubble.
func asking(t *testing.T, test func(t *testing.T, w way)) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		stdout, out := io.Pipe()
		conn := wire.New(in, out, func(*wire.Call) (any, *jsonrpc.Error) { return nil, nil }, wire.Options{}, zap.NewNop())
		go conn.Run(t.Context())
		m := monitor.New(monitor.Hooks{Refresh: func() {}, Advance: func() bool { return false }, Panicked: func(p any) { panic(p) }})
		peer := acptest.NewPeer(t, stdout, stdin)
		w := New(conn, m, zap.NewNop())
		w.Release()
		test(t, way{w, peer.Line, func(line string) { peer.Say(line) }})
		m.Lock()
		m.Close()
		_ = stdin.Close()
		_ = stdout.Close()
		conn.Close(time.Second)
	})
}

// TestAsk checks that a waiting caller gets the answer with the lock, once, and that it stops waiting if the request was cancelled.
func TestAsk(t *testing.T) {
	asking(t, func(t *testing.T, w way) {
		got := make(chan string, 9)
		ask := func() (r *Request[string]) {
			w.post(func() {
				r = SendRequest[string](w.Sender, "m", nil)
				w.monitor.Go(func() { got <- fmt.Sprint(r.Await(t.Context())) })
			})
			synctest.Wait()
			return r
		}
		ask()
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`, w.next())
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"the session waits for the editor's answer to m since 3s"}, w.Requests(time.Now()))
		w.say(`{"jsonrpc":"2.0","id":1,"result":"a"}`)
		require.Equal(t, "a<nil>", <-got)
		require.Empty(t, w.Requests(time.Now()))

		second := ask()
		w.next()
		w.post(func() {
			require.True(t, second.Withdraw())
			require.False(t, second.Withdraw())
		})
		require.Equal(t, ErrWithdrawn.Error(), <-got)
		require.Equal(t, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`, w.next())
		third := ask()
		w.next()
		w.post(func() {
			w.say(`{"jsonrpc":"2.0","id":3,"result":"late"}`)
			time.Sleep(time.Second)
			require.True(t, third.Withdraw(), "the answer has not been taken yet")
		})
		require.Equal(t, ErrWithdrawn.Error(), <-got)
		synctest.Wait()
		require.Empty(t, got)
	})
}

// TestAskBeside checks that the answer arrives even if another goroutine has the lock, and not after the request was cancelled.
func TestAskBeside(t *testing.T) {
	asking(t, func(t *testing.T, w way) {
		ask := func() *AsyncRequest[string] { return SendAsync[string](w.Sender, "m", nil) }
		busy := make(chan struct{})
		w.post(func() { <-busy })
		first := ask()
		w.next()
		w.say(`{"jsonrpc":"2.0","id":1,"result":"a"}`)
		require.NoError(t, <-first.Answered)
		require.Equal(t, "a", first.Result)
		close(busy)
		second := ask()
		w.next()
		require.True(t, second.Withdraw())
		require.Contains(t, w.next(), "$/cancel_request")
		third := ask()
		w.next()
		w.say(`{"jsonrpc":"2.0","id":2,"result":"late"}`)
		w.say(`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}`)
		require.ErrorContains(t, <-third.Answered, "no")
		require.Empty(t, w.Requests(time.Now()))
		require.Empty(t, second.Answered)
	})
}

// TestHeldRequest checks that a held request is sent later, unless it was cancelled.
func TestHeldRequest(t *testing.T) {
	asking(t, func(t *testing.T, w way) {
		w.Hold()
		first, second := SendAsync[string](w.Sender, "one", nil), SendAsync[string](w.Sender, "two", nil)
		require.True(t, first.Withdraw())
		require.False(t, first.Withdraw())
		require.Len(t, w.Requests(time.Now()), 1)
		w.Release()
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"two"}`, w.next())
		w.say(`{"jsonrpc":"2.0","id":1,"result":"a"}`)
		require.NoError(t, <-second.Answered)
		require.Equal(t, "a", second.Result)
	})
}
