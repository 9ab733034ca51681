package droid

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakePrompted reports with each session what it must add to its system prompt.
func fakePrompted(in *bufio.Reader) int {
	path, text := "", "nothing"
	if i := slices.Index(os.Args, flagSystemPrompt); i >= 0 {
		data, err := os.ReadFile(os.Args[i+1])
		if err != nil {
			data = []byte(err.Error())
		}
		path, text = os.Args[i+1], string(data)
	}
	serve(in, func(method string) {
		if method == methodVersion {
			return
		}
		told, _ := json.Marshal(map[string]string{"type": "system_prompt", "path": path, "text": text})
		say(notify(string(told)))
	})
	return 0
}

// The addition to the system prompt reaches a process whatever it contains, in a file that no other user can read and that is removed with
// the process.
func TestAdditionToTheSystemPrompt(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // where a file may be while the process runs
	for _, text := range []string{"short", "two\nlines \"and\" $more\t", strings.Repeat("ä", 300_000)} {
		cmd := fakeCommand("prompted")
		cmd.SystemPrompt, cmd.Runtime = text, true
		c, err := start(cmd, nil, shortBounds)
		require.NoError(t, err)
		t.Cleanup(func() { c.Kill(); <-c.Exited() })
		ctx := testContext(t)
		_, err = c.Initialize(ctx, InitializeParams{CWD: "/x"})
		require.NoError(t, err)
		path, got := toldSettings(t, c)
		require.Equal(t, text, got)
		info, err := os.Stat(path)
		require.NoError(t, err)
		if runtime.GOOS != "windows" { // there it lies in the user's own directory
			require.Zero(t, info.Mode().Perm()&0o077)
		}
		require.NoError(t, c.Close(ctx))
		_, err = os.Stat(path)
		require.Error(t, err, "the file goes with the process")
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)

	c := startFake(t, shortBounds, "prompted")
	_, err = c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	_, got := toldSettings(t, c)
	require.Equal(t, "nothing", got)
}

// A process that cannot be started leaves no file.
func TestNoFileOfAProcessThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, err := start(Command{Path: filepath.Join(dir, "none"), SystemPrompt: "text", Runtime: true}, nil, shortBounds)
	require.Error(t, err)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestInitializeWithAnAddition(t *testing.T) {
	for text, want := range map[string]string{"": "", "a\nb": `{"append":"a\nb"}`} {
		c, p := newPeer(t, "1.220.0")
		opened := async(func() error {
			_, err := c.Initialize(context.Background(), InitializeParams{CWD: "/x", SystemPrompt: text})
			return err
		})
		m := p.expect(methodInitialize)
		var params struct{ SystemPrompt json.RawMessage }
		require.NoError(t, json.Unmarshal(m.Params, &params))
		require.Equal(t, want, string(params.SystemPrompt))
		p.reply(m.ID, `{"sessionId":"s"}`)
		require.NoError(t, <-opened)
	}
}
