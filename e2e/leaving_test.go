//go:build e2e && linux

package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// leavingLimit is how long droid may outlive the agent.
const leavingLimit = 10 * time.Second

// hurryLimit is how long it may after a second signal; 0.225 takes 5 s to leave
// by itself.
const hurryLimit = 3 * time.Second

// Every way in which an editor leaves ends droid, and what droid's tools run:
// 0.225 ends its tools itself when it is killed, 0.99 cannot, so that its tools
// survive a SIGKILL of the agent alone.
func TestNobodyIsLeftBehind(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*client){
		"EOF":     func(c *client) { _ = c.stdin.Close() },
		"deaf":    func(c *client) { _ = c.stdout.Close() },
		"SIGTERM": func(c *client) { c.signal(syscall.SIGTERM) },
		"SIGINT":  func(c *client) { c.signal(syscall.SIGINT) },
		"SIGHUP":  func(c *client) { c.signal(syscall.SIGHUP) },
		"SIGKILL": func(c *client) { c.signal(syscall.SIGKILL) },
		"twice": func(c *client) {
			c.signal(syscall.SIGTERM)
			time.Sleep(50 * time.Millisecond) // two of one kind are one while the first waits
			c.signal(syscall.SIGTERM)
		},
	}
	for name, leave := range ways {
		limit := leavingLimit
		if name == "twice" {
			limit = hurryLimit
		}
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				t.Run("idle", func(t *testing.T) {
					c := startAgent(t, h)
					c.open(h)
					require.NotEmpty(t, h.processes(t), "a droid runs until the end")
					leave(c)
					c.gone(h, limit, func(process) bool { return true })
				})
				t.Run("mid-tool", func(t *testing.T) {
					model.On("sleep", modelserver.Step{Text: "I sleep. ", Tools: []modelserver.ToolCall{execute("a", "sleep 298")}})
					c := startAgent(t, h).onPermission(allowOnce)
					c.open(h).prompt("sleep well")
					h.awaitProcess(t, "sleep 298")
					leave(c)
					orphans := name == "SIGKILL" && h.version == oldDroid
					c.gone(h, limit, func(p process) bool { return p.droid || !orphans })
					h.endTools(t)
				})
			})
		})
	}
}

// gone checks that the agent and the processes that matter end.
func (c *client) gone(h home, limit time.Duration, matters func(process) bool) {
	c.t.Helper()
	h.awaitNone(c.t, limit, matters)
	select {
	case <-c.exited:
	case <-time.After(time.Second):
		c.t.Error("the agent outlives its droid")
	}
}

// A droid that is killed in the middle of a turn ends the prompt with an error.
func TestDroidDies(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("silent", modelserver.Step{Text: "Wait. ", Hang: true})
		s := startAgent(t, h).open(h)
		turn := s.prompt("be silent")
		turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
		for _, p := range h.processes(t) {
			if p.droid {
				require.NoError(t, syscall.Kill(p.pid, syscall.SIGKILL))
			}
		}
		end := turn.end(turnLimit)
		require.NotNil(t, end.Err)
		require.Equal(t, codeInternal, end.Err.Code)
	})
}
