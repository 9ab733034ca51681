//go:build e2e && linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

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

// droid is in another process group than the one at the terminal. That stops neither it
// nor what it starts, also where a group in the background may not write there.
func TestSmokeAtATerminal(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "I look. ", Tools: []modelserver.ToolCall{execute("l", "echo looked")}}, modelserver.Step{Text: "Hello."})
		typed, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		require.NoError(t, err)
		defer typed.Close()
		require.NoError(t, unix.IoctlSetPointerInt(int(typed.Fd()), unix.TIOCSPTLCK, 0))
		number, err := unix.IoctlGetInt(int(typed.Fd()), unix.TIOCGPTN)
		require.NoError(t, err)
		terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
		require.NoError(t, err)
		defer terminal.Close()
		modes, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
		require.NoError(t, err)
		modes.Lflag |= unix.TOSTOP
		require.NoError(t, unix.IoctlSetTermios(int(terminal.Fd()), unix.TCSETS, modes))
		var out bytes.Buffer
		cmd := exec.Command(programs.Agent, "smoke", "--droid", h.droid, "--cwd", h.work, "--permissions", "allow", "hello")
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(h.env, "TERM=xterm"), terminal, &out, &out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(t, cmd.Run(), "%s", &out)
		require.Contains(t, out.String(), "Hello.")
		require.Contains(t, out.String(), "looked")
		h.awaitNone(t, leavingLimit, func(process) bool { return true })
	})
}
