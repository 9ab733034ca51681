package keep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseURL(t *testing.T) {
	for address, want := range map[string]string{
		"wss://far.example":            "wss://far.example/acp",
		"wss://far.example:7770/":      "wss://far.example:7770/acp",
		"wss://far.example/droid/acp":  "wss://far.example/droid/acp",
		"ws://127.0.0.1:7770":          "ws://127.0.0.1:7770/acp",
		"ws://[::1]:7770":              "ws://[::1]:7770/acp",
		"ws://localhost":               "ws://localhost/acp",
		"ws://far.example":             "others could read the token on the way to far.example, so it needs TLS: write wss://",
		"ws://localhost.example":       "so it needs TLS",
		"https://far.example":          "is written as wss://HOST:PORT",
		"far.example:7770":             "is written as wss://HOST:PORT",
		"wss://:7770":                  "is written as wss://HOST:PORT",
		"wss://secret@far.example":     "no user, query or fragment",
		"wss://far.example/?t=secret":  "no user, query or fragment",
		"wss://far.example/acp#secret": "no user, query or fragment",
		"wss://secret:x y@far.example": "is written as wss://HOST:PORT",
	} {
		got, err := ParseURL(address)
		if err != nil {
			require.NotContains(t, err.Error(), "secret")
			require.ErrorContains(t, err, want, address)
			continue
		}
		require.Equal(t, want, got, address)
	}
}

func TestReadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	_, err := ReadToken(path)
	require.ErrorContains(t, err, "there is no file "+path)
	require.NoFileExists(t, path, "a token of its own would be refused")
	token := strings.Repeat("s", 40)
	for text, want := range map[string]string{
		token + "\n":                        "",
		"":                                  "does not have a token alone",
		"anna full " + token:                "does not have a token alone",
		token + "\u00e9":                    "does not have a token alone",
		strings.Repeat("s", maxTokenFile*2): "cannot be read",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := ReadToken(path)
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, token, got)
			continue
		}
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "sss")
	}
}

func TestReadAuthorities(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.pem")
	_, err := ReadAuthorities(path)
	require.ErrorContains(t, err, "cannot be read")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	_, err = ReadAuthorities(path)
	require.ErrorContains(t, err, "has no certificate in PEM")
}
