package keep

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/remote/serve"
	"droid-acp/internal/remote/transport"
)

// A file with one token alone.
func TestOneToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	tokens, err := LoadTokens(path)
	require.NoError(t, err)
	require.Len(t, tokens, 1)
	require.Regexp(t, "^[0-9a-f]{64}$", tokens[0].Secret)
	require.Equal(t, [2]any{"token", serve.Full}, [2]any{tokens[0].Name, tokens[0].Role})
	again, err := LoadTokens(path)
	require.NoError(t, err)
	require.Equal(t, tokens, again)
	require.NoError(t, os.WriteFile(path, []byte("short\n"), 0o600))
	_, err = LoadTokens(path)
	require.ErrorContains(t, err, path+" has no token")
	for text, bad := range map[string]string{
		"Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFy/w==": "/", "a,comma,in,a,list,of,subprotocols,": ",", "ä-letter-that-is-not-in-any-header": "ä",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
		_, err = LoadTokens(path)
		require.EqualError(t, err, fmt.Sprintf("the token in %s has %q in it, with which a page in a browser cannot send it; make one with `openssl rand -hex 32`, or remove the file, so that one is made", path, bad))
	}
	for _, text := range []string{strings.Repeat("Az09-_.~", 4), strings.Repeat("!#$%&'*+^`|", 3)} {
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
		tokens, err = LoadTokens(path)
		require.NoError(t, err)
		require.Equal(t, text, tokens[0].Secret)
	}
	_, err = LoadTokens(filepath.Join(t.TempDir(), "none", "token"))
	require.NoError(t, err)
	_, err = LoadTokens(filepath.Join(path, "token"))
	require.Error(t, err, "a file is no directory")
	_, err = LoadTokens(t.TempDir())
	require.ErrorContains(t, err, "the token cannot be read: ")
}

func TestSeveralTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	one, two := strings.Repeat("1", 32), strings.Repeat("2", 32)
	require.NoError(t, os.WriteFile(path, []byte("# who may connect\n\nanna full "+one+"\n\tphone  answer,prompt "+two+"\r\n"), 0o600))
	tokens, err := LoadTokens(path)
	require.NoError(t, err)
	require.Equal(t, []transport.Token{{Name: "anna", Secret: one, Role: serve.Full}, {Name: "phone", Secret: two, Role: serve.Answer | serve.Prompt}}, tokens)
	for text, want := range map[string]string{
		"":                                     "has no token; write lines of NAME ROLE TOKEN",
		"# anna full " + one:                   "has no token; write lines of NAME ROLE TOKEN",
		"anna " + one:                          "line 1 of " + path + " has 2 words; a line is NAME ROLE TOKEN",
		"anna full " + one + "\n" + two:        "line 2 of " + path + " has 1 words",
		"anna full two " + one:                 "has 4 words",
		"anna admin " + one:                    "line 1 of " + path + " does not have a role as its second word; the roles are full, answer, prompt and watch",
		"anna full short":                      "line 1 of " + path + " has no token: it must be one word of at least 32",
		"anna full " + one + "/":               `has "/" in it`,
		"anna full " + one + "\nx full " + one: "line 2 of " + path + " has a name or a token that an earlier line has",
		"a full " + one + "\na watch " + two:   "line 2 of " + path + " has a name or a token that an earlier line has",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		tokens, err := LoadTokens(path)
		require.ErrorContains(t, err, want, text)
		require.Nil(t, tokens)
		require.NotContains(t, err.Error(), one, "an error is logged")
	}
}
