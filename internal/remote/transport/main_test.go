package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"droid-acp/internal/remote/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ Receiver = (*serve.Client)(nil)

// agent is a receiver. It answers initialize, session/new and session/load, and keeps the
// rest of what it gets.
type agent struct {
	out     serve.Outlet
	options serve.ClientOptions
	got     chan string
	gone    chan struct{} // closed by Gone; a second call of it panics
}

func (a *agent) Receive(text []byte) {
	m, err := read(bytes.Clone(text))
	if err != nil {
		panic("the transport let through what is no message: " + err.Error())
	}
	switch m.Method {
	case "initialize":
		a.out.Send([]byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":1}}`), "")
	case "session/new":
		a.out.Send([]byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"sessionId":"s1"}}`), "")
	case "session/load":
		a.update(m.session, "old")
		a.out.Send([]byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`), m.session)
	default:
		select {
		case a.got <- string(text):
		default: // nobody of this test looks
		}
	}
}

func (a *agent) Gone() { close(a.gone) }

func (a *agent) update(session, text string) {
	a.out.Send([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"`+session+`","text":"`+text+`"}}`), session)
}

// service is a handler that listens, and the agents of its clients.
type service struct {
	t      *testing.T
	h      *Handler
	url    string
	host   string
	dial   func(context.Context) (net.Conn, error)
	client *http.Client
	joined chan *agent
}

// start serves on a loopback address.
func start(t *testing.T, change func(*Options)) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return startOn(t, listener, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	}, change)
}

func startOn(t *testing.T, listener net.Listener, dial func(context.Context) (net.Conn, error), change func(*Options)) *service {
	t.Helper()
	s := &service{t: t, host: listener.Addr().String(), dial: dial, joined: make(chan *agent, 8)}
	s.url = "http://" + s.host + Path
	o := Options{Version: "1.2.3", Join: func(out serve.Outlet, options serve.ClientOptions) Receiver {
		a := &agent{out: out, options: options, got: make(chan string, 100), gone: make(chan struct{})}
		s.joined <- a
		return a
	}}
	if change != nil {
		change(&o)
	}
	s.h = New(o)
	server := Server(s.h, nil)
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(listener) })
	way := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	s.client = &http.Client{Transport: way}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.h.Close(ctx)
		way.CloseIdleConnections()
		require.NoError(t, server.Close())
		work.Wait()
	})
	return s
}

// answer is what a request was answered with.
type answer struct {
	status int
	header http.Header
	body   string
}

// request sends a request with headers, each "Name: value".
func (s *service) request(method, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url, strings.NewReader(body))
	require.NoError(s.t, err)
	setAll(r, headers)
	response, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return answer{response.StatusCode, response.Header, strings.TrimSpace(string(said))}
}

func setAll(r *http.Request, headers []string) {
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
}

func (s *service) post(body string, headers ...string) answer {
	s.t.Helper()
	return s.request("POST", body, append([]string{"Content-Type: application/json"}, headers...)...)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`

// connect initializes a connection of Streamable HTTP.
func (s *service) connect(headers ...string) (a *agent, connection string) {
	s.t.Helper()
	got := s.post(initialize, headers...)
	require.Equal(s.t, http.StatusOK, got.status, got.body)
	require.JSONEq(s.t, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, got.body)
	require.Equal(s.t, "1.2.3", got.header.Get(VersionHeader))
	require.NotEmpty(s.t, got.header.Get(ConnectionHeader))
	return <-s.joined, ConnectionHeader + ": " + got.header.Get(ConnectionHeader)
}

// events is a stream that is open.
type events struct {
	t        *testing.T
	response *http.Response
	in       *bufio.Reader
	cancel   context.CancelFunc
	id       string // of the last event
}

// open opens a stream; status is what that is answered with.
func (s *service) open(status int, headers ...string) *events {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", s.url, nil)
	require.NoError(s.t, err)
	setAll(r, append([]string{"Accept: text/event-stream"}, headers...))
	response, err := s.client.Do(r)
	require.NoError(s.t, err)
	require.Equal(s.t, status, response.StatusCode)
	e := &events{t: s.t, response: response, in: bufio.NewReader(response.Body), cancel: cancel}
	s.t.Cleanup(e.close)
	return e
}

func (e *events) close() {
	e.cancel()
	_ = e.response.Body.Close() // it was cancelled
}

// next is the data of the next event; "" at the stream's end.
func (e *events) next() string {
	e.t.Helper()
	for data := ""; ; {
		line, err := e.in.ReadString('\n')
		if err != nil {
			require.Equal(e.t, io.EOF, err)
			return data
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case field == "id":
			e.id = value
		case field == "data":
			data += value
		case field == "" && data != "":
			return data
		}
	}
}

// texts are the next n updates' texts.
func (e *events) texts(n int) (all []string) {
	e.t.Helper()
	for range n {
		all = append(all, textOf(e.t, e.next()))
	}
	return all
}

func textOf(t *testing.T, message string) string {
	t.Helper()
	var m struct{ Params struct{ Text string } }
	require.NoError(t, json.Unmarshal([]byte(message), &m), message)
	return m.Params.Text
}

// wait waits for a channel with the patience of a busy machine.
func wait[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(30 * time.Second):
		require.Fail(t, "nothing came")
	}
	return v
}

func numbers(from, to int) (all []string) {
	for i := from; i <= to; i++ {
		all = append(all, string(rune('a'+i)))
	}
	return slices.Clip(all)
}
