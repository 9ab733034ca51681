//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// upgrade is a server in which a turn runs, and a new one that has taken its place.
type upgrade struct {
	connect func() *client
	s       session // in which the turn runs, of a client behind connect
	turn    turn
	stopped chan string // receives what the stop of the old server has printed, "" if it succeeded
}

func beginUpgrade(t *testing.T, model *modelserver.Server, h home) (u upgrade) {
	t.Helper()
	model.On("remember", modelserver.Step{Text: longText(), Delay: 60 * time.Millisecond})
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
	u.connect = func() *client {
		cmd := exec.Command(programs.Agent, "connect", "--token-file", token, "ws://"+address)
		cmd.Env, cmd.Dir = h.env, h.work
		return startCommand(t, h, cmd, func(stdout io.Reader) io.Reader { return stdout })
	}
	u.s = u.connect().open(h)
	u.turn = u.s.prompt("remember the word")
	u.turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })

	u.stopped = make(chan string, 1)
	go func() {
		said, code := h.serverCommand(t, "stop", "--when-idle")
		if code != 0 {
			said += " (it failed)"
		}
		u.stopped <- said
	}()
	require.Eventually(t, func() bool { return process() == -old }, leavingLimit, 10*time.Millisecond)
	startRemoteAt(t, h, "ws", address, token)
	require.Eventually(t, func() bool { return process() > 0 && process() != old }, leavingLimit, 10*time.Millisecond)
	return u
}

// A new server takes the place of one in which a turn runs. An editor that connects again reaches that turn by the new server, and sees all
// of its answer once; after it the old server ends, and the conversation goes on in the new one, in the same editor.
func TestUpgradeDuringATurn(t *testing.T) {
	notKept(t, "it has servers of its own")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h = h.keeps(t)
		u := beginUpgrade(t, model, h)
		require.NoError(t, u.s.cmd.Process.Kill())
		second := u.connect().initialize()
		second.mustCall("session/load", h.params(u.s.id), nil)
		second.awaitText(0, "TANGERINE.")
		texts, _ := second.agentSaid(0)
		require.Equal(t, longText(), strings.Join(texts, ""))
		require.Empty(t, <-u.stopped)
		require.Equal(t, 1, asksOf(model))
		second.awaitText(0, "is not all shown here") // its link is back
		require.Equal(t, "still", session{second, u.s.id}.nextPrompt(model))
	})
}

// An editor that prompts without a pause while a new server takes the place of its own loses no prompt, and the model gets none twice.
func TestUpgradeBetweenPrompts(t *testing.T) {
	notKept(t, "it has servers of its own")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("medlar", modelserver.Step{Text: "Hi."})
		h = h.keeps(t)
		u := beginUpgrade(t, model, h)
		require.Equal(t, "end_turn", u.turn.end(turnLimit).Stop)
		before, said := asksOf(model), 0
		for more := 2; more > 0; said++ {
			require.Contains(t, u.s.say(fmt.Sprintf("the medlar %d", said)), "Hi.") // in one of them is a notice that the link was cut
			if len(u.stopped) > 0 {
				more--
			}
		}
		require.Empty(t, <-u.stopped)
		require.Equal(t, said, asksOf(model)-before)
	})
}
