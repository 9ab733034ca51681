package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
)

// Whatever a client posts is answered, and what the receiver gets is one JSON object of
// the session that the header names.
func FuzzPost(f *testing.F) {
	for _, body := range []string{prompt, initialize, `[]`, `{"id":1,"result":{}}`, `{"method":"session/load","id":"x","params":{"sessionId":"s"}}`, "{\"method\":\"\xff\"}", ` {"METHOD":"a","params":7}`} {
		f.Add(body, "s1", "application/json", true)
	}
	f.Add(prompt, "s1", "text/plain", false)
	f.Fuzz(func(t *testing.T, body, session, kind string, connected bool) {
		h := New(Options{MaxMessage: 1 << 16, Join: func(out serve.Outlet, _ serve.ClientOptions) Receiver {
			return &checker{t: t, out: out}
		}})
		defer func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			h.Close(ctx)
			require.Equal(t, int64(4<<16), h.bodies.left.Load())
		}()
		connection := ""
		if connected {
			w := send(h, initialize, "", "application/json", "")
			require.Equal(t, 200, w.Code)
			connection = w.Header().Get(ConnectionHeader)
		}
		w := send(h, body, session, kind, connection)
		switch w.Code {
		case 200, 202:
			require.True(t, json.Valid([]byte(body)))
		case 400, 404, 413, 415, 501, 502:
			require.NotEmpty(t, w.Body.String())
		default:
			require.Fail(t, "unexpected", "%d %s", w.Code, w.Body)
		}
	})
}

func send(h *Handler, body, session, kind, connection string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set(SessionHeader, session)
	if connection != "" {
		r.Header.Set(ConnectionHeader, connection)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// checker is a receiver that takes nothing but messages.
type checker struct {
	t    *testing.T
	out  serve.Outlet
	gone bool
}

func (c *checker) Receive(text []byte) {
	require.False(c.t, c.gone)
	require.True(c.t, utf8.Valid(text) && json.Valid(text) && text[0] == '{', "%q", text)
	if m, err := read(text); err == nil && m.Method == "initialize" {
		c.out.Send([]byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`), "")
	}
}

func (c *checker) Gone() { c.gone = true }
