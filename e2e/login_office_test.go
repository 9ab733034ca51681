//go:build e2e && linux

package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pairingAddress is where the office has users confirm their code.
const pairingAddress = "https://login.example.invalid/device?user_code=ABCD-EFGH"

// pairingOffice hands out device codes (RFC 8628) to a droid that reaches the network by
// this proxy, under a certificate that is thrown away. It confirms none: a code is pending
// until refuse is called.
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

// env has a droid with this HOME reach the office, and nothing else.
func (o *pairingOffice) env(home string) []string {
	root := filepath.Join(home, "root.pem")
	_ = os.WriteFile(root, o.root, 0o600) // droid would say that it trusts nobody
	return []string{"HTTPS_PROXY=" + o.proxy, "https_proxy=" + o.proxy, "NO_PROXY=127.0.0.1,localhost", "NODE_EXTRA_CA_CERTS=" + root, "SSL_CERT_FILE=" + root}
}

// refuse has the user say no, from the next time that droid asks.
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
