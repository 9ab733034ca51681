package relay

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// testLink is a link whose other end is the test.
type testLink struct {
	toEditor, toServer chan string
	cut                chan struct{}
}

func newTestLink() *testLink {
	return &testLink{make(chan string, 100), make(chan string, 100), make(chan struct{})}
}

func (l *testLink) Read(ctx context.Context) ([]byte, error) {
	select {
	case line := <-l.toEditor:
		return []byte(line), nil
	case <-l.cut:
		return nil, errors.New("it was cut")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *testLink) Write(_ context.Context, line []byte) error {
	l.toServer <- string(line)
	return nil
}

func (l *testLink) Close() error { return nil }

// answer waits for a request of that method, and answers it with a result or an error.
func (l *testLink) answer(t *testing.T, method, outcome string) {
	t.Helper()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	require.NoError(t, json.Unmarshal([]byte(<-l.toServer), &m))
	require.Equal(t, method, m.Method)
	l.toEditor <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + outcome + `}`
	synctest.Wait()
}

// An answer that was given while the link was cut does not reach another server, which may have asked something else by the same ID.
func TestAnswerIsForOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		first, second, next := newTestLink(), newTestLink(), make(chan MessageConn, 2)
		next <- first
		r := &Reconnector{Notify: func(string) {}, Connect: func(ctx context.Context) (MessageConn, error) {
			select {
			case conn := <-next:
				return conn, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		require.NoError(t, r.Dial(ctx))
		got := make(chan string, 100)
		go func() {
			for {
				line, err := r.Read(ctx)
				if err != nil {
					return
				}
				got <- string(line)
			}
		}()
		say := func(line string) {
			go func() { _ = r.Write(ctx, []byte(line)) }()
			synctest.Wait()
		}
		asks := func(title string) string {
			return `{"jsonrpc":"2.0","id":"s7","method":"session/request_permission","params":{"sessionId":"S","toolCall":{"title":"` + title + `"}}}`
		}
		const allow = `{"jsonrpc":"2.0","id":"s7","result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`

		say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		first.answer(t, "initialize", `"result":{"_meta":{"droid-acp":{"cursors":true}}}`)
		say(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w"}}`)
		first.answer(t, "session/new", `"result":{"sessionId":"S","_meta":{"droid-acp":{"epoch":"a","line":1}}}`)
		<-got
		<-got
		first.toEditor <- asks("ls")
		require.Equal(t, asks("ls"), <-got)
		close(first.cut)
		synctest.Wait()
		say(allow)
		next <- second
		second.answer(t, "initialize", `"result":{}`)
		second.toEditor <- asks("rm -rf /")
		synctest.Wait()
		for len(second.toServer) > 0 {
			require.NotContains(t, <-second.toServer, "allow")
		}
		require.Equal(t, asks("rm -rf /"), <-got)
		say(strings.Replace(allow, "allow", "reject", 1))
		require.Contains(t, <-second.toServer, "reject")
	})
}
