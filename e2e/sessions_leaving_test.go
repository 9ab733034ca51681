//go:build e2e && linux

package e2e

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// leavingLimit is how long droid may outlive the agent.
const leavingLimit = 10 * time.Second

// hurryLimit is how long it may after a second signal; 0.225 takes 5 s to exit by itself.
const hurryLimit = 3 * time.Second

// Every way in which an editor leaves ends droid, and the processes of its tools: 0.225 ends its tools itself when it is killed, 0.99
// cannot, so that its tools survive a SIGKILL of the agent alone.
func TestNoProcessSurvivesTheEditor(t *testing.T) {
	notKept(t, "what the agent runs is to outlive the editor; TestStopLeavesNothing has what is left behind the server")
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
			time.Sleep(50 * time.Millisecond)         // two of one kind are one while the first waits
			_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		},
	}
	for name, leave := range ways {
		if testing.Short() && (name == "SIGINT" || name == "SIGHUP") {
			continue // they do what SIGTERM does: TestSignalsEndPolitely of cmd/droid-acp
		}
		limit := leavingLimit
		if name == "twice" {
			limit = hurryLimit
		}
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				t.Run("idle", func(t *testing.T) {
					if testing.Short() && name != "EOF" && name != "SIGKILL" {
						t.Skip("not in a short run: the others have this way and this state")
					}
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

// gone checks that the agent and the processes that matter exit.
func (c *client) gone(h home, limit time.Duration, matters func(process) bool) {
	c.t.Helper()
	h.awaitNoneLeft(c.t, limit, matters)
	select {
	case <-c.exited:
	case <-time.After(time.Second):
		c.t.Error("the agent outlives its droid")
	}
}

// A prompt at the moment in which droid dies is served by the next droid.
func TestAskedAsDroidDies(t *testing.T) {
	ofAdapter(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello."})
		s := startAgent(t, h).open(h)
		require.Equal(t, "Hello.", s.prompt("hello").end(turnLimit).text())
		mode := "spec"
		failed := map[string]int{}
		moments := []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond}
		if testing.Short() {
			moments = moments[1:2]
		}
		for _, after := range moments {
			for _, method := range []string{"session/load", "session/resume", "session/fork", "session/set_mode", "session/prompt"} {
				h.killDroid(t)
				time.Sleep(after)
				params := h.params(s.id)
				switch method {
				case "session/set_mode":
					params = map[string]any{"sessionId": s.id, "modeId": mode}
					mode = map[string]string{"spec": "normal", "normal": "spec"}[mode]
				case "session/prompt":
					params = promptParams(s.id)
				}
				if _, err := s.call(method, params); err != nil {
					failed[method+": "+err.Message]++
				}
				require.Nil(t, s.prompt("hello").end(turnLimit).Err, "afterwards")
			}
		}
		require.Empty(t, failed)
		requests := model.Requests()
		require.Equal(t, 1+6*len(moments), strings.Count(string(requests[len(requests)-1].Body), `"hello"`), "the model has each prompt once")
	})
}

// ignoredSignals matches the mask in a /proc/PID/status, within JSON.
var ignoredSignals = regexp.MustCompile(`SigIgn:(?:\\t|\s)*([0-9a-f]{16})`)

// A command that writes into a pipe without a reader ends, whether it is the user's or droid's: the agent, and droid itself, run without
// SIGPIPE, but do not pass that on.
func TestBrokenPipesEndCommands(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("look", modelserver.Step{Tools: []modelserver.ToolCall{execute("a", "grep SigIgn /proc/self/status")}}, modelserver.Step{Text: "Seen."})
		s := startAgent(t, h, "--shell").onPermission(allowOnce).open(h)
		for _, prompt := range []string{"!grep SigIgn /proc/self/status", "look"} {
			masks := 0
			for _, u := range s.prompt(prompt).end(turnLimit).Updates {
				if found := ignoredSignals.FindStringSubmatch(u.raw); found != nil {
					mask, err := strconv.ParseUint(found[1], 16, 64)
					require.NoError(t, err)
					require.Zero(t, mask&(1<<(syscall.SIGPIPE-1)), prompt)
					masks++
				}
			}
			require.NotZero(t, masks, prompt)
		}
	})
}
