package keep

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"time"

	"droid-acp/internal/remote/relay"
	"droid-acp/internal/remote/transport"
	"droid-acp/internal/sys/files"
)

// maxCA is the maximum size of a file of certificates, in bytes.
const maxCA = 4 << 20

// maxTokenFile is the maximum size of the file of one token, in bytes.
const maxTokenFile = 512

// ParseURL checks the address of a server elsewhere, and returns the URL of its endpoint. The token would pass unencrypted over ws, so that
// is for loopback addresses.
func ParseURL(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "" {
		return "", errors.New("the address of a server is written as wss://HOST:PORT") // without the address, in which a token may be
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address of a server has no user, query or fragment, since others can read the arguments of a program; the token is in the file of --token-file")
	}
	port := cmp.Or(u.Port(), "80")
	if _, err := CheckAddress(net.JoinHostPort(u.Hostname(), port), u.Scheme == "wss"); err != nil {
		return "", fmt.Errorf("others could read the token on the way to %s, so it needs TLS: write wss://", u.Host)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = transport.Path
	}
	return u.String(), nil
}

// FarTime is how long a server elsewhere may take to answer.
const FarTime = 20 * time.Second

// Far is a server elsewhere.
type Far struct {
	URL   string // of its endpoint, as ParseURL returns it
	Token string
	Roots *x509.CertPool // that must certify it; nil for the system's authorities
}

// NewFarClient is NewClient for a server elsewhere.
func NewFarClient(far Far, command relay.Command) *Client {
	return &Client{command: command, limit: FarTime, far: &far}
}

// ask sends it a request, as transport.Ask does.
func (f *Far) ask(ctx context.Context, limit time.Duration, method, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return transport.Ask(ctx, f.URL, f.Token, f.Roots, method, path)
}

// ReadToken reads the token for a server elsewhere from a file that CheckSecret accepts.
func ReadToken(path string) (string, error) {
	text, err := files.Read(path, maxTokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no file %s; write the token that you were given for the server into it, and chmod 600 it", path)
	}
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	if err := CheckSecret(path, "the token"); err != nil {
		return "", err
	}
	words := strings.Fields(string(text))
	if len(words) != 1 || strings.Trim(words[0], tokenChars) != "" {
		return "", fmt.Errorf("%s does not have a token alone; write the one that you were given for the server into it, and nothing else", path)
	}
	return words[0], nil
}

// ReadAuthorities reads certificates in PEM, which are trusted in addition to the system's authorities.
func ReadAuthorities(path string) (*x509.CertPool, error) {
	text, err := files.Read(path, maxCA)
	if err != nil {
		return nil, fmt.Errorf("the authority's certificate cannot be read: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a system without one
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM; give the file that begins with -----BEGIN CERTIFICATE-----", path)
	}
	return roots, nil
}
