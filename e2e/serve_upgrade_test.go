//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// A new server takes the place of one in which a turn runs. An editor that connects again reaches that turn by the new server, and sees all
// of its answer once; after it the old server ends, and the conversation goes on in the new one, in the same editor.
func TestUpgradeDuringATurn(t *testing.T) {
	notKept(t, "it has servers of its own")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("remember", modelserver.Step{Text: longText(), Delay: 60 * time.Millisecond})
		h = h.keeps(t)
		address, token := freeAddress(t), filepath.Join(t.TempDir(), "token")
		startRemoteAt(t, h, "ws", address, token)
		process := func() int {
			said, _ := h.serverCommand(t, "ps", "--json")
			var status struct {
				Process  int
				Draining bool
			}
			require.NoError(t, json.Unmarshal([]byte(said), &status), said)
			if status.Draining {
				return -status.Process
			}
			return status.Process
		}
		old := process()
		connect := func() *client {
			cmd := exec.Command(programs.Agent, "connect", "--token-file", token, "ws://"+address)
			cmd.Env, cmd.Dir = h.env, h.work
			return startCommand(t, h, cmd, func(stdout io.Reader) io.Reader { return stdout })
		}
		first := connect()
		s := first.open(h)
		turn := s.prompt("remember the word")
		turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })

		stopped := make(chan string, 1)
		go func() {
			said, code := h.serverCommand(t, "stop", "--when-idle")
			if code != 0 {
				said += " (it failed)"
			}
			stopped <- said
		}()
		require.Eventually(t, func() bool { return process() == -old }, leavingLimit, 10*time.Millisecond)
		startRemoteAt(t, h, "ws", address, token)
		require.Eventually(t, func() bool { return process() > 0 && process() != old }, leavingLimit, 10*time.Millisecond)
		require.NoError(t, first.cmd.Process.Kill())
		second := connect().initialize()
		second.mustCall("session/load", h.params(s.id), nil)
		second.awaitText(0, "TANGERINE.")
		texts, _ := second.agentSaid(0)
		require.Equal(t, longText(), strings.Join(texts, ""))
		require.Empty(t, <-stopped)
		require.Equal(t, 1, asksOf(model))
		second.awaitText(0, "is not all shown here") // its link is back
		require.Equal(t, "still", session{second, s.id}.nextPrompt(model))
	})
}
