//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"droid-acp/internal/testing/modelserver"
)

// Each exit code of smoke with the real droid, and the same outcome in the result.
func TestSmokeExitCodes(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello from the scripted model."})
		model.On("fail", modelserver.Step{Status: 401})
		model.On("hang", modelserver.Step{Text: "I think about", Hang: true})
		model.On("die", modelserver.Step{Text: "I end droid.", Tools: []modelserver.ToolCall{execute("d", killDroid(h))}}, modelserver.Step{Text: "Still here."})
		model.On("write", modelserver.Step{Text: "I write.", Tools: []modelserver.ToolCall{execute("w", "echo one two >made.txt")}}, modelserver.Step{Text: "Written."})
		nobody := newHome(t, h.version, model.URL())
		require.NoError(t, os.Remove(filepath.Join(nobody.dir, ".factory", "settings.json")))
		prompts := filepath.Join(h.dir, "prompts.txt")
		require.NoError(t, os.WriteFile(prompts, []byte("write it\nexpect: Written.\nexpect-file: made.txt=one two\n---\nsay hello\nexpect: scripted model\n"), 0o644))
		for _, tt := range []struct {
			name    string
			h       home
			args    []string
			code    int
			outcome string
		}{
			{"ok", h, []string{"--permissions", "allow", "--prompts", prompts}, 0, "passed"},
			{"droid dies", h, []string{"--permissions", "allow", "die"}, 1, "turn_failed"},
			{"usage", h, []string{"--expect", "", "hello"}, 2, ""},
			{"no droid", h, []string{"--droid", "/no/such/droid", "hello"}, 3, "droid_not_installed"},
			{"no login", nobody, []string{"hello"}, 4, "not_logged_in"},
			{"the model refuses the key", h, []string{"fail"}, 5, "model_failed"},
			{"not as expected", h, []string{"--expect", "Goodbye", "hello"}, 6, "expectation_not_met"},
			{"too late", h, []string{"--timeout", "8s", "hang"}, 7, "timeout"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "result.json")
				cmd := exec.Command(programs.Agent, append([]string{"smoke", "--result", file}, tt.args...)...)
				cmd.Env, cmd.Dir = append(tt.h.env, "DROID_ACP_DROID="+h.droid), tt.h.work
				out, _ := cmd.CombinedOutput() // the exit code is compared
				require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), "%s", out)
				tt.h.awaitNone(t, leavingLimit, func(process) bool { return true })
				if tt.outcome == "" {
					require.NoFileExists(t, file)
					return
				}
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				var r struct {
					Outcome  string
					ExitCode int
				}
				require.NoError(t, json.Unmarshal(text, &r))
				require.Equal(t, tt.outcome, r.Outcome)
				require.Equal(t, tt.code, r.ExitCode)
			})
		}
	})
}

// killDroid is a command that kills the droids of a home, the one that runs it included.
func killDroid(h home) string {
	return fmt.Sprintf(`for p in /proc/[0-9]*; do if [ "$(readlink $p/exe)" = %q ] && grep -qz '^HOME=%s$' $p/environ; then kill -9 ${p#/proc/}; fi; done`, h.droid, h.dir)
}

// What droid starts in its own process group ends with smoke, however that ends: an MCP server that ignores the end of its input, and what
// a hook of 0.99 leaves behind. 0.225 runs each hook in a new session, so that what a hook leaves there stays.
func TestSmokeLeavesNoProcess(t *testing.T) {
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
				h.awaitNone(t, turnLimit, func(p process) bool { return h.version == oldDroid || !strings.Contains(p.command, "sleep 291") })
				h.endTools(t)
			})
		})
	}
}

// droid is in another process group than the terminal's foreground. That stops neither it nor its child processes, even if a background
// group may not write to the terminal.
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

// The job printed in docs/ci.md: its step with the prompts, unchanged, with the real droid and the settings of the same page.
func TestPrintedJob(t *testing.T) {
	text, err := os.ReadFile("../docs/ci.md")
	require.NoError(t, err)
	block := func(language string) string {
		_, rest, found := strings.Cut(string(text), "```"+language+"\n")
		require.True(t, found)
		rest, _, _ = strings.Cut(rest, "```")
		return rest
	}
	settings, step := block("json"), ""
	var job struct {
		Jobs map[string]struct{ Steps []struct{ Name, Run string } }
	}
	require.NoError(t, yaml.Unmarshal([]byte(block("yaml")), &job))
	for _, s := range job.Jobs["droid"].Steps {
		if s.Name == "Run the prompts" {
			step = s.Run
		}
	}
	require.Contains(t, settings, "https://models.example.com/v1")
	require.NotContains(t, step, "${{", "a value of the forge in the text of a command")
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("refuse", modelserver.Step{Status: 401})
		model.On("speak for the job", modelserver.Step{Tools: []modelserver.ToolCall{execute("e", `env >seen.txt`)}}, modelserver.Step{Text: "I said 4."})
		require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".factory", "settings.json"),
			[]byte(strings.ReplaceAll(settings, "https://models.example.com/v1", model.URL())), 0o600))
		for prompt, code := range map[string]int{"refuse": 5, "speak for the job": 0} {
			workspace, err := os.MkdirTemp(h.dir, "workspace")
			require.NoError(t, err)
			for _, dir := range []string{"droid-acp/bin", "project/.github"} {
				require.NoError(t, os.MkdirAll(filepath.Join(workspace, dir), 0o755))
			}
			require.NoError(t, os.Symlink(programs.Agent, filepath.Join(workspace, "droid-acp/bin/droid-acp")))
			require.NoError(t, os.WriteFile(filepath.Join(workspace, "project/.github/prompts.txt"), []byte(prompt+"\nexpect: 4\n"), 0o644))
			cmd := exec.Command("bash", "-ec", step)
			cmd.Dir = workspace
			cmd.Env = append(h.env, "DROID_ACP_DROID="+h.droid, "DROID_ACP_MODEL=custom:CI-0", "GITHUB_OUTPUT=/dev/null", "ACTIONS_RUNTIME_TOKEN=t")
			said, _ := cmd.CombinedOutput() // its exit code is compared
			require.Equal(t, code, cmd.ProcessState.ExitCode(), "%s", said)
			require.Regexp(t, `(?s)^::stop-commands::([0-9a-f]{32})\n.*you     \| .*\n::[0-9a-f]{32}::\n$`, string(said))
			log, err := os.ReadFile(filepath.Join(workspace, "results/droid-acp.log"))
			require.NoError(t, err)
			require.NotContains(t, string(log), prompt)
			require.FileExists(t, filepath.Join(workspace, "results/junit.xml"))
			require.FileExists(t, filepath.Join(workspace, "results/result.json"))
			if prompt == "speak for the job" {
				seen, err := os.ReadFile(filepath.Join(workspace, "project/seen.txt"))
				require.NoError(t, err)
				require.NotRegexp(t, "GITHUB_OUTPUT|ACTIONS_", string(seen))
			}
		}
	})
}
