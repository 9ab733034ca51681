//go:build e2e && linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// What droid starts in its own process group ends with smoke, however that ends: an MCP
// server that does not mind the end of its input, and what a hook of 0.99 leaves behind.
// 0.225 runs each hook in a session of its own, so that what a hook leaves there stays.
func TestSmokeLeavesNobody(t *testing.T) {
	for name, leave := range map[string]func(*exec.Cmd){
		"ends":    nil,
		"SIGTERM": func(c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGTERM) },
		"SIGKILL": func(c *exec.Cmd) { _ = c.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
				model.On("hello", modelserver.Step{Text: "Hello."})
				model.On("wait", modelserver.Step{Text: "Wait. ", Hang: true})
				h.addSettings(t, map[string]any{"hooks": map[string]any{"SessionStart": []any{map[string]any{
					"hooks": []any{map[string]any{"type": "command", "command": "sleep 291 >/dev/null 2>&1 & sleep 0"}}}}}})
				require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "mcp.json"),
					[]byte(`{"mcpServers":{"mute":{"type":"stdio","command":"sh","args":["-c","sleep 292; sleep 292"]}}}`), 0o600))
				prompt := "hello"
				if leave != nil {
					prompt = "wait"
				}
				cmd := exec.Command(programs.Agent, "smoke", "--droid", h.droid, "--cwd", h.work, prompt)
				cmd.Env = h.env
				require.NoError(t, cmd.Start())
				if leave != nil {
					h.awaitProcess(t, "sleep 291")
					h.awaitProcess(t, "sleep 292")
					leave(cmd)
				}
				_ = cmd.Wait()
				h.awaitNone(t, 5*time.Second, func(p process) bool { return h.version == oldDroid || !strings.Contains(p.command, "sleep 291") })
				h.endTools(t)
			})
		})
	}
}
