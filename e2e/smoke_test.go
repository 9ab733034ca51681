//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// smoke is the agent's own client: it shows that binary and droid work
// together, or with --demo that the binary works alone.
func TestSmoke(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("hello", modelserver.Step{Text: "Hello from the scripted model."})
		model.On("fail", modelserver.Step{Status: 401})
		const signs = "\x1b[2K\x1b[1A\u202e\u200b"
		model.On("hide", modelserver.Step{Text: "I run it." + signs, Tools: []modelserver.ToolCall{execute("h", "touch hidden # "+signs)}},
			modelserver.Step{Text: "Refused."})
		tests := []struct {
			args   []string
			code   int
			output string
		}{
			{[]string{"--droid", h.droid, "say", "hello"}, 0, "Hello from the scripted model."},
			{[]string{"--droid", h.droid, "fail"}, 5, "401"},
			{[]string{"--droid", h.droid, "hide"}, 0, `touch hidden # \x1b[2K\x1b[1A\u202e\u200b`},
			{[]string{"--demo", "--mode", "spec", "--permissions", "allow"}, 0, "greet.go"},
			{[]string{"--permissions", "maybe"}, 2, "maybe"},
		}
		for _, tt := range tests {
			cmd := exec.Command(programs.Agent, append([]string{"smoke"}, tt.args...)...)
			cmd.Env, cmd.Dir = h.env, h.work
			out, _ := cmd.CombinedOutput() // the exit code is compared
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), "%v\n%s", tt.args, out)
			require.Contains(t, string(out), tt.output)
			for _, r := range string(out) {
				require.True(t, strings.ContainsRune("\n\t", r) || unicode.IsPrint(r), "%q is shown in %q", r, out)
			}
			h.awaitNone(t, leavingLimit, func(process) bool { return true })
		}
		cmd := exec.Command(programs.Agent, "smoke", "--json", "--droid", h.droid, "say", "hello")
		cmd.Env, cmd.Dir = h.env, h.work
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Positive(t, checkShown(t, out), "%s", out)
		h.awaitNone(t, leavingLimit, func(process) bool { return true })
	})
}

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
