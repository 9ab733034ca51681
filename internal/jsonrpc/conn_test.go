package jsonrpc

import (
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

	"github.com/stretchr/testify/require"
)

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
		got, err := p.conn.Request(t.Context(), "good", map[string]int{"x": 1})
		require.NoError(t, err)
		require.Equal(t, `{"picked":"a"}`, string(got))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"good","params":{"x":1}}`}, p.got())

		var refused *Error
		_, err = p.conn.Request(t.Context(), "bad", nil)
		require.ErrorAs(t, err, &refused)
		require.Equal(t, -32601, refused.Code)
		_, err = p.conn.Request(t.Context(), "broken", nil)
		require.ErrorContains(t, err, `\"jsonrpc\" must be`, "a response that is refused ends its request")

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = p.conn.Request(ctx, "mute", nil)
		require.Error(t, err)
		lines := p.got()
		require.JSONEq(t, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4}}`, lines[len(lines)-1])

		go p.end()
		_, err = p.conn.Request(t.Context(), "mute", nil)
		require.Error(t, err, "the editor is gone")
	})
}

// TestSendersNeverWait: an editor that reads nothing is reported by Full, and by
// nothing else; and it reads all in the end.
func TestSendersNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(*Call) (any, *Error) { return nil, nil })
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

// TestLinesAreWellFormed checks that strict readers accept each line, whatever data it passes on.
func TestLinesAreWellFormed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw := json.RawMessage("{\"a\xff\":\"\\ud83d\", \"b\":\"\\ud83d\\ude00\"}")
		p := serve(t, func(c *Call) (any, *Error) {
			if c.Method == "refused" {
				return nil, &Error{Code: 1, Message: "x\xff", Data: raw}
			}
			return raw, nil
		})
		p.read()
		require.NoError(t, p.conn.Notify("n", raw))
		p.send(`{"jsonrpc":"2.0","id":"ä 😀 \ud83d\ude00","method":"taken"}`)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"refused"}`)
		p.send("{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"taken\"}")
		const safe = `{"a` + "\uFFFD" + `":"\ufffd","b":"\ud83d\ude00"}`
		require.Equal(t, []string{
			`{"jsonrpc":"2.0","method":"n","params":` + safe + `}`,
			`{"jsonrpc":"2.0","id":"ä 😀 \ud83d\ude00","result":` + safe + `}`,
			`{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"x\ufffd","data":` + safe + `}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request","data":{"details":"\"id\" must be a string in UTF-8 or a number"}}}`,
		}, p.got())
		p.end()
	})
}

// TestRunEnds with the input, with its context, and with an editor that does not
// read any more; nothing is said of the first two.
func TestRunEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end    func(p *peer)
		logged []string
	}{
		"input":   {func(p *peer) { p.stdin.end(io.EOF) }, nil},
		"context": {func(p *peer) { p.cancel() }, nil},
		"output":  {func(p *peer) { _ = p.out.Close(); _ = p.conn.Notify("m", nil) }, []string{"the editor no longer reads, closing the connection"}},
		"reading": {func(p *peer) { p.stdin.end(errors.New("test")) }, nil},
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
				var logged []string
				for _, entry := range p.log.All() {
					logged = append(logged, entry.Message)
				}
				require.Equal(t, tc.logged, logged)
			})
		})
	}
}

// TestRunEndsWhileAHandlerIsNotOrdered checks that no further messages are read, and that Run waits for the response.
func TestRunEndsWhileAHandlerIsNotOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, release := make(chan string, 2), make(chan struct{})
		p := serve(t, func(c *Call) (any, *Error) {
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
		p := serve(t, func(*Call) (any, *Error) {
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
		require.Equal(t, "a request of the editor remains unanswered", logged[0].Message)
		require.Equal(t, "the editor did not read the last messages in time", logged[1].Message)
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
		p := serve(t, func(c *Call) (any, *Error) {
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

// TestLongestLineThroughTheConnection: a line of the greatest length reaches its handler.
func TestLongestLineThroughTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, func(c *Call) (any, *Error) { return len(c.Params), nil })
		p.read()
		head, tail := `{"jsonrpc":"2.0","id":"long","method":"m","params":`, `}`
		size := maxLine - len(head) - len(tail)
		p.send(head + `"` + strings.Repeat("a", size-2) + `"` + tail)
		p.send(`{"jsonrpc":"2.0","id":2,"method":"m","params":[]}`)
		require.Equal(t, []string{response(`"long"`, fmt.Sprintf(`"result":%d`, size)), response("2", `"result":2`)}, p.got())
	})
}
