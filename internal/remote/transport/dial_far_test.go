package transport

import (
	"context"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/remote/serve"
)

const farToken = "0123456789abcdef0123456789abcdef"

// startTLS serves with TLS, for the name example.com and loopback addresses, and returns its URL and the authority of its certificate.
func startTLS(t *testing.T, h http.Handler) (url string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return "wss" + strings.TrimPrefix(s.URL, "https") + Path, roots
}

func TestDialFar(t *testing.T) {
	joined := make(chan *testReceiver, 1)
	h := New(Options{Tokens: []Token{{Name: "far", Secret: farToken, Role: serve.Full}}, Version: "1", Log: zap.NewNop(), Join: func(out serve.Outlet, o serve.ClientOptions) Receiver {
		a := &testReceiver{out: out, options: o, got: make(chan string, 1), gone: make(chan struct{})}
		joined <- a
		return a
	}})
	url, roots := startTLS(t, h)
	defer h.Close(context.Background())
	conn, err := DialFar(t.Context(), url, farToken, roots)
	require.NoError(t, err)
	require.NoError(t, conn.Write(t.Context(), []byte(prompt)))
	require.Equal(t, prompt, wait(t, wait(t, joined).got))
	require.NoError(t, conn.Close())
}

// Each error states its cause, then a remedy, and never contains the token.
func TestDialFarFails(t *testing.T) {
	refuse := func(status int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, status) })
	}
	h := New(Options{Tokens: []Token{{Name: "far", Secret: farToken, Role: serve.Full}}, Version: "1", Hosts: []string{"other.example"}})
	defer h.Close(context.Background())
	foreign, hostRoots := startTLS(t, h)
	withToken, tokenRoots := startTLS(t, New(Options{Tokens: []Token{{Name: "far", Secret: farToken, Role: serve.Full}}, Version: "1"}))
	elsewhere, elsewhereRoots := startTLS(t, refuse(http.StatusNotFound, "nothing here"))
	moved, movedRoots := startTLS(t, http.RedirectHandler("https://thief.example/acp", http.StatusFound))
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	plain := httptest.NewServer(refuse(http.StatusNotFound, ""))
	defer plain.Close()
	for name, c := range map[string]struct {
		url   string
		roots *x509.CertPool
		want  string
	}{
		"token":       {withToken, tokenRoots, "The server at " + withToken + " does not accept the token. Put a token that its --token-file has into the file that --token-file names here."},
		"host":        {foreign, hostRoots, "The server at " + foreign + " does not go by the name in the address."},
		"authority":   {withToken, nil, "The certificate of the server at " + withToken + " is of an authority that this machine does not trust. If it is yours, give it with --ca-file."},
		"wrong name":  {strings.Replace(withToken, "127.0.0.1", "localhost", 1), tokenRoots, "is not for localhost"},
		"nothing":     {"ws://" + closed.Addr().String() + Path, nil, "Nothing listens at ws://" + closed.Addr().String() + Path + ". Start the server there, or correct the port."},
		"not ACP":     {elsewhere, elsewhereRoots, "What answers at " + elsewhere + " is not droid-acp serve (404 Not Found)."},
		"redirect":    {moved, movedRoots, "(302 Found)"},
		"without TLS": {"wss" + strings.TrimPrefix(plain.URL, "http") + Path, nil, "does not speak TLS."},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := DialFar(t.Context(), c.url, strings.Repeat("w", 40), c.roots)
			require.Nil(t, conn)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "www")
			require.NotContains(t, err.Error(), "failed to WebSocket dial")
		})
	}
}

// mutedConn is a connection on which nothing arrives any more once muted is closed.
type mutedConn struct {
	net.Conn
	muted, closed chan struct{}
	once          sync.Once
}

func (c *mutedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case <-c.muted:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c *mutedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A silent link is noticed. A quiet server that answers pings, and one that is not being read, is not taken for one.
func TestSilentLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startInBubble(t, func(o *Options) { o.Local = true })
		link := &mutedConn{muted: make(chan struct{}), closed: make(chan struct{})}
		conn, err := dialFar(t.Context(), "ws://x"+Path, "", &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var err error
			link.Conn, err = s.dial(ctx)
			return link, err
		}})
		require.NoError(t, err)
		agent := <-s.joined
		time.Sleep(time.Hour) // it is not being read
		ended := make(chan error, 1)
		go func() {
			_, err := conn.Read(t.Context())
			ended <- err
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, ended, "it answers pings")
		close(link.muted)
		began := time.Now()
		require.ErrorAs(t, <-ended, new(*SilentError))
		require.InDelta(t, 80, time.Since(began).Seconds(), 30)
		_ = conn.Close()
		<-agent.gone
	})
}

// slowConn takes a piece of what is written only every so often.
type slowConn struct {
	net.Conn
	every time.Duration
}

func (c *slowConn) Write(b []byte) (int, error) {
	for n := 0; n < len(b); {
		time.Sleep(c.every)
		some, err := c.Conn.Write(b[n:min(len(b), n+512)])
		if n += some; err != nil {
			return n, err
		}
	}
	return len(b), nil
}

// A message that takes minutes to send is not cut off, though no ping can be sent during it; a write that makes no progress is.
func TestSlowUpload(t *testing.T) {
	for name, link := range map[string]struct {
		every time.Duration
		whole bool
	}{"slow": {time.Second, true}, "stuck": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startInBubble(t, func(o *Options) { o.Local = true })
				slow := new(slowConn)
				conn, err := dialFar(t.Context(), "ws://x"+Path, "", &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					var err error
					slow.Conn, err = s.dial(ctx)
					return slow, err
				}})
				require.NoError(t, err)
				agent := <-s.joined
				slow.every = link.every
				ended := make(chan error, 1)
				go func() {
					_, err := conn.Read(t.Context())
					ended <- err
				}()
				began := time.Now()
				err = conn.Write(t.Context(), []byte(`{"jsonrpc":"2.0","method":"x","params":"`+strings.Repeat("y", 100<<10)+`"}`))
				if link.whole {
					require.NoError(t, err)
					require.Greater(t, time.Since(began), 2*(keepAlive+pongLimit))
					synctest.Wait()
					require.Empty(t, ended)
				} else {
					require.Error(t, err)
					require.ErrorAs(t, <-ended, new(*SilentError))
				}
				slow.every = 0
				_ = conn.Close()
				<-agent.gone
			})
		})
	}
}
