package transport

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"droid-acp/internal/remote/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ Receiver = (*serve.Client)(nil)

// testReceiver is a receiver. It answers initialize, and records everything else.
type testReceiver struct {
	out     serve.Outlet
	options serve.ClientOptions
	got     chan string
	gone    chan struct{} // closed by Disconnected; a second call panics
	full    chan struct{} // returned by Receive
}

func (a *testReceiver) Receive(text []byte) <-chan struct{} {
	if string(text) == initialize {
		a.out.Send([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`))
		return nil
	}
	select {
	case a.got <- string(text):
	default: // this test does not read it
	}
	return a.full
}

func (a *testReceiver) Disconnected() { close(a.gone) }

func (a *testReceiver) update(session, text string) {
	a.out.Send([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","text":"` + text + `"}}`))
}

// testService is a listening handler, with the agents of its clients.
type testService struct {
	t      *testing.T
	h      *Handler
	url    string
	host   string
	dial   func(context.Context) (net.Conn, error)
	client *http.Client
	joined chan *testReceiver
}

// start serves on a loopback address.
func start(t *testing.T, change func(*Options)) *testService {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return startOn(t, listener, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	}, change)
}

func startOn(t *testing.T, listener net.Listener, dial func(context.Context) (net.Conn, error), change func(*Options)) *testService {
	t.Helper()
	s := &testService{t: t, host: listener.Addr().String(), dial: dial, joined: make(chan *testReceiver, 8)}
	s.url = "http://" + s.host + Path
	o := Options{Version: "1.2.3", Join: func(out serve.Outlet, options serve.ClientOptions) Receiver {
		a := &testReceiver{out: out, options: options, got: make(chan string, 100), gone: make(chan struct{})}
		s.joined <- a
		return a
	}}
	if change != nil {
		change(&o)
	}
	s.h = New(o)
	server := Server(s.h, nil, zap.NewNop())
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

// httpAnswer is the answer to a request.
type httpAnswer struct {
	status int
	header http.Header
	body   string
}

// request sends a request with headers, each "Name: value".
func (s *testService) request(method, body string, headers ...string) httpAnswer {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url, strings.NewReader(body))
	require.NoError(s.t, err)
	setAll(r, headers)
	response, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return httpAnswer{response.StatusCode, response.Header, strings.TrimSpace(string(said))}
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

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`
	prompt     = `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}`
)

func textOf(t *testing.T, message string) string {
	t.Helper()
	var m struct{ Params struct{ Text string } }
	require.NoError(t, json.Unmarshal([]byte(message), &m), message)
	return m.Params.Text
}

// wait waits for a channel, long enough for a busy machine.
func wait[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(30 * time.Second):
		require.Fail(t, "nothing came")
	}
	return v
}
