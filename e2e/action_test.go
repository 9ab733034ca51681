//go:build e2e && linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

// The composite action's step with the real droid, whose settings are those of
// docs/ci.md. How it takes its inputs is tested in internal/workflows.
func TestAction(t *testing.T) {
	page, err := os.ReadFile("../docs/ci.md")
	require.NoError(t, err)
	_, settings, found := strings.Cut(string(page), "```json\n")
	require.True(t, found)
	settings, _, _ = strings.Cut(settings, "```")
	require.Contains(t, settings, "https://models.example.com/v1")
	script, err := filepath.Abs("../scripts/ci/action.sh")
	require.NoError(t, err)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		model.On("two and two", modelserver.Step{Text: "It is 4."})
		model.On("refuse", modelserver.Step{Status: 401})
		model.On("speak for the job", modelserver.Step{Tools: []modelserver.ToolCall{execute("e", `env >seen.txt; echo "outcome=hacked" >>"$RUNNER_TEMP/output"`)}},
			modelserver.Step{Text: "I said 4."})
		file := filepath.Join(h.dir, ".factory", "settings.json")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(settings, "https://models.example.com/v1", model.URL())), 0o600))
		bin := filepath.Join(h.dir, "runner", "droid-acp-action")
		require.NoError(t, os.MkdirAll(bin, 0o755))
		require.NoError(t, os.Symlink(programs.Agent, filepath.Join(bin, "droid-acp")))
		for prompt, outcome := range map[string]string{"What is two and two?": "passed", "refuse": "model_failed", "speak for the job": "passed"} {
			output := filepath.Join(h.dir, "runner", "output")
			require.NoError(t, os.WriteFile(output, nil, 0o644))
			cmd := exec.Command("bash", script, "smoke")
			cmd.Dir = h.work
			cmd.Env = append(h.env, "DROID_ACP_DROID="+h.droid, "RUNNER_TEMP="+filepath.Join(h.dir, "runner"), "GITHUB_OUTPUT="+output, "ACTIONS_RUNTIME_TOKEN=t",
				"SMOKE_DEMO=false", "SMOKE_PROMPTS=", "SMOKE_EXPECT=4", "SMOKE_EXPECT_FILE=", "SMOKE_PERMISSIONS=allow", "SMOKE_TRUST=", "SMOKE_MODEL=custom:CI-0",
				"SMOKE_EFFORT=", "SMOKE_MODE=", "SMOKE_CWD=.", "SMOKE_TIMEOUT=2m", "SMOKE_RESULTS=results", "SMOKE_PROMPT="+prompt)
			said, _ := cmd.CombinedOutput() // its outcome is compared
			told, err := os.ReadFile(output)
			require.NoError(t, err, "%s", said)
			require.True(t, strings.HasPrefix(string(told), "outcome="+outcome+"\n"), "%s\n%s", told, said)
			log, err := os.ReadFile(filepath.Join(h.dir, "runner", "results", "droid-acp.log"))
			require.NoError(t, err)
			require.Contains(t, string(log), `"droid":"`+h.droid+`"`)
			require.Regexp(t, `"protocol":"1\.\d+\.\d+"`, string(log))
			require.Equal(t, outcome == "model_failed", strings.Contains(string(log), `"kind":"model_authentication_failed"`), "%s", log)
			require.Equal(t, 1, strings.Count(string(log), "turn ended"))
			require.NotContains(t, string(log), prompt)
		}
		seen, err := os.ReadFile(filepath.Join(h.work, "seen.txt"))
		require.NoError(t, err)
		require.Contains(t, string(seen), "RUNNER_TEMP=")
		for _, name := range []string{"GITHUB_OUTPUT", "ACTIONS_", "SMOKE_"} {
			require.NotContains(t, string(seen), name)
		}
		require.NotEmpty(t, model.Requests())
	})
}
