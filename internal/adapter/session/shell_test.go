//go:build unix

package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/session"
)

// beginShell begins a session in its own directory and in real time, because the commands are real.
func beginShell(t *testing.T, capabilities string) (e *editor, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	e = open(t, playing(sayAgain()))
	e.real = make(chan struct{}, 1)
	e.agent.Config.Shell = true
	require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,`+asZed+`}`).Error)
	e.beginSessionIn(dir)
	return e, dir
}

// shellCalls are the tool calls and their updates that came so far.
func (e *editor) shellCalls() (calls []protocol.ToolCall) {
	for _, m := range e.received() {
		var p struct{ Update protocol.ToolCall }
		if json.Unmarshal(m.Params, &p) == nil && strings.HasPrefix(p.Update.SessionUpdate, "tool_call") {
			calls = append(calls, p.Update)
		}
	}
	return calls
}

func callText(c protocol.ToolCall) (text string) {
	for _, item := range c.Content {
		if item.Content != nil && item.Content.Text != nil {
			text += *item.Content.Text
		}
	}
	return text
}

const noTerminals = `{}`

func (e *editor) texts() (texts []string) {
	for _, c := range e.shellCalls() {
		texts = append(texts, callText(c))
	}
	return texts
}

func TestShellIsOffByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(sayAgain()))
		for _, text := range []string{"!echo one", "/shell echo one"} {
			require.Equal(t, "end_turn", e.run(text))
			require.Contains(t, e.updates(), "agent: droid: "+text)
		}
		require.NotContains(t, string(e.lastUpdate("available_commands_update")), `"shell"`)
	})
}

// A droid that dies while a command runs does not end the command.
func TestShellOutlivesDroid(t *testing.T) {
	e, dir := beginShell(t, noTerminals)
	id := e.prompt("!mkfifo go; echo begun; cat go")
	e.until("output", func() bool { return strings.Contains(fmt.Sprint(e.texts()), "begun") })
	e.inside(func(s *session.Session) { s.Process().Client().Kill() })
	require.Eventually(t, func() (gone bool) {
		e.inside(func(s *session.Session) { gone = s.Process().Client() == nil })
		return gone
	}, 5*time.Second, time.Millisecond)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("second\n"), 0o600))
	require.Equal(t, "end_turn", ended(e.await(id)))
	require.Equal(t, "```console\nbegun\nsecond\n```Exit code 0", e.texts()[len(e.texts())-1])
}
