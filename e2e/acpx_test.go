//go:build e2e && linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// acpx runs one prompt through acpx, an ACP client from npm, and returns what
// it printed. What the agent said to it follows the schema.
func acpx(t *testing.T, h home, flags ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	said, env, agent := newRecording(t)
	args := append([]string{programs.ACPX, "--agent", agent + " --droid " + h.droid, "--cwd", h.work}, flags...)
	cmd := exec.CommandContext(ctx, programs.Node, args...)
	cmd.Dir, cmd.Env = h.work, slices.Concat(h.env, env)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	h.awaitNoDroid(t, leavingLimit)
	require.Positive(t, said.check(t))
	return string(out), err
}

func TestACPX(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello from the scripted model."})
		model.On("touch", modelserver.Step{Text: "I touch it. ", Tools: []modelserver.ToolCall{execute("a", "touch made")}},
			modelserver.Step{Text: "It is there."})

		out, err := acpx(t, h, "--format", "text", "exec", "say hello")
		require.NoError(t, err, out)
		require.Contains(t, out, "Hello from the scripted model.")

		out, err = acpx(t, h, "--approve-all", "exec", "touch it")
		require.NoError(t, err, out)
		require.Contains(t, out, "It is there.")
		require.FileExists(t, filepath.Join(h.work, "made"))
		require.NoError(t, os.Remove(filepath.Join(h.work, "made")))

		out, err = acpx(t, h, "--deny-all", "exec", "touch it") // what a denied turn exits with is acpx's affair
		t.Logf("denied: %v\n%s", err, out)
		require.NotContains(t, out, "It is there.")
		require.True(t, strings.Contains(out, "I touch it."), out)
		require.NoFileExists(t, filepath.Join(h.work, "made"))
	})
}
