package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/cli/smoke"
	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/testing/fakedroid"
)

// envScripted makes this test program, run as droid, one that does what the prompt
// says. It is none of our variables, which smoke refuses when it does not know them.
const envScripted = "SCRIPTED_DROID"

// scripted is the droid of these tests: the prompt's first word says what it does.
func scripted(d *fakedroid.Droid, p fakedroid.Prompt) error {
	text := p.Text
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "limit":
		return d.Fail("model_rate_limited", "429 slow down", "Wait.")
	case "unauthorized":
		return d.Fail("error", "401 Incorrect API key: TOKEN-SECRET", "ADVICE-SECRET")
	case "much":
		for range 1000 {
			if err := d.Say("", "ANSWER-SECRET "); err != nil {
				return err
			}
		}
		return nil
	case "login":
		return d.Fail("error", "No access token available", "Authentication failed.")
	case "signs":
		tool := fakedroid.Tool{Name: "Execute", Input: fakedroid.Fields{"command": "ls" + signs}, Confirmation: "exec", Impact: "low", Works: true,
			Details: fakedroid.Fields{"fullCommand": "ls" + signs, "impactLevel": "low"}}
		return errors.Join(d.Use("", "I look"+signs, tool), d.Say("", "Done"+signs))
	case "signed":
		return d.Die(9, "the end"+signs+"\n")
	case "env":
		return d.Say("", "I have "+strings.Join(os.Environ(), "\n"))
	case "die":
		return d.Die(9, "no more\n")
	case "silence":
		return d.Silence()
	case "remove":
		return errors.Join(os.Remove(rest), d.Say("", "Removed."))
	case "write":
		path, content, _ := strings.Cut(rest, " ")
		tool := fakedroid.Tool{
			Name: "Create", Input: fakedroid.Fields{"file_path": path, "content": content}, Works: true,
			Confirmation: "create", Impact: "low", Details: fakedroid.Fields{"filePath": path, "fileName": filepath.Base(path), "content": content},
		}
		if err := d.Use("", "I write. ", tool); err != nil {
			return err
		}
		return d.Say("", "Written.")
	}
	return d.Say("", "You said "+text)
}

// signs are characters that must not reach a screen.
const signs = "\x1b[2K\x1b]0;title\a\u202e\u009b1A\xff"

// TestSmokeIsSafeToShow: each way out, whatever the model, droid's errors and the command
// line say.
func TestSmokeIsSafeToShow(t *testing.T) {
	useScripted(t)
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	ways := map[string]string{"--result": at("result.json"), "--junit": at("junit.xml"), "--log-file": at("log")}
	for prompt, code := range map[string]int{"signs of " + signs: 6, "signed " + signs: 1} {
		for _, raw := range []string{"--json=false", "--json=true"} {
			args := []string{"smoke", raw, "--cwd", t.TempDir(), "--log-level", "debug", "--expect", "more" + signs}
			for flag, path := range ways {
				args = append(args, flag, path)
			}
			got := command("", append(args, prompt)...)
			require.Equal(t, code, got.code, got.stderr)
			shown := map[string]string{"stdout": got.stdout, "stderr": got.stderr}
			for flag, path := range ways {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				shown[flag] = string(text)
			}
			for way, text := range shown {
				require.NotEmpty(t, text, way)
				require.NoError(t, acptest.CheckSafe("way out "+text, true), way)
			}
		}
	}
}

// useScripted makes smoke run the scripted droid.
func useScripted(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("DROID_ACP_DROID", self)
	t.Setenv(envScripted, "1")
}

func readResult(t *testing.T, path string) (r smoke.Result) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

// TestSmokeExitCodes: each code, with the same outcome in the result and on stderr.
func TestSmokeExitCodes(t *testing.T) {
	useScripted(t)
	for name, tc := range map[string]struct {
		args    []string
		code    int
		outcome smoke.Outcome
		says    string
	}{
		"passed":         {[]string{"--expect", "said hello", "hello"}, 0, smoke.Passed, ""},
		"droid dies":     {[]string{"die"}, 1, smoke.TurnFailed, "droid exited with code 9: no more"},
		"no droid":       {[]string{"--droid", filepath.Join(t.TempDir(), "none"), "hello"}, 3, smoke.NotInstalled, "none"},
		"no login":       {[]string{"login"}, 4, smoke.NotLoggedIn, "droid is not logged in"},
		"model fails":    {[]string{"limit"}, 5, smoke.ModelFailed, "429 slow down"},
		"not met":        {[]string{"--expect", "said hello", "--expect", "goodbye", "hello"}, 6, smoke.NotMet, `the answer contains "goodbye"`},
		"refused":        {[]string{"--expect-file", "a.txt", "write DIR/a.txt hi"}, 6, smoke.NotMet, "there is a file a.txt"},
		"allowed":        {[]string{"--permissions", "allow", "--expect-file", "a.txt=hi", "write DIR/a.txt hi"}, 0, smoke.Passed, ""},
		"too late":       {[]string{"--timeout", "300ms", "silence"}, 7, smoke.TimedOut, "no end within 300ms"},
		"other effort":   {[]string{"--effort", "high", "hello"}, 1, smoke.TurnFailed, "droid did not take the reasoning_effort"},
		"model as asked": {[]string{"--model", "fake-thinker", "--effort", "high", "hello"}, 0, smoke.Passed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, work := t.TempDir(), t.TempDir()
			file := filepath.Join(dir, "result.json")
			args := []string{"smoke", "--cwd", work, "--result", file, "--junit", filepath.Join(dir, "junit.xml")}
			for _, arg := range tc.args {
				args = append(args, strings.ReplaceAll(arg, "DIR", work))
			}
			got := command("", args...)
			require.Equal(t, tc.code, got.code, "%s\n%s", got.stdout, got.stderr)
			r := readResult(t, file)
			require.Equal(t, tc.outcome, r.Outcome)
			require.Equal(t, tc.code, r.ExitCode)
			require.Contains(t, got.stdout, "summary | 1 prompt: ")
			if tc.code != 0 {
				require.Contains(t, got.stderr, "droid-acp smoke: "+string(tc.outcome)+": ")
				require.Contains(t, got.stderr, tc.says)
				require.Contains(t, r.Reason, tc.says)
			}
			text, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
			require.NoError(t, err)
			require.NoError(t, xml.Unmarshal(text, new(struct {
				XMLName xml.Name `xml:"testsuites"`
			})))
		})
	}
}

// TestSmokePrompts: a file of prompts, whose expectations hold in one session.
// The help has the exit codes of the outcomes.
func TestSmokesExitCodesInTheHelp(t *testing.T) {
	help := command("", "smoke", "--help").stdout
	for outcome, words := range map[smoke.Outcome]string{
		smoke.Passed: "all turns ended normally", smoke.TurnFailed: "a turn ended otherwise", smoke.NotInstalled: "droid is not installed",
		smoke.NotLoggedIn: "droid is not logged in", smoke.ModelFailed: "the call to the model failed",
		smoke.NotMet: "an expectation was not met", smoke.TimedOut: "the time was up",
	} {
		require.Contains(t, help, fmt.Sprintf("\n  %d  %s", outcome.ExitCode(), words))
	}
}

func TestSmokePrompts(t *testing.T) {
	useScripted(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "prompts.txt")
	result := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(file, []byte("write "+filepath.Join(dir, "a.txt")+" one two\nexpect: Written.\nexpect-file: a.txt=one two\n---\nhello\nexpect: said hello\n"), 0o644))
	got := command("", "smoke", "--permissions", "allow", "--cwd", dir, "--prompts", file, "--expect", "You", "--result", result)
	require.Equal(t, exitOK, got.code, "%s\n%s", got.stdout, got.stderr)
	r := readResult(t, result)
	require.Equal(t, smoke.Totals{Prompts: 2, Passed: 2, Expectations: 4, Met: 4, ToolCalls: 1, Permissions: 1, Allowed: 1, Tokens: r.Totals.Tokens}, r.Totals)
	require.NotNil(t, r.Totals.Tokens)
	require.Len(t, r.Prompts[1].Expectations, 2, "that of the flag, too")
	require.Contains(t, got.stdout, "+++ "+filepath.Join(dir, "a.txt")+"\n        |   @@ -0,0 +1 @@\n        |   +one two\n")
}

func TestSmokeUsage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	for says, args := range map[string][]string{
		"--prompts and a PROMPT exclude each other": {"--prompts", file("good", "a"), "b"},
		"line 3: there is no prompt":                {"--prompts", file("empty", "a\n---\n")},
		"larger than 10 MiB":                        {"--prompts", file("large", strings.Repeat("a", 10<<20+1))},
		"for --prompts: open ":                      {"--prompts", filepath.Join(dir, "none")},
		"for --expect: an expectation":              {"--expect", ""},
		"for --expect-file: \"../a\" is no path":    {"--expect-file", "../a=b"},
		"for --cwd":                                 {"--cwd", filepath.Join(dir, "none")},
		"/file is no directory":                     {"--cwd", file("file", "")},
		"for --junit":                               {"--junit", filepath.Join(dir, "none", "j.xml")},
		"is no regular file":                        {"--result", dir},
	} {
		got := command("", append([]string{"smoke", "--demo"}, args...)...)
		require.Equal(t, exitUsage, got.code, args)
		require.Empty(t, got.stdout)
		require.Contains(t, got.stderr, says)
	}
}

// A file that is written is no other file of the command line, by whatever path: that would replace the prompts, for one.
func TestOneFileOfTwoFlags(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r")
	for _, other := range []string{path, dir + "/./r", dir + "/../" + filepath.Base(dir) + "/r"} {
		for _, pair := range [][2]string{{"junit", "result"}, {"result", "log-file"}, {"log-file", "trace"}, {"result", "prompts"}, {"junit", "schema"}, {"trace", "prompts"}} {
			got := command("", "smoke", "--"+pair[0], path, "--"+pair[1], other)
			require.Equal(t, exitUsage, got.code)
			require.Contains(t, got.stderr, "--"+pair[0]+" and --"+pair[1]+" name the same file")
			require.NoFileExists(t, path)
		}
	}
}

// A result that cannot be written is a failure, also when all else went well: here the
// agent takes away the directory in which it was to be.
func TestSmokeResultNotWritten(t *testing.T) {
	useScripted(t)
	dir := filepath.Join(t.TempDir(), "results")
	require.NoError(t, os.Mkdir(dir, 0o755))
	got := command("", "smoke", "--cwd", t.TempDir(), "--result", filepath.Join(dir, "r.json"), "remove "+dir)
	require.Equal(t, exitFailed, got.code, got.stderr)
	require.Contains(t, got.stderr, "r.json was not written: ")
}

// TestSmokeKeepsTheJobFromDroid: droid gets the environment without what would let a
// command of the model's speak for the CI job.
func TestSmokeKeepsTheJobFromDroid(t *testing.T) {
	useScripted(t)
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "ACTIONS_RUNTIME_TOKEN", "CI_JOB_TOKEN"} {
		t.Setenv(name, "theirs")
	}
	t.Setenv("GITHUB_WORKSPACE", "ours")
	got := command("", "smoke", "--cwd", t.TempDir(), "env")
	require.Equal(t, exitOK, got.code, got.stderr)
	require.Contains(t, got.stdout, "GITHUB_WORKSPACE=ours")
	require.NotContains(t, got.stdout, "theirs")
}

// A command of the agent that fails is no turn that passed, and what is behind it does not run.
func TestSmokeWithACommandThatFails(t *testing.T) {
	useScripted(t)
	dir := t.TempDir()
	file, made, junit := filepath.Join(dir, "prompts.txt"), filepath.Join(dir, "made.txt"), filepath.Join(dir, "junit.xml")
	require.NoError(t, os.WriteFile(file, []byte("/mode specs\n---\nwrite "+made+" x\n"), 0o600))
	got := command("", "smoke", "--cwd", dir, "--permissions", "allow", "--prompts", file, "--junit", junit)
	require.NotEqual(t, 0, got.code, "the mode was not set")
	require.NoFileExists(t, made)
}

// What a shell command says with its exit code counts.
func TestSmokeWithAShellCommandThatFails(t *testing.T) {
	useScripted(t)
	got := command("", "smoke", "--cwd", t.TempDir(), "--shell", "! exit 3")
	require.NotEqual(t, 0, got.code)
}

// The result is written although the JUnit file cannot be.
func TestSmokeWritesTheOtherFile(t *testing.T) {
	useScripted(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	require.NoError(t, os.Mkdir(out, 0o700))
	result := filepath.Join(dir, "result.json")
	got := command("", "smoke", "--cwd", dir, "--junit", filepath.Join(out, "junit.xml"), "--result", result, "remove "+out)
	require.NotEqual(t, 0, got.code)
	require.FileExists(t, result)
}
