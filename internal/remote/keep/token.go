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

	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
	"droid-acp/internal/sys/files"
)

const (
	tokenSize   = 32       // bytes of a new token
	minToken    = 32       // minimum length of an existing token, in characters
	maxTokens   = 64 << 10 // size of their file, in bytes
	onlyToken   = "token"  // name of a token that stands alone in its file
	tokenFormat = "NAME ROLE TOKEN"
)

// LoadTokens reads the tokens of clients over TCP from a file that only the user, root or a group of the user can read: one token alone,
// which may do everything, or lines of a name, a role and a token. If there is no file, it creates one with a new token.
func LoadTokens(path string) ([]transport.Token, error) {
	text, err := files.Read(path, maxTokens)
	if errors.Is(err, fs.ErrNotExist) {
		token, err := newToken(path)
		return []transport.Token{{Name: onlyToken, Secret: token, Role: serve.Full}}, err
	}
	if err != nil {
		return nil, fmt.Errorf("the token cannot be read: %w", err)
	}
	if err := CheckSecret(path, "the token"); err != nil {
		return nil, err
	}
	if words := strings.Fields(string(text)); len(words) == 1 {
		if err := checkToken(words[0], path); err != nil {
			return nil, err
		}
		return []transport.Token{{Name: onlyToken, Secret: words[0], Role: serve.Full}}, nil
	}
	return parseTokens(string(text), path)
}

// parseTokens parses a file of several tokens. Its errors do not contain tokens.
func parseTokens(text, path string) (tokens []transport.Token, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		at := fmt.Sprintf("line %d of %s", n, path)
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("%s has %d words; a line is "+tokenFormat, at, len(words))
		}
		t := transport.Token{Name: words[0], Secret: words[2]}
		var known bool
		if t.Role, known = serve.ParseRole(words[1]); !known {
			return nil, fmt.Errorf("%s does not have a role as its second word; the roles are full, answer, prompt and watch, also with a comma between them; a line is "+tokenFormat, at)
		}
		if err := checkToken(t.Secret, at); err != nil {
			return nil, err
		}
		for _, other := range tokens {
			if other.Name == t.Name || other.Secret == t.Secret {
				return nil, fmt.Errorf("%s has a name or a token that an earlier line has; give each line its own", at)
			}
		}
		tokens = append(tokens, t)
	}
	if tokens == nil {
		return nil, fmt.Errorf("%s has no token; write lines of "+tokenFormat+", or remove the file, so that one is made", path)
	}
	return tokens, nil
}

// checkToken checks the form of a token. where is for the error, which does not contain the token.
func checkToken(token, where string) error {
	if len(token) < minToken {
		return fmt.Errorf("%s has no token: it must be one word of at least %d letters and digits; make one with `openssl rand -hex 32`, or remove the file, so that one is made", where, minToken)
	}
	if rest := strings.TrimLeft(token, tokenChars); rest != "" {
		bad, _ := utf8.DecodeRuneInString(rest)
		return fmt.Errorf("the token in %s has %q in it, with which a page in a browser cannot send it; make one with `openssl rand -hex 32`, or remove the file, so that one is made", where, string(bad))
	}
	return nil
}

// CheckSecret refuses a file that others than the user, root and a group of the user can read, or that others than the user and root can
// write. Docker and Kubernetes mount secrets as files of root that a group can read. what names what is in the file.
func CheckSecret(path, what string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", what, err)
	}
	if fault, remedy := secretFault(info); fault != "" {
		return fmt.Errorf("%s in %s is not secret: %s; %s", what, path, fault, remedy)
	}
	return nil
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
