package telling

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/wire"
	"droid-acp/internal/testing/acptest"
)

// asking runs a test with the way to an editor, in a bubble. owner is what was posted to the
// session's; next is the editor's next line, and say has it answer.
func asking(t *testing.T, test func(w *Way, owner chan func(), next func() string, say func(line string))) {
	synctest.Test(t, func(t *testing.T) {
		in, stdin := io.Pipe()
		stdout, out := io.Pipe()
		conn := wire.New(in, out, func(*wire.Call) (any, *acp.RequestError) { return nil, nil }, wire.Options{}, zap.NewNop())
		go conn.Run(t.Context())
		owner, peer := make(chan func(), 9), acptest.NewPeer(t, stdout, stdin)
		w := New(conn, func(f func()) bool { owner <- f; return true }, zap.NewNop())
		test(w, owner, peer.Line, func(line string) { peer.Say(line) })
		_ = stdin.Close()
		_ = stdout.Close()
		conn.Close(time.Second)
	})
}

// waiter is a task that notes when it pauses and goes on.
type waiter struct{ paused, resumed chan struct{} }

func (w *waiter) Pause() error { close(w.paused); <-w.resumed; return nil }

func (w *waiter) Resume(error) { close(w.resumed) }

// TestAsk: the task gets the answer in its owner, once, and no longer waits when the request was taken back.
func TestAsk(t *testing.T) {
	asking(t, func(w *Way, owner chan func(), next func() string, say func(string)) {
		got := make(chan string, 9)
		ask := func() *Request[string] {
			r, task := Ask[string](w, "m", nil), &waiter{make(chan struct{}), make(chan struct{})}
			go func() { got <- fmt.Sprint(r.Await(task)) }()
			<-task.paused
			return r
		}
		ask()
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`, next())
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"the session waits for the editor's answer to m since 3s"}, w.Waits(time.Now()))
		say(`{"jsonrpc":"2.0","id":1,"result":"a"}`)
		answer := <-owner
		require.Empty(t, got)
		answer()
		require.Equal(t, "a<nil>", <-got)
		require.Empty(t, w.Waits(time.Now()))

		second := ask()
		next()
		require.True(t, second.Withdraw())
		require.False(t, second.Withdraw())
		require.Equal(t, ErrWithdrawn.Error(), <-got)
		require.Equal(t, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`, next())
		third := ask()
		next()
		say(`{"jsonrpc":"2.0","id":3,"result":"late"}`)
		answer = <-owner
		require.True(t, third.Withdraw(), "the owner has not taken the answer yet")
		answer()
		require.Equal(t, ErrWithdrawn.Error(), <-got)
		require.Empty(t, got)
	})
}

// TestAskBeside: the answer comes though the owner takes none, and not after the request was
// taken back.
func TestAskBeside(t *testing.T) {
	asking(t, func(w *Way, owner chan func(), next func() string, say func(string)) {
		ask := func() *RequestBeside[string] { return AskBeside[string](w, "m", nil) }
		first := ask()
		next()
		say(`{"jsonrpc":"2.0","id":1,"result":"a"}`)
		require.NoError(t, <-first.Answered)
		require.Equal(t, "a", first.Result)
		second := ask()
		next()
		require.True(t, second.Withdraw())
		require.Contains(t, next(), "$/cancel_request")
		third := ask()
		next()
		say(`{"jsonrpc":"2.0","id":2,"result":"late"}`)
		say(`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}`)
		require.ErrorContains(t, <-third.Answered, "no")
		require.Empty(t, w.Waits(time.Now()))
		require.Empty(t, owner)
		require.Empty(t, second.Answered)
	})
}
