package wire

import (
	"io"
	"testing"
	"time"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/testing/acptest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestACPsErrors: those of handlers reach the editor, and its own those who ask it.
func TestACPsErrors(t *testing.T) {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	conn := New(in, out, func(c *Call) (any, *jsonrpc.Error) {
		if c.Method == "good" {
			return map[string]int{"n": 7}, nil
		}
		return "dropped", jsonrpc.NewError(-32000, "No", "not  now")
	}, Options{}, zap.NewNop())
	ran := make(chan struct{})
	go func() { defer close(ran); conn.Run(t.Context()) }()
	peer := acptest.NewPeer(t, stdout, stdin)
	exchange := func(line, want string) {
		peer.Say(line)
		require.Equal(t, want, peer.Line())
	}
	exchange(`{"jsonrpc":"2.0","id":1,"method":"good"}`, `{"jsonrpc":"2.0","id":1,"result":{"n":7}}`)
	exchange(`{"jsonrpc":"2.0","id":2,"method":"bad"}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"No: not now","data":{"details":"not  now"}}}`)

	answers := []string{`"result":{"picked":"a"}`, `"error":{"code":-32601,"message":"no"}`, `"result":[]`, `"result":null`}
	go func() {
		for i, answer := range answers {
			peer.Line()
			peer.Say(`{"jsonrpc":"2.0","id":%d,%s}`, i+1, answer)
		}
	}()
	type picked struct{ Picked string }
	ask := func() (got picked, err error) {
		asked := make(chan struct{})
		Ask(conn, "m", nil, func(p picked, e error) { got, err = p, e; close(asked) })
		<-asked
		return got, err
	}
	got, err := ask()
	require.NoError(t, err)
	require.Equal(t, picked{"a"}, got)
	_, err = ask()
	var refused *jsonrpc.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, -32601, refused.Code)
	_, err = ask()
	require.Error(t, err, "no result of this type")
	_, err = ask()
	require.NoError(t, err)

	_ = stdin.Close()
	<-ran
	conn.Close(time.Second)
}
