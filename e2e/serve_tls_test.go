//go:build e2e && linux

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// TestClientTypeScriptWebSocketTLS has the SDK's client drive serve over TLS.
func TestClientTypeScriptWebSocketTLS(t *testing.T) {
	cert, key := newCertificate(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h = h.keeps(t)
		r := startRemoteWith(t, h, "wss", "--tls-cert", cert, "--tls-key", key)
		h.env = append(h.env, "NODE_EXTRA_CA_CERTS="+cert)
		stepsOf(t, model, h, func() *libraryClient { return r.client(t, h) })
	})
}
