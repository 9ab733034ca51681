//go:build unix

package workflows

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// action is the composite action as far as its steps are run here.
type action struct {
	Inputs map[string]struct{ Description, Default string }
	Runs   struct {
		Using string
		Steps []struct {
			Name, ID, If, Shell, Run, Uses string
			Env, With                      map[string]string
		}
	}
	Outputs map[string]struct{ Description, Value string }
}

// forge runs the action's steps as a forge does, with these inputs.
type forge struct {
	t         *testing.T
	action    action
	inputs    map[string]string
	dir       string // the runner's: temporary files and the workspace
	path      string // $PATH
	workspace string
	env       []string // besides what every step has
}

// here is the checkout of the action.
func (f *forge) here() string {
	here, err := filepath.Abs(root)
	require.NoError(f.t, err)
	return here
}

func newForge(t *testing.T) *forge {
	f := &forge{t: t, inputs: map[string]string{}, dir: t.TempDir(), path: os.Getenv("PATH")}
	read(t, "action.yml", &f.action)
	require.Equal(t, "composite", f.action.Runs.Using)
	f.workspace = filepath.Join(f.dir, "workspace")
	require.NoError(t, os.Mkdir(f.workspace, 0o755))
	return f
}

var expression = regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)

// run runs the step with this name and returns its exit code and what it said.
func (f *forge) run(name string) (code int, out string) {
	f.t.Helper()
	for _, s := range f.action.Runs.Steps {
		if s.Name != name {
			continue
		}
		require.Equal(f.t, "bash", s.Shell)
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Dir = f.workspace
		cmd.Env = []string{"PATH=" + f.path, "HOME=" + os.Getenv("HOME"), "GITHUB_ACTION_PATH=" + f.here(), "RUNNER_TEMP=" + f.dir,
			"GITHUB_OUTPUT=" + filepath.Join(f.dir, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(f.dir, "summary"),
			"GITHUB_ENV=" + filepath.Join(f.dir, "env"), "GITHUB_PATH=" + filepath.Join(f.dir, "path"), "GITHUB_STATE="}
		for _, variable := range os.Environ() {
			if strings.HasPrefix(variable, "GO") { // where go keeps what it has downloaded and built
				cmd.Env = append(cmd.Env, variable)
			}
		}
		cmd.Env = append(cmd.Env, f.env...)
		for key, value := range s.Env {
			input := expression.FindStringSubmatch(value)
			require.NotNil(f.t, input, "%s: the value of an input and no more: %s", key, value)
			cmd.Env = append(cmd.Env, key+"="+f.input(input[1]))
		}
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			require.NoError(f.t, err)
		}
		return cmd.ProcessState.ExitCode(), string(said)
	}
	require.Fail(f.t, "no step", name)
	return 0, ""
}

func (f *forge) input(name string) string {
	declared, known := f.action.Inputs[name]
	require.True(f.t, known, name)
	if value, given := f.inputs[name]; given {
		return value
	}
	return declared.Default
}

// file is what a step left in a file of the runner.
func (f *forge) file(name string) string {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	require.NoError(f.t, err)
	return string(data)
}

// newBuiltForge is one whose step of building has run.
func newBuiltForge(t *testing.T) *forge {
	f := newForge(t)
	code, out := f.run("Build droid-acp")
	require.Zero(t, code, out)
	return f
}

// TestAction runs the steps with the demo: one that passes, and one that does not.
func TestAction(t *testing.T) {
	f := newBuiltForge(t)
	f.inputs = map[string]string{"demo": "true", "permissions": "allow", "prompt": "Add a greeting", "expect": "greet.go\n\nnothing was written\n"}
	code, out := f.run("Run the prompts")
	require.Zero(t, code, out)
	require.Equal(t, "outcome=passed\nexit-code=0\nresults="+f.dir+"/droid-acp-smoke\n", f.file("output"))
	require.Contains(t, f.file("summary"), "### droid-acp smoke: passed\n\n    summary | 1 prompt: 1 passed, 0 failed; 2 of 2 expectations met\n")
	require.NotContains(t, out, "::error")
	left, err := os.ReadDir(f.workspace)
	require.NoError(t, err)
	require.Empty(t, left, "the results are not where the agent works")
	const results = "droid-acp-smoke"
	require.Contains(t, f.file(filepath.Join(results, "conversation.txt")), "agent   | greet.go now holds Greet.")
	require.NoError(t, xml.Unmarshal([]byte(f.file(filepath.Join(results, "junit.xml"))), new(struct {
		XMLName xml.Name `xml:"testsuites"`
	})))
	var result struct {
		Prompts []struct{ Expectations []any }
	}
	require.NoError(t, json.Unmarshal([]byte(f.file(filepath.Join(results, "result.json"))), &result))
	require.Len(t, result.Prompts[0].Expectations, 2)
	f.file(filepath.Join(results, "droid-acp.log"))
	opened := regexp.MustCompile(`(?m)^::stop-commands::([0-9a-f]{32})$`).FindStringSubmatch(out)
	require.NotNil(t, opened, out)
	require.Contains(t, out, "\n::"+opened[1]+"::\n", "commands of the workflow are heeded again")
	require.Less(t, strings.Index(out, opened[1]), strings.Index(out, "agent "))

	require.NoError(t, os.Remove(filepath.Join(f.dir, "output")))
	require.NoError(t, os.WriteFile(filepath.Join(f.workspace, "prompts.txt"), []byte("a\nexpect: 100%\n---\nb\n"), 0o644))
	f.inputs = map[string]string{"demo": "true", "prompts": "prompts.txt", "expect-file": "no.txt", "results": "out/smoke"}
	code, out = f.run("Run the prompts")
	require.Equal(t, 6, code, out)
	require.Equal(t, "outcome=expectation_not_met\nexit-code=6\nresults="+f.dir+"/out/smoke\n", f.file("output"))
	require.Contains(t, out, "::error title=droid-acp smoke::expectation_not_met (exit code 6): prompt 1: expected: the answer contains \"100%25\"; found: an answer without it: ")
	require.Contains(t, f.file("summary"), `prompt 2, expectation_not_met: expected: there is a file no.txt`)
}

// TestActionWithoutDroid: what fails before droid has begun is told as well.
func TestActionWithoutDroid(t *testing.T) {
	f := newBuiltForge(t)
	t.Setenv("HOME", f.dir)
	f.path = filepath.Join(f.dir, "bin") // a system may have a droid beside these
	require.NoError(t, os.Mkdir(f.path, 0o755))
	for _, name := range []string{"bash", "dirname", "grep", "mkdir", "od", "rm", "sed", "tee", "tr"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(f.path, name)))
	}
	code, out := f.run("Run the prompts")
	require.Equal(t, 3, code, out)
	require.Contains(t, f.file("output"), "outcome=droid_not_installed\n")
	f.inputs["trust"] = "maybe"
	code, out = f.run("Run the prompts")
	require.Equal(t, 2, code, out)
	require.Contains(t, f.file("droid-acp-smoke/conversation.txt")+out, "always")
	f.inputs["trust"] = "always"
	f.inputs["permissions"] = "maybe"
	code, out = f.run("Run the prompts")
	require.Equal(t, 2, code, out)
	require.Regexp(t, `::error title=droid-acp smoke::usage \(exit code 2\): invalid argument "maybe" for "--permissions"`, out)
	require.Contains(t, f.file("output"), "outcome=usage\n")
}

// TestActionTakesNoInputForACommand: whatever an input holds reaches smoke as it is.
func TestActionTakesNoInputForACommand(t *testing.T) {
	f := newForge(t)
	bin := filepath.Join(f.dir, "droid-acp-action")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "droid-acp"), []byte("#!/bin/sh\nprintf '<%s>\\n' \"$@\"\necho '::error::of a model'\n"), 0o755))
	const evil = `"; $(touch hacked) ` + "`touch hacked`" + ` --demo`
	f.inputs = map[string]string{"prompt": "-" + evil, "expect": evil + "\r\nb", "cwd": evil, "model": evil}
	code, out := f.run("Run the prompts")
	require.Zero(t, code, out)
	require.Contains(t, out, "<--expect="+evil+">\n<--expect=b>\n")
	require.Contains(t, out, "<--cwd="+evil+">\n")
	require.Contains(t, out, "<-->\n<-"+evil+">\n")
	require.NoFileExists(t, filepath.Join(f.workspace, "hacked"))
}

// TestActionKeepsTheJobFromDroid: what a command of a model's could set in the steps that
// follow, and in the outcome of this one, does not reach it. Where it finds the files by
// itself, what it did to them is undone.
func TestActionKeepsTheJobFromDroid(t *testing.T) {
	f := newForge(t)
	bin := filepath.Join(f.dir, "droid-acp-action")
	require.NoError(t, os.Mkdir(bin, 0o755))
	hostile := `#!/bin/sh
env | grep -v '^PATH=\|^PWD=\|^_=\|^RUNNER_TEMP=\|^HOME=\|^SHLVL=\|^OLDPWD=\|^GO'
cd ` + f.dir + `
echo 'PATH=hacked' >>env; echo hacked >path; rm output; ln -s workspace/kept output; rm summary; mkdir summary; echo x >summary/x
printf '{\n  "outcome": "passed",\n' >droid-acp-smoke/result.json
exit 6
`
	require.NoError(t, os.WriteFile(filepath.Join(bin, "droid-acp"), []byte(hostile), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(f.workspace, "kept"), []byte("kept"), 0o644))
	f.env = []string{"ACTIONS_RUNTIME_TOKEN=a", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=a", "FORGEJO_ENV=a", "GITEA_OUTPUT=a", "KEPT=yes"}
	f.inputs = map[string]string{"expect": "the answer that is wanted", "prompt": "x"}
	code, out := f.run("Run the prompts")
	require.Equal(t, 6, code, out)
	said := regexp.MustCompile(`(?m)^[A-Z_]+=.*$`).FindAllString(out, -1)
	require.ElementsMatch(t, []string{"KEPT=yes", "GITHUB_ACTION_PATH=" + f.here()}, said)
	require.Empty(t, f.file("env"))
	require.Empty(t, f.file("path"))
	require.Equal(t, "outcome=expectation_not_met\nexit-code=6\nresults="+f.dir+"/droid-acp-smoke\n", f.file("output"))
	require.Contains(t, f.file("summary"), "### droid-acp smoke: expectation_not_met\n")
	require.Equal(t, "kept", f.file("workspace/kept"), "behind a link")
}

// TestActionsOutcomes: the exit codes of smoke, as docs/ci.md has them.
func TestActionsOutcomes(t *testing.T) {
	f := newForge(t)
	bin := filepath.Join(f.dir, "droid-acp-action")
	require.NoError(t, os.Mkdir(bin, 0o755))
	for script, want := range map[string]string{
		"exit 0": "passed", "exit 1": "turn_failed", "exit 3": "droid_not_installed", "exit 4": "not_logged_in", "exit 5": "model_failed",
		"exit 6": "expectation_not_met", "exit 7": "timeout",
		"echo 'droid-acp: wrong'; echo 'Run `droid-acp smoke --help` for the usage.'; exit 2": "usage (exit code 2): wrong",
		"echo 'goroutine 1 [running]:'; exit 2":                                               "unknown",
		"echo 'fatal error: out of memory'; exit 2":                                           "unknown (exit code 2): out of memory",
		"exit 99":       "unknown",
		"kill -KILL $$": "killed (exit code 137): signal 9 ended it",
		"kill -TERM $$": "killed (exit code 143): signal 15 ended it",
		"echo 'droid-acp smoke: turn_failed: so'; echo '  and so'; echo 'droid-acp smoke: f was not written: x'; exit 1": "turn_failed (exit code 1): so",
		"echo 'agent   | droid-acp smoke: no'; echo 'droid-acp smoke: f was not written: 1%'; exit 1":                    "turn_failed (exit code 1): f was not written: 1%25",
	} {
		outcome, _, _ := strings.Cut(want, " ")
		require.NoError(t, os.WriteFile(filepath.Join(bin, "droid-acp"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		code, out := f.run("Run the prompts")
		require.Equal(t, fmt.Sprintf("outcome=%s\nexit-code=%d\nresults=%s/droid-acp-smoke\n", outcome, code, f.dir), f.file("output"), script)
		if want == outcome {
			want = fmt.Sprintf("%s (exit code %d)", outcome, code)
		}
		if code == 0 {
			require.NotContains(t, out, "::error")
			continue
		}
		require.Contains(t, out, "::error title=droid-acp smoke::"+want+"\n")
	}
}

// TestActionsResults: they are not where droid works. A directory that cannot have them ends
// the step with a sentence, and no output is written by a name. What a link there points to stays.
func TestActionsResults(t *testing.T) {
	f := newForge(t)
	bin := filepath.Join(f.dir, "droid-acp-action")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "droid-acp"), []byte("#!/bin/sh\necho ran\n"), 0o755))
	f.inputs["cwd"] = "project"
	at := func(path ...string) string { return filepath.Join(append([]string{f.dir}, path...)...) }
	require.NoError(t, os.MkdirAll(filepath.Join(f.workspace, "project", "sub"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(f.workspace, "project"), at("link")))
	require.NoError(t, os.WriteFile(at("file"), []byte("kept"), 0o644))
	require.NoError(t, os.MkdirAll(at("taken", "conversation.txt"), 0o755))
	for results, says := range map[string]string{
		"": "is empty", "-": "begins with -", "-rf": "begins with -", "a\noutcome=passed": "more than one line", "a\rb": "more than one line",
		"file": "can be made", "file/b": "can be made", "taken": "cannot be removed",
		"workspace/project": "where droid works", "link/new": "where droid works", filepath.Join(f.workspace, "project", "sub"): "where droid works",
	} {
		f.inputs["results"] = results
		code, out := f.run("Run the prompts")
		require.Equal(t, 2, code, out)
		require.Regexp(t, "::error title=droid-acp::the input results .*"+says, out)
		require.NotContains(t, out, "ran\n")
		require.NoFileExists(t, at("output"))
	}
	for results, where := range map[string]string{"linked": at("linked"), filepath.Join(f.workspace, "results"): filepath.Join(f.workspace, "results")} {
		require.NoError(t, os.Mkdir(where, 0o755))
		require.NoError(t, os.Symlink(at("file"), filepath.Join(where, "conversation.txt")))
		f.inputs["results"] = results
		code, out := f.run("Run the prompts")
		require.Zero(t, code, out)
		require.Equal(t, "kept", f.file("file"), "behind a link")
		said, err := os.ReadFile(filepath.Join(where, "conversation.txt"))
		require.NoError(t, err)
		require.Equal(t, "ran\n", string(said))
		require.Contains(t, f.file("output"), "results="+where+"\n")
	}
	// The step that keeps them names the directory as this one did, if it did.
	for _, s := range f.action.Runs.Steps {
		if s.Name == "Keep the results" {
			require.Contains(t, s.If, "steps.smoke.outputs.results != ''")
			require.Equal(t, "${{ steps.smoke.outputs.results }}", s.With["path"])
			return
		}
	}
	require.Fail(t, "no step keeps them")
}

// TestActionInstallsDroid with npm, which is played here.
func TestActionInstallsDroid(t *testing.T) {
	f := newForge(t)
	bin := filepath.Join(f.dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\necho \"npm $*\"\n"), 0o755))
	f.path = bin + ":" + f.path
	for version, says := range map[string]string{
		"latest":  "npm install --global --no-audit --no-fund droid@latest\n",
		"0.225.2": "npm install --global --no-audit --no-fund droid@0.225.2\n",
		"none":    "droid is not installed by this action.\n",
	} {
		f.inputs["droid-version"] = version
		code, out := f.run("Install droid")
		require.Zero(t, code, out)
		require.Equal(t, says, out)
	}
	for _, version := range []string{"", "1 --registry=x", "1;touch hacked", "../x", "@evil/x", "..", "-g", "x.tgz", "x.tar"} {
		f.inputs["droid-version"] = version
		code, out := f.run("Install droid")
		require.NotZero(t, code)
		require.Contains(t, out, "::error title=droid-acp::the input droid-version")
		require.NotContains(t, out, "npm install")
	}
}

// TestActionsExample: the workflow of docs/ci.md gives the action inputs that it has.
func TestActionsExample(t *testing.T) {
	_, example, found := strings.Cut(text(t, "docs/ci.md"), "```yaml\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "```")
	var w workflow
	require.NoError(t, yaml.Unmarshal([]byte(example), &w))
	f, used := newForge(t), 0
	for _, j := range w.Jobs {
		for _, s := range j.Steps {
			if strings.HasPrefix(s.Uses, "OWNER/droid-acp@") {
				used++
				for name := range s.With {
					f.input(name)
				}
			}
		}
	}
	require.Equal(t, 1, used)
}

// TestActionIsDescribed: docs/ci.md names each input and output.
func TestActionIsDescribed(t *testing.T) {
	f, page := newForge(t), text(t, "docs/ci.md")
	used := text(t, "action.yml")
	for name, input := range f.action.Inputs {
		require.Contains(t, page, "`"+name+"`")
		require.NotEmpty(t, input.Description, name)
		require.Contains(t, used, "inputs."+name, "nothing uses it")
	}
	for name, output := range f.action.Outputs {
		require.Contains(t, page, "`"+name+"`")
		require.Contains(t, output.Value, "steps.smoke.outputs."+name)
	}
}
