package transport

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
)

// upgrade opens a WebSocket without this package's client.
func (s *testService) upgrade(protocols []string, headers ...string) (*websocket.Conn, *http.Response, error) {
	header := http.Header{}
	host := ""
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			host = value
		}
		header.Add(name, value)
	}
	return websocket.Dial(context.Background(), s.url, &websocket.DialOptions{HTTPClient: s.client, HTTPHeader: header, Subprotocols: protocols, Host: host})
}

func (s *testService) opened(protocols []string, headers ...string) (*testReceiver, *websocket.Conn, *http.Response) {
	s.t.Helper()
	c, response, err := s.upgrade(protocols, headers...)
	require.NoError(s.t, err)
	c.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = c.CloseNow() }) // it may have ended
	return wait(s.t, s.joined), c, response
}

func say(t *testing.T, c *websocket.Conn, kind websocket.MessageType, text string) {
	t.Helper()
	require.NoError(t, c.Write(context.Background(), kind, []byte(text)))
}

func hear(t *testing.T, c *websocket.Conn) string {
	t.Helper()
	kind, text, err := c.Read(context.Background())
	require.NoError(t, err)
	require.Equal(t, websocket.MessageText, kind)
	return string(text)
}

// A binary message ends the connection, since whoever sends one would wait for its answer for ever. What follows it is not handled.
func TestBinaryMessage(t *testing.T) {
	s := start(t, nil)
	a, c, _ := s.opened(nil)
	say(t, c, websocket.MessageBinary, initialize)
	_ = c.Write(context.Background(), websocket.MessageText, []byte(prompt))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, _, err := c.Read(ctx)
	require.Equal(t, websocket.StatusUnsupportedData, websocket.CloseStatus(err), err)
	require.ErrorContains(t, err, "ACP is sent in text messages")
	wait(t, a.gone)
	require.Empty(t, a.got)
}

func TestWebSocket(t *testing.T) {
	s := start(t, nil)
	a, c, response := s.opened(nil)
	require.Equal(t, 101, response.StatusCode)
	require.NotEmpty(t, response.Header.Get(connectionHeader))
	require.Equal(t, "1.2.3", response.Header.Get(versionHeader))
	say(t, c, websocket.MessageText, initialize)
	require.Contains(t, hear(t, c), `"protocolVersion":1`)
	say(t, c, websocket.MessageText, "{nothing")
	require.Equal(t, "{nothing", wait(t, a.got), "what is no message its receiver says")
	say(t, c, websocket.MessageText, prompt)
	require.Equal(t, prompt, wait(t, a.got))
	large := strings.Repeat("x", 3<<20)
	a.update("s1", large)
	a.update("s2", "b")
	require.Equal(t, large, textOf(t, hear(t, c)))
	require.Equal(t, "b", textOf(t, hear(t, c)), "the sessions share it")
	require.NoError(t, c.Close(websocket.StatusNormalClosure, ""))
	wait(t, a.gone)
	a.update("s1", "to nobody")
	a.out.Close("twice")
	require.Nil(t, a.out.Full())
}

func TestWebSocketAdmission(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Tokens, o.Origins, o.Hosts = someTokens, []string{"https://editor.example"}, []string{"127.0.0.1"}
	})
	page := []string{"acp", "bearer.secret"}
	_, c, _ := s.opened(page, "Origin: https://editor.example")
	require.Equal(t, "acp", c.Subprotocol(), "the token does not come back")
	_, c, _ = s.opened(nil, "Authorization: Bearer secret")
	require.Empty(t, c.Subprotocol())
	for _, row := range []struct {
		name      string
		protocols []string
		headers   []string
		status    int
	}{
		{"no token", nil, nil, 401},
		{"wrong token", []string{"acp", "bearer.secreT"}, nil, 401},
		{"the token alone", []string{"bearer.secret"}, nil, 401},
		{"a wrong header", page, []string{"Authorization: Bearer x"}, 401},
		{"another origin", page, []string{"Origin: https://evil.example"}, 403},
		{"another host", page, []string{"Host: evil.example"}, 403},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, response, err := s.upgrade(row.protocols, row.headers...)
			require.Error(t, err)
			require.Equal(t, row.status, response.StatusCode)
		})
	}
}

func TestWebSocketLimits(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxMessage = 1000 })
	a, c, _ := s.opened(nil)
	say(t, c, websocket.MessageText, `{"method":"`+strings.Repeat("x", 1000-13)+`"}`)
	require.Len(t, wait(t, a.got), 1000)
	say(t, c, websocket.MessageText, strings.Repeat(" ", 1001))
	_, _, err := c.Read(context.Background())
	require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err))
	wait(t, a.gone)

	a, c, _ = s.opened(nil)
	require.True(t, s.h.bodies.take(4000-10))
	say(t, c, websocket.MessageText, prompt)
	_, _, err = c.Read(context.Background())
	require.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(err))
	wait(t, a.gone)
	require.Equal(t, int64(10), s.h.bodies.left.Load())
}

func TestWebSocketSlowReader(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxWaiting = 16 << 20 })
	a, c, _ := s.opened(nil)
	large := strings.Repeat("x", 1<<20)
	var full <-chan struct{}
	for range 64 {
		a.update("s1", large)
		if full == nil {
			full = a.out.Full()
		}
	}
	require.NotNil(t, full)
	var err error
	for err == nil { // the client continues to read, and gets the reason
		_, _, err = c.Read(context.Background())
	}
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))
	require.Contains(t, err.Error(), "reads too slowly")
	wait(t, full)
	wait(t, a.gone)
}

func TestDial(t *testing.T) {
	s := start(t, func(o *Options) { o.Tokens, o.Local = someTokens, true })
	_, err := Dial(context.Background(), s.dial, "ws://localhost/acp", "wrong")
	require.ErrorContains(t, err, "401 Unauthorized: The token is missing or wrong")
	refused := func(context.Context) (net.Conn, error) { return nil, context.DeadlineExceeded }
	_, err = Dial(context.Background(), refused, "ws://localhost/acp", "")
	require.ErrorIs(t, err, context.DeadlineExceeded)

	c, err := Dial(context.Background(), s.dial, "ws://localhost/acp", "secret")
	require.NoError(t, err)
	a := wait(t, s.joined)
	require.NotEmpty(t, a.options.Connection)
	a.options.Connection = ""
	require.Equal(t, serve.ClientOptions{Local: true, From: "socket", Role: serve.Full, Token: "anna"}, a.options)
	require.NoError(t, c.Write(context.Background(), []byte(initialize)))
	answer, err := c.Read(context.Background())
	require.NoError(t, err)
	require.Contains(t, string(answer), "protocolVersion")
	a.update("s1", "last")
	a.out.Close("it is over: " + strings.Repeat("ö", 100))
	answer, err = c.Read(context.Background())
	require.NoError(t, err)
	require.Equal(t, "last", textOf(t, string(answer)))
	_, err = c.Read(context.Background())
	var end *EndError
	require.ErrorAs(t, err, &end)
	require.Contains(t, end.Reason, "it is over: öö")
	wait(t, a.gone)
	require.NoError(t, c.Close())
	require.Error(t, c.Write(context.Background(), []byte(initialize)))

	c, err = Dial(context.Background(), s.dial, s.url, "secret")
	require.NoError(t, err)
	a = wait(t, s.joined)
	require.NoError(t, c.Close())
	wait(t, a.gone)
}

func TestHandlerClosesWebSockets(t *testing.T) {
	s := start(t, nil)
	a, c, _ := s.opened(nil)
	ended := make(chan error)
	go func() {
		_, _, err := c.Read(context.Background())
		ended <- err
	}()
	s.h.Close(context.Background())
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(<-ended))
	wait(t, a.gone)
	_, response, err := s.upgrade(nil)
	require.Error(t, err)
	require.Equal(t, 503, response.StatusCode)

	s = start(t, nil)
	a, c, _ = s.opened(nil) // it does not read the close frame
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	s.h.Close(ctx)
	wait(t, a.gone)
	_ = c.CloseNow()
}

// While the receiver has no room the client is not read, and stays connected although it answers no ping.
func TestFullReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, nil)
		a, c, _ := s.opened(nil)
		a.full = make(chan struct{})
		say(t, c, websocket.MessageText, "one")
		require.Equal(t, "one", <-a.got)
		c.CloseRead(context.Background())
		wrote := make(chan struct{})
		time.Sleep(time.Hour + keepAlive/2) // no ping waits for its answer when the client begins to write
		require.False(t, isClosed(a.gone), "it answers pings")
		two := strings.Repeat("2", 1<<20)
		go func() {
			defer close(wrote)
			_ = c.Write(context.Background(), websocket.MessageText, []byte(two)) // read below
		}()
		time.Sleep(time.Hour)
		require.Empty(t, a.got)
		require.False(t, isClosed(wrote))
		require.False(t, isClosed(a.gone))
		close(a.full)
		require.Equal(t, two, <-a.got)
		time.Sleep(time.Hour)
		require.False(t, isClosed(a.gone))
		require.NoError(t, c.CloseNow())
		<-a.gone

		a, c, _ = s.opened(nil)
		a.full = make(chan struct{})
		say(t, c, websocket.MessageText, "one")
		synctest.Wait()
		require.NoError(t, c.CloseNow())
		<-a.gone // although there is no room
	})
}
