package keep

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"droid-acp/internal/sys/files"
)

const (
	tokenSize = 32  // bytes of a new token
	minToken  = 32  // minimum length of an existing token, in characters
	maxToken  = 512 // size of its file, in bytes
)

// LoadToken reads the token that clients over TCP must present from a file that only the user can read. If there is no file, it creates one
// with a new token.
func LoadToken(path string) (string, error) {
	text, err := files.Read(path, maxToken)
	if errors.Is(err, fs.ErrNotExist) {
		return newToken(path)
	}
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	if !files.OwnedByUser(info) || isOpen(info) {
		return "", fmt.Errorf("others can read or write the token in %s; use another file, or remove this one so that a new token is made", path)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' }) {
		return "", fmt.Errorf("%s has no token: it must be one word of at least %d letters and digits; remove the file, so that one is made", path, minToken)
	}
	if rest := strings.TrimLeft(token, tokenChars); rest != "" {
		bad, _ := utf8.DecodeRuneInString(rest)
		return "", fmt.Errorf("the token in %s has %q in it, with which a page in a browser cannot send it; make one with `openssl rand -hex 32`, or remove the file, so that one is made", path, string(bad))
	}
	return token, nil
}

// tokenChars are the characters of a WebSocket subprotocol, as which a page sends the token (RFC 9110, token).
const tokenChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~"

func newToken(path string) (string, error) {
	random := make([]byte, tokenSize)
	_, _ = rand.Read(random) // never fails
	token := hex.EncodeToString(random)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("no token can be made: %w", err)
	}
	if err := files.Write(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("no token can be made in %s: %w", filepath.Dir(path), err)
	}
	return token, nil
}

// CheckAddress refuses an address on which other machines could eavesdrop, unless the connection is encrypted. It reports whether the
// address is a loopback address.
func CheckAddress(address string, encrypted bool) (loopback bool, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("%q is no address to listen on: %w; write it as 127.0.0.1:7777", address, err)
	}
	loopback = host == "localhost"
	if ip := net.ParseIP(host); ip != nil {
		loopback = ip.IsLoopback()
	}
	if !loopback && !encrypted {
		return false, fmt.Errorf("other machines can reach %s, so it needs TLS: give --tls-cert and --tls-key, or listen on 127.0.0.1", address)
	}
	return loopback, nil
}
