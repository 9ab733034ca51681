//go:build e2e && linux

package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// acpx is the command line client from npm, with the agent's messages recorded. A separate process keeps the agent of a session between the
// commands.
type acpx struct {
	home home
	env  []string
	args []string
	wire recording
}

func newACPX(t *testing.T, h home) acpx {
	t.Helper()
	wire, env, agent := newRecording(t)
	return acpx{h, slices.Concat(h.env, env), []string{programs.ACPX, "--agent", agent + " --droid " + h.droid, "--cwd", h.work}, wire}
}

// start runs acpx in the background; wait returns what it printed.
func (a acpx) start(t *testing.T, args ...string) (wait func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, programs.Node, slices.Concat(a.args, args)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = a.home.work, a.env, 10*time.Second
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	return func() string {
		t.Helper()
		defer cancel()
		err := cmd.Wait()
		t.Logf("acpx %v: %v\n%s", args, err, &out)
		return out.String()
	}
}

// run runs acpx and returns its output. Its exit code is ignored.
func (a acpx) run(t *testing.T, args ...string) string {
	t.Helper()
	return a.start(t, args...)()
}

// leave ends the process that keeps the agent, as a logout does. Neither that, nor an agent, nor droid must remain. acpx also ends what the
// agent has started: the server, if the agent is kept.
func (a acpx) leave(t *testing.T) {
	t.Helper()
	for _, p := range a.home.processes(t) {
		if strings.Contains(p.command, programs.ACPX) {
			_ = syscall.Kill(p.pid, syscall.SIGTERM) // it may have exited by itself
		}
	}
	a.home.awaitNone(t, leavingLimit, func(p process) bool { return !a.home.kept || strings.Contains(p.command, programs.ACPX) })
}

// end ends acpx, and checks the agents' messages.
func (a acpx) end(t *testing.T) {
	t.Helper()
	a.leave(t)
	require.Positive(t, a.wire.check(t))
}

func TestClientACPX(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		scriptSteps(model)
		a := newACPX(t, h)
		step := func(name string, run func(t *testing.T)) {
			if !t.Run(name, run) {
				t.Fatalf("the last lines of the agent:\n%s", a.wire.tail(t))
			}
		}
		step("prompt", func(t *testing.T) {
			require.Contains(t, a.run(t, "sessions", "new"), "created session")
			out := a.run(t, "prompt", "remember the word")
			require.Contains(t, out, longText())
			require.Contains(t, out, "[done] end_turn")
		})
		step("allow", func(t *testing.T) {
			require.Contains(t, a.run(t, "--approve-all", "prompt", "touch allowed"), "It is there.")
			require.FileExists(t, filepath.Join(h.work, "allowed"))
		})
		step("refuse", func(t *testing.T) {
			out := a.run(t, "--deny-all", "prompt", "touch refused")
			require.Contains(t, out, "[tool] touch refused (failed)")
			require.NotContains(t, out, "It is there.")
			require.NoFileExists(t, filepath.Join(h.work, "refused"))
		})
		step("cancel", func(t *testing.T) {
			asleep := a.start(t, "--approve-all", "prompt", "sleep well")
			h.awaitProcess(t, "sleep 299")
			require.Contains(t, a.run(t, "cancel"), "cancel requested")
			require.Contains(t, asleep(), "[done] cancelled")
			h.awaitNone(t, turnLimit, func(p process) bool { return strings.Contains(p.command, "sleep 299") })
			require.Contains(t, a.run(t, "prompt", "still there?"), "Still here.")
		})
		step("load", func(t *testing.T) {
			a.leave(t)
			before := len(a.wire.runs(t))
			read := a.run(t, "sessions", "read") // acpx keeps its own record
			for _, text := range []string{"remember the word", longText(), "touch allowed", "It is there.", "sleep well", "Still here."} {
				require.Contains(t, read, text)
			}
			require.Contains(t, a.run(t, "prompt", "which word was it?"), "It was TANGERINE.")
			require.Greater(t, len(a.wire.runs(t)), before, "another agent answers")
			knowsConversation(t, model)
		})
		step("once", func(t *testing.T) {
			require.Contains(t, a.run(t, "exec", "still there?"), "Still here.")
		})
		a.end(t)
	})
}
