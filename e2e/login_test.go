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
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// loginLimit is how long droid may take to answer authenticate without a network; 0.7 to 1.3 s were observed.
const loginLimit = 90 * time.Second

// Without a network droid's own error is the answer, and droid exits afterwards.
func TestLoginOffline(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		c := startAgent(t, h, "--spare", "none").initialize()
		for method, says := range map[string]string{
			"device-pairing":  "Device authentication failed",
			"factory-login":   "Device authentication failed",
			"factory-api-key": "API key authentication failed",
		} {
			_, l := c.response(c.request("authenticate", map[string]any{"methodId": method}), loginLimit)
			require.NotNil(t, l.Error, method)
			require.Equal(t, -32603, l.Error.Code)
			require.Contains(t, l.Error.Message, says)
		}
		h.awaitNone(t, loginLimit, loggingIn)
		for method, says := range map[string]string{"logout": "droid's own login is not this agent's to end", "auth/status": `"state":"un`} {
			result, err := c.call(method, map[string]any{})
			require.Nil(t, err, method)
			require.Contains(t, string(result), says, method)
		}
	})
}

func TestLoginCommandOffline(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		for _, args := range [][]string{{"login"}, {"acp", "--login"}} {
			cmd := exec.Command(programs.Agent, append([]string{"--droid", h.droid}, args...)...)
			var stdout, stderr bytes.Buffer
			cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = h.env, h.work, &stdout, &stderr
			require.Error(t, cmd.Run())
			require.Equal(t, 1, cmd.ProcessState.ExitCode())
			require.Contains(t, stderr.String(), "Device authentication failed")
			require.Contains(t, stderr.String(), "Check the network")
			require.NotContains(t, stdout.String(), "is logged in")
		}
	})
}

// withOffice makes the home's droid pair at an office, and open pages in no browser.
func withOffice(t *testing.T, h *home) *pairingOffice {
	t.Helper()
	office := newPairingOffice(t)
	browser := filepath.Join(h.dir, "browser")
	require.NoError(t, os.Mkdir(browser, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(browser, "xdg-open"), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	h.env = append(slices.Clone(h.env), office.env(h.dir)...)
	h.env = append(h.env, "PATH="+browser+":"+os.Getenv("PATH"))
	return office
}

// The real droid has a code, and its address reaches a client without URL elicitation in the open session; a cancel ends the login. A
// success was never observed, and is not tested.
func TestPairingByText(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		withOffice(t, &h)
		s := startAgent(t, h).open(h)
		from := s.seen()
		id := s.request("authenticate", map[string]any{"methodId": "device-pairing"})
		_, l := s.await("the address in words", from, loginLimit, func(l line) bool {
			u, ok := asUpdate(l)
			return ok && strings.Contains(u.text(), pairingAddress)
		})
		require.Contains(t, string(l.Params), s.id)
		s.notify("$/cancel_request", map[string]any{"requestId": id})
		_, l = s.response(id, loginLimit)
		require.NotNil(t, l.Error)
		require.Equal(t, -32800, l.Error.Code)
		h.awaitNone(t, loginLimit, loggingIn)
	})
}

// loggingIn reports whether a process is a droid that logs in.
func loggingIn(p process) bool {
	return p.droid && strings.HasSuffix(strings.TrimSpace(p.command), "--output-format acp")
}

// A client with URL elicitation is asked to open the address; a refusal is droid's own.
func TestPairingByElicitation(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		office := withOffice(t, &h)
		c := startAgent(t, h)
		c.mustCall("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}}, nil)
		id := c.request("authenticate", map[string]any{"methodId": "device-pairing"})
		_, l := c.await("the question", 0, loginLimit, func(l line) bool { return l.Method == "elicitation/create" })
		var p struct {
			URL       string
			RequestID int
		}
		require.NoError(t, json.Unmarshal(l.Params, &p))
		require.Equal(t, pairingAddress, p.URL)
		require.Equal(t, id, p.RequestID)
		c.write(map[string]any{"jsonrpc": "2.0", "id": l.ID, "result": map[string]any{"action": "accept"}})
		office.refuse()
		_, l = c.response(id, loginLimit)
		require.NotNil(t, l.Error)
		require.Equal(t, -32603, l.Error.Code)
		require.Contains(t, l.Error.Message, "Authorization failed or expired")
		h.awaitNone(t, loginLimit, loggingIn)
	})
}

// The same in a terminal: the address, and then Ctrl-C, or a kill. droid exits, too.
func TestPairingInATerminal(t *testing.T) {
	eachVersion(t, func(t *testing.T, _ *modelserver.Server, h home) {
		withOffice(t, &h)
		for signal, code := range map[os.Signal]int{os.Interrupt: 1, os.Kill: -1} {
			cmd := exec.Command(programs.Agent, "--droid", h.droid, "login")
			cmd.Env, cmd.Dir = h.env, h.work
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			seen := false
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				if strings.TrimSpace(lines.Text()) == pairingAddress {
					seen = true
					require.NoError(t, cmd.Process.Signal(signal))
				}
			}
			require.Error(t, cmd.Wait())
			require.True(t, seen)
			require.Equal(t, code, cmd.ProcessState.ExitCode())
			h.awaitNoDroid(t, loginLimit)
		}
	})
}

// pairingAddress is where the office makes users confirm their code.
const pairingAddress = "https://login.example.invalid/device?user_code=ABCD-EFGH"

// pairingOffice issues device codes (RFC 8628) to a droid that reaches the network through this proxy, with a temporary certificate. It
// confirms none: a code is pending until refuse is called.
type pairingOffice struct {
	proxy   string
	root    []byte // PEM
	cert    tls.Certificate
	refused atomic.Bool
}

func newPairingOffice(t *testing.T) *pairingOffice {
	t.Helper()
	o := &pairingOffice{}
	o.certify(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o.proxy = "http://" + listener.Addr().String()
	var serving sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			serving.Go(func() { defer conn.Close(); o.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return o
}

// env makes a droid with this HOME reach the office, and nothing else.
func (o *pairingOffice) env(home string) []string {
	root := filepath.Join(home, "root.pem")
	_ = os.WriteFile(root, o.root, 0o600) // droid would say that it trusts nobody
	return []string{"HTTPS_PROXY=" + o.proxy, "https_proxy=" + o.proxy, "NO_PROXY=127.0.0.1,localhost", "NODE_EXTRA_CA_CERTS=" + root, "SSL_CERT_FILE=" + root}
}

// refuse makes the user refuse, from droid's next poll on.
func (o *pairingOffice) refuse() { o.refused.Store(true) }

// serve answers one connection: CONNECT, then HTTP in TLS.
func (o *pairingOffice) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	if request, err := http.ReadRequest(in); err != nil || request.Method != http.MethodConnect {
		return
	}
	if _, err := fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{o.cert}})
	inside := bufio.NewReader(secure)
	for {
		request, err := http.ReadRequest(inside)
		if err != nil {
			return
		}
		status, body := o.answer(request)
		_, err = fmt.Fprintf(secure, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body)
		if err != nil {
			return
		}
	}
}

func (o *pairingOffice) answer(r *http.Request) (status int, body string) {
	_ = r.ParseForm() // not all that droid sends is a form
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/authorize/device"):
		return http.StatusOK, `{"device_code":"pending","user_code":"ABCD-EFGH","verification_uri":"https://login.example.invalid/device",` +
			`"verification_uri_complete":"` + pairingAddress + `","expires_in":300,"interval":1}`
	case r.Form.Get("device_code") == "":
		return http.StatusNotFound, `{"error":"not_found"}`
	case o.refused.Load():
		return http.StatusBadRequest, `{"error":"access_denied"}`
	}
	return http.StatusBadRequest, `{"error":"authorization_pending"}`
}

// certify makes the certificate for the hosts that droid asks (0.99.0 and 0.225.2).
func (o *pairingOffice) certify(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test of droid-acp"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"*.workos.com", "*.factory.ai"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	o.root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	o.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
