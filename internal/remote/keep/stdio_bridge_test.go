package keep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
	"droid-acp/internal/testing/acptest"
)

// memoryConn is a connection in memory.
type memoryConn struct {
	toServer, toFront chan string
	ended             chan struct{}
	end               func()
	failure           error // the error it ended with
}

func newMemoryConn() *memoryConn {
	l := &memoryConn{failure: errCut, toServer: make(chan string), toFront: make(chan string), ended: make(chan struct{})}
	l.end = sync.OnceFunc(func() { close(l.ended) })
	return l
}

var errCut = errors.New("the line was cut")

func (l *memoryConn) Read(ctx context.Context) ([]byte, error) {
	select {
	case m := <-l.toFront:
		return []byte(m), nil
	case <-l.ended:
		return nil, l.failure
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memoryConn) Write(ctx context.Context, message []byte) error {
	select {
	case l.toServer <- string(message):
		return nil
	case <-l.ended:
		return errCut
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *memoryConn) Close() error { l.end(); return nil }

// stage is a bridge between an editor and a server in memory.
type stage struct {
	*testing.T
	server *memoryConn
	editor *io.PipeWriter // the editor's output
	peer   *acptest.Peer  // the same, and the editor's input
	out    *io.PipeReader
	stderr strings.Builder
	front  *StdioBridge
	leave  context.CancelCauseFunc
	ended  chan error
}

// onStage runs a bridge. Connecting to the server fails with noServer if that is not nil, with context.Canceled once it is cancelled.
func withBridge(t *testing.T, noServer error, play func(s *stage)) { runBridge(t, "", noServer, play) }

func withBridgeTo(t *testing.T, url string, play func(s *stage)) { runBridge(t, url, nil, play) }

func runBridge(t *testing.T, url string, noServer error, play func(s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		in, editor := io.Pipe()
		out, toEditor := io.Pipe()
		ctx, leave := context.WithCancelCause(t.Context())
		s := &stage{T: t, server: newMemoryConn(), editor: editor, peer: acptest.NewPeer(t, out, editor), out: out, leave: leave, ended: make(chan error, 1)}
		s.front = &StdioBridge{
			URL:    url,
			Attach: serve.AttachParams{Program: "/bin/droid-acp", Args: []string{"--mode=spec"}, Env: []string{"A=<b>"}, Directory: "/w", Stderr: true}, Stderr: &s.stderr, In: in, Out: toEditor, Log: zap.NewNop(), Command: typed, max: 100 << 10,
			Connect: func(ctx context.Context) (MessageConn, error) {
				if errors.Is(noServer, context.Canceled) {
					<-ctx.Done()
				}
				return s.server, noServer
			},
		}
		go func() { s.ended <- s.front.Run(ctx) }()
		play(s)
		_ = editor.Close()
		_ = out.Close()
		leave(nil)
		s.server.end()
	})
}

func (s *stage) hello() {
	require.JSONEq(s, `{"jsonrpc":"2.0","method":"_droid-acp/hello","params":{"program":"/bin/droid-acp","args":["--mode=spec"],"env":["A=<b>"],"directory":"/w","stderr":true}}`, <-s.server.toServer)
}

// Messages of both sides are passed byte for byte, after the attach notification.
func TestBridge(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		for _, text := range []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{ "x":"\u00e9é" }}`, `{"id":"1","jsonrpc":"2.0","result":null}`} {
			s.peer.Say(text + "\r")
			require.Equal(s, text, <-s.server.toServer)
		}
		s.peer.Say("")
		for _, text := range []string{`{"jsonrpc":"2.0","method":"session/update","params":{"text":" <\u003c> "}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
			s.server.toFront <- text
			require.Equal(s, text, s.peer.Line())
		}
		require.NoError(s, s.editor.Close())
		require.NoError(s, <-s.ended, "the editor has gone")
		<-s.server.ended
	})
}

// An editor behind a via whose link dies is detected by its silence, even while the agent streams; one that is quiet, or not behind a via,
// stays.
func TestLinkDies(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		time.Sleep(time.Hour)
		const alive = `{"jsonrpc":"2.0","method":"_droid-acp/alive"}`
		s.peer.Say(alive)
		require.Equal(s, alive, s.peer.Line())
		for range 100 {
			time.Sleep(relay.HeartbeatInterval)
			require.Equal(s, alive, s.peer.Line())
			s.peer.Say(alive)
		}
		before := time.Now()
		go s.peer.Rest()
		go func() {
			for {
				select {
				case s.server.toFront <- `{"jsonrpc":"2.0","method":"session/update","params":{}}`:
					time.Sleep(time.Second)
				case <-s.server.ended:
					return
				}
			}
		}()
		require.NoError(s, <-s.ended)
		<-s.server.ended
		require.InDelta(s, 75, time.Since(before).Seconds(), 5, "within 80 s")
		time.Sleep(time.Second) // the agent ends
	})
}

// An editor that leaves while the server takes no more messages is not waited for.
func TestEditorGoesBehindAFullServer(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		s.peer.Say(`{"jsonrpc":"2.0","method":"x"}`)
		s.peer.Say(`{"jsonrpc":"2.0","method":"y"}`)
		time.Sleep(time.Hour)
		require.JSONEq(s, `{"jsonrpc":"2.0","method":"x"}`, <-s.server.toServer, "while it is there it waits")
		before := time.Now()
		require.NoError(s, s.editor.Close())
		require.NoError(s, <-s.ended)
		require.LessOrEqual(s, time.Since(before), lastTime)
	})
}

// Invalid messages are answered as by an agent; an unreadable response is an error for the request.
func TestInvalidMessages(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		for said, answer := range map[string]string{
			`{nothing`:                            `"id":null,"error":{"code":-32700`,
			`{"jsonrpc":"2.0","id":7,"method":5}`: `"id":7,"error":{"code":-32600`,
			`[{"jsonrpc":"2.0","id":8,"method":"initialize"}]`: `"id":8,"error":{"code":-32600`,
		} {
			s.peer.Say(said)
			require.Contains(s, s.peer.Line(), answer)
		}
		s.peer.Say(`{"foo":"bar"}`)
		s.peer.Say(`{"jsonrpc":"2.0","id":"s1"}`)
		require.Contains(s, <-s.server.toServer, `"id":"s1","error":{"code":`)
	})
}

// When the server goes, pending requests get the reason, as do later ones.
func TestServerGoes(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		for _, id := range []string{"1", "2", `"1"`, "2"} {
			s.peer.Say(`{"jsonrpc":"2.0","id":%s,"method":"m"}`, id)
			<-s.server.toServer
		}
		for _, id := range []string{"1", "2"} {
			s.server.toFront <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":null}`, id)
			s.peer.Line()
		}
		s.server.end()
		lost := map[string]bool{}
		for range 2 {
			lost[s.readsGone("The connection to the server that keeps this session broke. If the server still runs, the turn goes on there")] = true
		}
		require.Equal(s, map[string]bool{"2": true, `"1"`: true}, lost)
		began := time.Now()
		s.peer.Say(`{"jsonrpc":"2.0","id":3,"method":"m"}`)
		require.Equal(s, "3", s.readsGone("broke. If the server"))
		require.ErrorAs(s, <-s.ended, new(*ServerGoneError))
		require.Equal(s, time.Second, time.Since(began), "some editors read nothing any more of who has ended")
	})
}

// The end of a killed server is reported in our own words, not the library's.
func TestServerIsKilled(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		s.peer.Say(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		<-s.server.toServer
		s.server.failure = fmt.Errorf("failed to read: %w", io.EOF)
		s.server.end()
		s.readsGone("The server that keeps this session has ended without a word, so it was killed or it failed. The turn ended with it")
		require.NotContains(s, (<-s.ended).Error(), "EOF")
	})
	for text, failure := range map[string]error{
		"The server that keeps this session has ended without a word":                     fmt.Errorf("failed to read frame header: %w", syscall.ECONNRESET),
		"The connection to the server that keeps this session broke. If the server still": errors.New("failed to read frame header: cut"),
		"The server that keeps this session has ended the connection: the server ends.":   fmt.Errorf("read: %w", saying("the server ends")),
	} {
		withBridge(t, nil, func(s *stage) {
			s.hello()
			s.peer.Say(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
			<-s.server.toServer
			s.server.failure = failure
			s.server.end()
			s.readsGone(text)
			require.NotContains(s, (<-s.ended).Error(), "frame")
		})
	}
}

// saying is an error with text of the server.
type saying string

func (s saying) Error() string { return "status = 1001: " + string(s) }
func (s saying) Said() string  { return string(s) }

// Requests before the end of stdin are answered, except for prompts: their turns continue.
func TestAnswersBehindTheEnd(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		for id, method := range []string{"initialize", "session/prompt"} {
			s.peer.Say(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)
			<-s.server.toServer
		}
		require.NoError(s, s.editor.Close())
		synctest.Wait()
		s.server.toFront <- `{"jsonrpc":"2.0","id":0,"result":{}}`
		require.Equal(s, `{"jsonrpc":"2.0","id":0,"result":{}}`, s.peer.Line())
		require.NoError(s, <-s.ended)
	})
	withBridge(t, nil, func(s *stage) { // the server does not answer
		s.hello()
		s.peer.Say(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		<-s.server.toServer
		began := time.Now()
		require.NoError(s, s.editor.Close())
		require.NoError(s, <-s.ended)
		require.Equal(s, lastTime, time.Since(began))
	})
	withBridge(t, nil, func(s *stage) { // the server does not read
		s.hello()
		for id := range 3 {
			s.peer.Say(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, id)
			<-s.server.toServer
		}
		began := time.Now()
		require.NoError(s, s.editor.Close())
		s.server.toFront <- `{"jsonrpc":"2.0","id":0,"result":"` + strings.Repeat("x", 3<<20) + `"}`
		require.NoError(s, <-s.ended)
		require.Equal(s, lastTime+relay.DrainTime, time.Since(began))
	})
	withBridge(t, nil, func(s *stage) { // the server goes
		s.hello()
		s.peer.Say(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		<-s.server.toServer
		require.NoError(s, s.editor.Close())
		synctest.Wait()
		s.server.end()
		require.Equal(s, "0", s.readsGone("broke"))
		require.Error(s, <-s.ended)
	})
}

// The bridge writes the agent's stderr to its own; it is not a message to the editor.
func TestStderrOfTheAgent(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		s.server.toFront <- `{"jsonrpc":"2.0","method":"_droid-acp/stderr","params":{"text":"open <a>\n"}}`
		for _, text := range []string{`{"jsonrpc":"2.0","method":"session/update","params":{"text":"_droid-acp/stderr"}}`, `{}`} {
			s.server.toFront <- text
			require.Equal(s, text, s.peer.Line())
		}
		require.Equal(s, "open <a>\n", s.stderr.String())
	})
}

// readsGone reads an error response and returns its ID.
func (s *stage) readsGone(words string) string {
	var answer struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Code    int               `json:"code"`
			Message string            `json:"message"`
			Data    map[string]string `json:"data"`
		} `json:"error"`
	}
	require.NoError(s, json.Unmarshal([]byte(s.peer.Line()), &answer))
	require.Equal(s, -32603, answer.Error.Code)
	require.Equal(s, "server_gone", answer.Error.Data["kind"])
	require.Contains(s, answer.Error.Message, words)
	return string(answer.ID)
}

// If no request is pending, the next one gets the reason, and the wait for it is limited.
func TestServerGoesUnnoticed(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		s.server.end()
		synctest.Wait()
		s.peer.Say(`{"jsonrpc":"2.0","method":"session/cancel"}`)
		s.peer.Say(`{"jsonrpc":"2.0","id":7,"method":"session/prompt"}`)
		require.Equal(s, "7", s.readsGone("Start the agent again and open the session again"))
		require.Error(s, <-s.ended)
	})
	withBridge(t, nil, func(s *stage) {
		s.hello()
		s.server.end()
		began := time.Now()
		require.Error(s, <-s.ended)
		require.Equal(s, 5*time.Second, time.Since(began))
	})
	withBridge(t, nil, func(s *stage) {
		s.front.Interactive = true
		s.hello()
		s.server.end()
		began := time.Now()
		require.Error(s, <-s.ended)
		require.Zero(s, time.Since(began))
	})
}

// If there is no server, the first request gets the reason.
func TestNoServer(t *testing.T) {
	withBridge(t, errors.New("it did not start"), func(s *stage) {
		s.peer.Say(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		require.Equal(s, "0", s.readsGone("it did not start"))
		require.EqualError(s, <-s.ended, "it did not start")
	})
	withBridge(t, context.Canceled, func(s *stage) {
		synctest.Wait() // it connects
		s.leave(nil)
		require.NoError(s, <-s.ended)
	})
	withBridge(t, nil, func(s *stage) {
		s.server.end()
		require.EqualError(s, <-s.ended, "the server that keeps sessions ended while this connected to it; start the agent again")
	})
}

// The server is not read faster than a slow editor reads; a signal still ends the bridge.
func TestSlowEditor(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		sent := 0
		for message := `"` + strings.Repeat("x", 100<<10) + `"`; ; sent++ {
			synctest.Wait()
			select {
			case s.server.toFront <- message:
				continue
			default:
			}
			break
		}
		require.InDelta(s, 22, sent, 4, "2 MiB and what is being written")
		for range sent {
			s.peer.Line()
		}
		s.server.toFront <- "{}"
		require.Equal(s, "{}", s.peer.Line())
		s.leave(nil)
		require.NoError(s, <-s.ended)
	})
}

// An editor that reads no more has gone.
func TestEditorReadsNoMore(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		require.NoError(s, s.out.Close())
		s.server.toFront <- "{}"
		require.NoError(s, <-s.ended)
	})
}

// A message that is too long ends the bridge, and pending requests get an error with the limit.
func TestTooLongForTheServer(t *testing.T) {
	withBridge(t, nil, func(s *stage) {
		s.hello()
		s.peer.Say(`{"jsonrpc":"2.0","id":4,"method":"m"}`)
		<-s.server.toServer
		s.peer.Say(`{"jsonrpc":"2.0","id":5,"method":"m","params":"` + strings.Repeat("x", 100<<10) + `"}`)
		require.Equal(s, "4", s.readsGone("droid-acp passes on no message of more than 256 MiB, and the editor sent a longer one"))
		require.ErrorAs(s, <-s.ended, new(*ServerGoneError))
		<-s.server.ended
	})
}

// A server elsewhere decides how its agents run, so it gets no attach notification. The errors name it, and no command of this machine.
func TestBridgeToAServerElsewhere(t *testing.T) {
	const url = "wss://far.example/acp"
	for text, failure := range map[string]error{
		"The server at " + url + " ended the connection: the server ends. What runs there goes on unless the server ended.":                                      saying("the server ends"),
		"The connection to the server at " + url + " broke. What runs there goes on if the server still runs.":                                                   errors.New("cut"),
		"The connection to the server at " + url + " broke. What runs there goes on if the server still runs. ":                                                  io.EOF,
		"The link to the server at " + url + " is silent: nothing has come for 50s, nor the answer to a ping. What runs there goes on if the server still runs.": &transport.SilentError{},
	} {
		withBridgeTo(t, url, func(s *stage) {
			s.peer.Say(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
			require.Equal(s, `{"jsonrpc":"2.0","id":1,"method":"m"}`, <-s.server.toServer)
			s.server.failure = failure
			s.server.end()
			s.readsGone(text)
			require.NotContains(s, (<-s.ended).Error(), "<ps>")
		})
	}
}

// A connection that the server has ended is not made again, unless a new server goes on.
func TestIsFinal(t *testing.T) {
	for reason, final := range map[string]bool{"the token was revoked or changed": true, serve.TakenOver: false} {
		require.Equal(t, final, IsFinal(fmt.Errorf("reading: %w", &transport.EndError{Reason: reason})), reason)
	}
	require.False(t, IsFinal(io.EOF))
}
