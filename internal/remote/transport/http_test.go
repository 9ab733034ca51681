package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
)

const prompt = `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`

// Each row of the RFD's "Unified Endpoint Routing" and "Content Negotiation and
// Validation", and what it leaves open.
func TestRouting(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxMessage = 1000 })
	_, connection := s.connect()
	const json, events, session = "Content-Type: application/json", "Accept: text/event-stream", "Acp-Session-Id: s1"
	for _, row := range []struct {
		name, method, body string
		headers            []string
		status             int
		says               string
	}{
		{"text", "POST", prompt, []string{"Content-Type: text/plain", connection, session}, 415, "application/json"},
		{"no type", "POST", prompt, []string{connection, session}, 415, "application/json"},
		{"charset", "POST", prompt, []string{"Content-Type: application/json; charset=utf-8", connection, session}, 202, ""},
		{"not JSON", "POST", `{"jsonrpc":`, []string{json, connection}, 400, "not JSON"},
		{"nothing", "POST", "", []string{json, connection}, 400, "not JSON"},
		{"not UTF-8", "POST", "{\"method\":\"\xff\"}", []string{json, connection}, 400, "not JSON"},
		{"a number", "POST", `7`, []string{json, connection}, 400, "JSON object"},
		{"two methods", "POST", `{"method":"a","method":"b"}`, []string{json, connection}, 400, "one \"method\""},
		{"batch", "POST", "[" + prompt + "]", []string{json, connection}, 501, "no batches"},
		{"too long", "POST", strings.Repeat(" ", 1001), []string{json, connection}, 413, "1000 bytes"},
		{"initialize again", "POST", initialize, []string{json, connection}, 400, "initialized already"},
		{"initialize without id", "POST", `{"jsonrpc":"2.0","method":"initialize"}`, []string{json}, 400, "give it an id"},
		{"POST without connection", "POST", prompt, []string{json, session}, 400, "Acp-Connection-Id is missing"},
		{"POST on unknown connection", "POST", prompt, []string{json, "Acp-Connection-Id: x", session}, 404, "initialize again"},
		{"prompt without session", "POST", prompt, []string{json, connection}, 400, "Acp-Session-Id is missing"},
		{"method of a session", "POST", `{"method":"session/cancel"}`, []string{json, connection}, 400, "Acp-Session-Id is missing"},
		{"any params with a session", "POST", `{"method":"_x","params":{"sessionId":"s1"}}`, []string{json, connection}, 400, "Acp-Session-Id is missing"},
		{"another session", "POST", prompt, []string{json, connection, "Acp-Session-Id: s2"}, 400, "another session"},
		{"no session's id", "POST", prompt, []string{json, connection, "Acp-Session-Id: " + strings.Repeat("x", 1025)}, 400, "no session"},
		{"prompt", "POST", prompt, []string{json, connection, session}, 202, ""},
		{"notification", "POST", `{"jsonrpc":"2.0","method":"_x"}`, []string{json, connection}, 202, ""},
		{"GET without Accept", "GET", "", []string{connection}, 406, "text/event-stream"},
		{"GET of something else", "GET", "", []string{"Accept: application/json", connection}, 406, "text/event-stream"},
		{"GET without connection", "GET", "", []string{events}, 400, "Acp-Connection-Id is missing"},
		{"GET on unknown connection", "GET", "", []string{events, "Acp-Connection-Id: x"}, 404, "initialize again"},
		{"GET after nonsense", "GET", "", []string{events, connection, "Last-Event-ID: x"}, 400, "Last-Event-ID"},
		{"GET after what never was", "GET", "", []string{events, connection, "Last-Event-ID: 99"}, 409, "load the session again"},
		{"DELETE without connection", "DELETE", "", nil, 400, "Acp-Connection-Id is missing"},
		{"DELETE on unknown connection", "DELETE", "", []string{"Acp-Connection-Id: x"}, 404, "initialize again"},
		{"PUT", "PUT", prompt, []string{json, connection, session}, 405, "POST, GET or DELETE"},
		{"OPTIONS", "OPTIONS", "", nil, 405, "POST, GET or DELETE"},
		{"HEAD", "HEAD", "", []string{events, connection}, 405, ""},
		{"upgrade without key", "GET", "", []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"}, 400, "Sec-WebSocket-Key"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := s.request(row.method, row.body, row.headers...)
			require.Equal(t, row.status, got.status, got.body)
			require.Contains(t, got.body, row.says)
			if row.says == "" {
				require.Empty(t, got.body)
			}
		})
	}
	require.Equal(t, "GET, POST, DELETE", s.request("PUT", "").header.Get("Allow"))
	s.url = "http://" + s.host + "/other"
	require.Equal(t, 404, s.post(initialize).status)
}

// A whole life: the RFD's message flow.
func TestConversation(t *testing.T) {
	s := start(t, nil)
	a, connection := s.connect()
	require.Equal(t, serve.ClientOptions{From: a.options.From}, a.options, "not local")
	require.Contains(t, a.options.From, "127.0.0.1:")
	own := s.open(200, connection)
	require.Equal(t, "text/event-stream", own.response.Header.Get("Content-Type"))

	require.Equal(t, 202, s.post(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{}}`, connection).status)
	require.Contains(t, own.next(), `"sessionId":"s1"`)

	a.update("s1", "before the stream")
	stream := s.open(200, connection, "Acp-Session-Id: s1")
	require.Equal(t, []string{"before the stream"}, stream.texts(1))
	require.Equal(t, 202, s.post(prompt, connection, "Acp-Session-Id: s1").status)
	require.Equal(t, prompt, wait(t, a.got))

	a.out.Send([]byte(`{"jsonrpc":"2.0","id":"ask","method":"session/request_permission","params":{"sessionId":"s1"}}`), "s1")
	require.Contains(t, stream.next(), "request_permission")
	yes := `{"jsonrpc":"2.0","id":"ask","result":{}}`
	got := s.post(yes, connection)
	require.Equal(t, 400, got.status)
	require.Contains(t, got.body, "Acp-Session-Id is missing")
	require.Equal(t, 400, s.post(yes, connection, "Acp-Session-Id: s2").status)
	require.Equal(t, 202, s.post(yes, connection, "Acp-Session-Id: s1").status)
	require.Equal(t, yes, wait(t, a.got))

	a.out.Send([]byte("{\"jsonrpc\":\"2.0\",\r\n\"id\":2,\"result\":{}}"), "s1")
	require.JSONEq(t, `{"jsonrpc":"2.0","id":2,"result":{}}`, stream.next(), "a line break is no end of it")

	require.Equal(t, 202, s.request("DELETE", "", connection).status)
	require.Empty(t, own.next(), "its end")
	require.Empty(t, stream.next())
	wait(t, a.gone)
	require.Equal(t, 404, s.request("DELETE", "", connection).status)
}

// What a load tells stands on another stream than its answer, and is written first.
func TestLoadIsAnsweredBehindWhatItTells(t *testing.T) {
	s := start(t, nil)
	_, connection := s.connect()
	load := `{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"s1"}}`
	require.Equal(t, 202, s.post(load, connection, "Acp-Session-Id: s1").status)
	own := s.open(200, connection)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":2,"result":{}}`, own.next(), "nobody reads the session's stream")
	require.Equal(t, []string{"old"}, s.open(200, connection, "Acp-Session-Id: s1").texts(1))
}

func TestStreamsGoOn(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxWaiting = 32 << 20 })
	a, connection := s.connect()
	const session = "Acp-Session-Id: s1"
	for _, text := range numbers(0, 5) {
		a.update("s1", text)
	}
	first := s.open(200, connection, session)
	require.Equal(t, numbers(0, 2), first.texts(3))
	after := "Last-Event-ID: " + first.id

	second := s.open(200, connection, session, after)
	require.Equal(t, numbers(3, 5), second.texts(3), "again, in place of the first")
	for first.next() != "" { //nolint:revive // what it had been sent already
	}
	a.update("s1", "g")
	require.Equal(t, []string{"g"}, second.texts(1))

	large := strings.Repeat("x", ringSize)
	a.update("s1", large)
	require.Equal(t, []string{large}, second.texts(1))
	a.update("s1", "h")
	require.Equal(t, []string{"h"}, second.texts(1))
	got := s.request("GET", "", "Accept: text/event-stream", connection, session, after)
	require.Equal(t, 409, got.status)
	require.Contains(t, got.body, "load the session again")
	a.update("s1", "i")
	require.Equal(t, []string{"i"}, second.texts(1), "who reads it stays")
}

func TestOneReaderAStream(t *testing.T) {
	s := start(t, nil)
	a, connection := s.connect()
	first := s.open(200, connection)
	got := s.request("GET", "", "Accept: text/event-stream", connection)
	require.Equal(t, 409, got.status)
	require.Contains(t, got.body, "reads this stream already")
	a.out.Send([]byte(`{"params":{"text":"a"}}`), "")
	require.Equal(t, []string{"a"}, first.texts(1))
	first.close()
	a.out.Send([]byte(`{"params":{"text":"b"}}`), "") // may still go to the first
	a.out.Send([]byte(`{"params":{"text":"c"}}`), "")
	next := s.open(200, connection, "Last-Event-ID: "+first.id)
	require.Equal(t, []string{"b", "c"}, next.texts(2))
	require.Equal(t, "3", next.id)
	next.close()
	// One that has left, and may not have been seen to leave, is waited for.
	s.open(200, connection).close()
	s.open(200, connection)
}

func TestTooMuchKept(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxKept = 1000 })
	a, connection := s.connect()
	s.open(200, connection)
	a.update("s1", strings.Repeat("x", 500))
	require.Nil(t, a.out.Full(), "what nobody reads does not hold up the rest")
	a.update("s1", strings.Repeat("x", 500))
	wait(t, a.gone)
	require.Equal(t, 404, s.post(prompt, connection, "Acp-Session-Id: s1").status)
	a.update("s1", "to nobody")
	a.out.Close("twice")
	require.Nil(t, a.out.Full())
}

func TestTooManyStreams(t *testing.T) {
	s := start(t, nil)
	a, connection := s.connect()
	for i := range maxStreams - 1 {
		a.update(fmt.Sprint(i), "x")
	}
	require.Equal(t, 400, s.request("GET", "", "Accept: text/event-stream", connection, "Acp-Session-Id: one").status)
	a.update("one more", "x")
	wait(t, a.gone)
}

func TestSlowReader(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxWaiting = 16 << 20 })
	a, connection := s.connect()
	stream := s.open(200, connection, "Acp-Session-Id: s1") // and read nothing of it
	large := strings.Repeat("x", 1<<20)
	var full <-chan struct{}
	for range 64 { // more than a socket holds
		a.update("s1", large)
		if full == nil {
			full = a.out.Full()
		}
	}
	require.NotNil(t, full)
	wait(t, full)
	wait(t, a.gone)
	stream.close()
}

func TestCloseWritesWhatWaits(t *testing.T) {
	s := start(t, nil)
	a, connection := s.connect()
	stream := s.open(200, connection, "Acp-Session-Id: s1")
	own := s.open(200, connection)
	a.update("s1", "last")
	a.out.Close("it is over")
	a.update("s1", "too late")
	require.Equal(t, []string{"last"}, stream.texts(1))
	require.Empty(t, stream.next())
	require.Empty(t, own.next())
	wait(t, a.gone)
}

func TestAgentThatDoesNotStart(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Join = func(out serve.Outlet, _ serve.ClientOptions) Receiver {
			out.Close("it is not installed")
			return &agent{out: out, got: make(chan string, 1), gone: make(chan struct{})}
		}
	})
	got := s.post(initialize)
	require.Equal(t, 502, got.status)
	require.Contains(t, got.body, "it is not installed")
}

func TestHandlerIsClosed(t *testing.T) {
	s := start(t, nil)
	a, connection := s.connect()
	stream := s.open(200, connection)
	a.out.Send([]byte(`{"params":{"text":"a"}}`), "")
	s.h.Close(context.Background())
	wait(t, a.gone)
	require.Equal(t, []string{"a"}, stream.texts(1))
	require.Empty(t, stream.next())
	require.Equal(t, 503, s.post(initialize).status)
	require.Equal(t, 404, s.post(prompt, connection, "Acp-Session-Id: s1").status)
}

func TestTooManyConnections(t *testing.T) {
	s := start(t, nil)
	s.joined = make(chan *agent, maxConnections)
	for range maxConnections {
		require.Equal(t, 200, s.post(initialize).status)
	}
	require.Equal(t, 503, s.post(initialize).status)
}

// A receiver that says nonsense does not stop its connection.
func TestReceiverSaysNonsense(t *testing.T) {
	s := start(t, nil)
	a, connection := s.connect()
	stream := s.open(200, connection, "Acp-Session-Id: s1")
	for _, text := range []string{`{}`, `7`, `{"result":{}}`} {
		a.out.Send([]byte(text), "s1")
		require.Equal(t, text, stream.next())
	}
}

// Many clients may not fill the memory together.
func TestBudget(t *testing.T) {
	s := start(t, func(o *Options) { o.MaxMessage = 100 })
	_, connection := s.connect()
	require.True(t, s.h.bodies.take(400-10))
	got := s.post(`{"method":"_x"}`, connection)
	require.Equal(t, 503, got.status)
	require.Contains(t, got.body, "try again")
	s.h.bodies.give(400 - 10)
	require.Equal(t, 202, s.post(`{"method":"_x"}`, connection).status)
	require.Equal(t, int64(400), s.h.bodies.left.Load())
}

// HTTP/2, also without TLS, as the RFD wants it; one connection for all streams.
func TestHTTP2(t *testing.T) {
	s := start(t, nil)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	way := &http.Transport{Protocols: &protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) }}
	s.client = &http.Client{Transport: way}
	t.Cleanup(way.CloseIdleConnections)
	a, connection := s.connect()
	own := s.open(200, connection)
	require.Equal(t, 2, own.response.ProtoMajor)
	stream := s.open(200, connection, "Acp-Session-Id: s1")
	a.update("s1", "a")
	require.Equal(t, []string{"a"}, stream.texts(1))
	stream.close()
	again := s.open(200, connection, "Acp-Session-Id: s1")
	a.update("s1", "b")
	require.Equal(t, []string{"b"}, again.texts(1))
	require.Equal(t, 202, s.request("DELETE", "", connection).status)
	require.Empty(t, own.next())
	wait(t, a.gone)
}

func TestServer(t *testing.T) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	server := Server(http.NotFoundHandler(), config)
	require.Equal(t, config, server.TLSConfig)
	require.Positive(t, server.ReadHeaderTimeout)
	require.Zero(t, server.WriteTimeout, "streams stay open")
	require.Zero(t, server.ReadTimeout, "the same")
}

// Streams break off again and again while others write: with Last-Event-ID nothing is lost,
// doubled or out of order.
func TestStreamsThatBreakOff(t *testing.T) {
	s := start(t, nil)
	a, connection := s.connect()
	const sessions, messages = 4, 300
	var work sync.WaitGroup
	for i := range sessions {
		session := fmt.Sprint("s", i)
		work.Go(func() {
			for n := range messages {
				a.update(session, fmt.Sprint(n))
			}
		})
		work.Go(func() {
			var got []string
			after := "Last-Event-ID: 0"
			for len(got) < messages {
				stream := s.open(200, connection, "Acp-Session-Id: "+session, after)
				got = append(got, stream.texts(min(7*(i+1), messages-len(got)))...)
				after = "Last-Event-ID: " + stream.id
				stream.close()
			}
			for n, text := range got {
				if text != fmt.Sprint(n) {
					t.Errorf("%s: %q in place of %d", session, text, n)
					return
				}
			}
		})
	}
	work.Wait()
}
