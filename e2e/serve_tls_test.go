//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/transport"
	"droid-acp/internal/testing/modelserver"
)

// newCertificate makes a certificate for this machine that vouches for itself, and its key.
func newCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, of, of, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// overTLS has the SDK's client drive serve over TLS by a transport. It connects by the
// protocol that is given.
func overTLS(t *testing.T, kind, scheme, protocol string) {
	cert, key := newCertificate(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h = h.keeps(t)
		r := startRemoteWith(t, h, scheme, "--tls-cert", cert, "--tls-key", key)
		h.env = append(h.env, "NODE_EXTRA_CA_CERTS="+cert, "NODE_OPTIONS=--disable-warning=UNDICI-H2") // that it is experimental
		var clients []*libraryClient
		stepsOf(t, model, h, func() *libraryClient {
			clients = append(clients, r.client(t, h, kind))
			return clients[len(clients)-1]
		})
		for _, c := range clients {
			by := strings.Fields(textOf("connected", c.seen(0)))
			require.NotEmpty(t, by)
			require.Equal(t, []string{protocol}, slices.Compact(by))
		}
	})
}

func TestClientTypeScriptWebSocketTLS(t *testing.T) { overTLS(t, "websocket", "wss", "http/1.1") }

func TestClientTypeScriptHTTPTLS(t *testing.T) { overTLS(t, "http", "https", "http/1.1") }

func TestClientTypeScriptHTTP2(t *testing.T) { overTLS(t, "http2", "https", "h2") }

// TestHTTP2 has Go's client do one turn by Streamable HTTP: all of it, two open streams
// included, goes over one connection of HTTP/2.
func TestHTTP2(t *testing.T) {
	cert, key := newCertificate(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: longText()})
		h = h.keeps(t)
		c := connectHTTP2(t, startRemoteWith(t, h, "https", "--tls-cert", cert, "--tls-key", key), cert)
		all := c.stream()
		c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, h.work))
		var opened struct{ Result struct{ SessionID string } }
		require.NoError(t, json.Unmarshal([]byte(all.until(`"id":2,`)), &opened))
		c.headers[transport.SessionHeader] = opened.Result.SessionID
		session := c.stream()
		c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"remember"}]}}`, opened.Result.SessionID))
		require.Contains(t, session.until(`"id":3,`), "end_turn")
		require.Equal(t, longText(), session.text)
		require.Equal(t, 1, c.connections)
	})
}

// http2Client is a connection of Streamable HTTP whose requests must go by HTTP/2.
type http2Client struct {
	t           *testing.T
	url         string
	http        *http.Client
	headers     map[string]string
	connections int // of TCP
}

func connectHTTP2(t *testing.T, r remote, cert string) *http2Client {
	t.Helper()
	text, err := os.ReadFile(cert)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(text))
	way := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(way.CloseIdleConnections)
	c := &http2Client{t: t, url: r.url, http: &http.Client{Transport: way}, headers: map[string]string{"Authorization": "Bearer " + r.token}}
	response := c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	c.headers[transport.ConnectionHeader] = response.Header.Get(transport.ConnectionHeader)
	t.Cleanup(func() { c.do("DELETE", "", nil).Body.Close() })
	return c
}

func (c *http2Client) do(method, kind string, body io.Reader) *http.Response {
	c.t.Helper()
	request, err := http.NewRequest(method, c.url, body)
	require.NoError(c.t, err)
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Content-Type", kind)
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			if !got.Reused {
				c.connections++
			}
		},
	}))
	response, err := c.http.Do(request)
	require.NoError(c.t, err)
	require.Less(c.t, response.StatusCode, 300, response.Status)
	require.Equal(c.t, 2, response.ProtoMajor, response.Proto)
	return response
}

func (c *http2Client) post(text string) *http.Response {
	c.t.Helper()
	response := c.do("POST", "application/json", strings.NewReader(text))
	require.NoError(c.t, response.Body.Close())
	return response
}

// http2Stream are the events of a stream.
type http2Stream struct {
	t    *testing.T
	in   *bufio.Scanner
	text string // that the agent said
}

func (c *http2Client) stream() *http2Stream {
	c.t.Helper()
	response := c.do("GET", "", nil)
	c.t.Cleanup(func() { response.Body.Close() })
	in := bufio.NewScanner(response.Body)
	in.Buffer(nil, 1<<20)
	return &http2Stream{t: c.t, in: in}
}

// until reads to the message that has these words.
func (s *http2Stream) until(words string) string {
	s.t.Helper()
	for s.in.Scan() {
		data, ok := bytes.CutPrefix(s.in.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if bytes.Contains(data, []byte(words)) {
			return string(data)
		}
		var m struct {
			Params struct {
				Update struct {
					SessionUpdate string
					Content       struct{ Text string }
				}
			}
		}
		_ = json.Unmarshal(data, &m) // of other updates the content is something else
		if m.Params.Update.SessionUpdate == "agent_message_chunk" {
			s.text += m.Params.Update.Content.Text
		}
	}
	require.Fail(s.t, "the stream has ended", "waiting for %s: %v", words, s.in.Err())
	return ""
}
