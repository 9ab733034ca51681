package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/fakelogin"
)

// envProgram makes this test binary the program, for tests of what a process
// does: signals, blocked streams.
const envProgram = "DROID_ACP_TEST_PROGRAM"

// envLogin makes this test program, run as droid, a scripted login by its name.
const envLogin = "DROID_ACP_TEST_LOGIN"

// TestMain also plays the demo's droid and the program of our hooks: the program
// starts itself for those, and here the program is this test.
func TestMain(m *testing.M) {
	if script := fakelogin.Scripts()[os.Getenv(envLogin)]; script != nil && len(os.Args) > 1 && os.Args[1] == "exec" {
		os.Exit(fakelogin.Run(os.Stdin, os.Stdout, fakelogin.OpenBrowser, script))
	}
	if os.Getenv(envScripted) != "" && len(os.Args) > 1 && os.Args[1] == "exec" {
		os.Exit(fakedroid.ExitCode(fakedroid.Run(os.Stdin, os.Stdout, fakedroid.EachPrompt(scripted), fakedroid.WithStderr(os.Stderr))))
	}
	if os.Getenv(envMonth) != "" && len(os.Args) > 1 && os.Args[1] == "exec" {
		os.Exit(fakedroid.ExitCode(fakedroid.Run(os.Stdin, os.Stdout, fakedroid.EachPrompt(monthDroid), fakedroid.WithSessions(&fakedroid.Sessions{TakesAny: true}))))
	}
	if os.Getenv(envWindows) != "" && len(os.Args) > 1 && os.Args[1] == "exec" {
		os.Exit(fakedroid.ExitCode(fakedroid.Run(os.Stdin, os.Stdout, windowsDroid, windowsOptions()...)))
	}
	if os.Getenv(envProgram) != "" || len(os.Args) > 1 && (os.Args[1] == demoCommand || os.Args[1] == stream.OwnHook) {
		main()
		os.Exit(exitOK)
	}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(s) { // by nohup: what the tests start would inherit that
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	if err := flag.Set("test.parallel", fmt.Sprint(4*runtime.NumCPU())); err != nil { // most of them wait; -parallel wins over it
		panic(err)
	}
	home, err := os.MkdirTemp("", "home") // what the tests start may keep something there
	if err != nil {
		panic(err)
	}
	_, _ = os.Setenv("HOME", home), os.Setenv("USERPROFILE", home) // no name with a zero
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(home)
		os.Exit(code)
	}))
}

type result struct {
	code           int
	stdout, stderr string
}

func command(stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// conversation is command for an editor that stays until each of its lines has an answer.
func conversation(stdin string, args ...string) result {
	var stderr bytes.Buffer
	stdout := &answers{left: strings.Count(stdin, "\n"), all: make(chan struct{})}
	code := run(args, io.MultiReader(strings.NewReader(stdin), stdout), stdout, &stderr)
	return result{code, stdout.text.String(), stderr.String()}
}

// answers collects an agent's output. Reading it waits until it is complete.
type answers struct {
	text strings.Builder
	left int
	all  chan struct{}
}

func (a *answers) Write(p []byte) (int, error) {
	n := bytes.Count(p, []byte("\n"))
	if a.left > 0 && n >= a.left {
		close(a.all)
	}
	a.left -= n
	return a.text.Write(p)
}

func (a *answers) Read([]byte) (int, error) {
	<-a.all
	return 0, io.EOF
}

func TestHelpAndVersion(t *testing.T) {
	for text, calls := range map[string][]string{
		"erve ACP on stdin and stdout": {"--help", "-h", "help", "acp --help", "--model x --help"},
		"--permissions ANSWER":         {"smoke --help", "smoke -h", "help smoke", "--mode spec smoke --help"},
		"ave droid log in":             {"login --help", "acp login --help", "help login", "--help login"},
	} {
		for _, args := range calls {
			got := command("", strings.Fields(args)...)
			require.Equal(t, exitOK, got.code, args)
			require.Contains(t, got.stdout, text, args)
			require.Empty(t, got.stderr, args)
		}
	}
	for _, args := range []string{"--version", "version", "acp --version"} {
		got := command("", strings.Fields(args)...)
		require.Equal(t, exitOK, got.code, got.stderr)
		require.Regexp(t, `^droid-acp \S+ \(.*go1.*\)\n$`, got.stdout)
	}
}

func TestSmokeDemo(t *testing.T) {
	t.Parallel()
	got := command("", "smoke", "--demo", "--permissions", "allow", "Add a greeting")
	require.Equal(t, exitOK, got.code, got.stderr)
	require.Empty(t, got.stderr)
	for _, part := range []string{
		"you     | Add a greeting",
		"thought | ", "agent   | ", "tool    | ", "ask     | ", "answer  | Yes, allow",
		"ask     | Approve plan: ", "answer  | Proceed with implementation", "mode    | normal",
	} {
		require.Contains(t, got.stdout, part)
	}
}

// There is no question for what the mode allows.
func TestSmokeDemoInEachMode(t *testing.T) {
	t.Parallel()
	for mode, asks := range map[string]int{"spec": 3, "normal": 1, "auto-low": 0, "auto-high": 0} {
		got := command("", "smoke", "--demo", "--mode", mode, "--permissions", "allow")
		require.Equal(t, exitOK, got.code, got.stderr)
		require.Equal(t, asks, strings.Count(got.stdout, "ask     | "), mode)
		require.Contains(t, got.stdout, "This was a demo", mode)
	}
}

func TestSmokeDemoRefusesByDefault(t *testing.T) {
	t.Parallel()
	got := command("", "smoke", "--demo")
	require.Equal(t, exitOK, got.code, got.stderr)
	require.Contains(t, got.stdout, "answer  | No, cancel")
	require.NotContains(t, got.stdout, "answer  | Yes")
}

func TestSmokeJSON(t *testing.T) {
	t.Parallel()
	got := command("", "smoke", "--demo", "--json", "--permissions", "allow")
	require.Equal(t, exitOK, got.code, got.stderr)
	methods := map[string]int{}
	in := bufio.NewScanner(strings.NewReader(got.stdout))
	for in.Scan() {
		var m struct{ JSONRPC, Method string }
		require.NoError(t, json.Unmarshal(in.Bytes(), &m), in.Text())
		require.Equal(t, "2.0", m.JSONRPC)
		methods[m.Method]++
	}
	require.Equal(t, 1, methods["session/prompt"])
	require.NotZero(t, methods["session/update"])
	require.Equal(t, 3, methods["session/request_permission"])
}

// withoutDroid has no droid be found.
func withoutDroid(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("DROID_ACP_DROID", "")
}

func TestSmokeWithoutDroid(t *testing.T) {
	withoutDroid(t)
	got := command("", "smoke", "hello")
	require.Equal(t, 3, got.code)
	require.Contains(t, got.stderr, "droid_not_installed: droid not found")
	require.Contains(t, got.stderr, "Install Factory's droid with `")
}

func TestServeWithoutDroid(t *testing.T) {
	withoutDroid(t)
	log := filepath.Join(t.TempDir(), "log")
	got := conversation(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"`+t.TempDir()+`","mcpServers":[]}}
{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","cwd":"`+t.TempDir()+`","mcpServers":[]}}
nonsense
`, "--log-file", log, "--log-level", "debug")
	require.Equal(t, exitOK, got.code)
	answers := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(got.stdout), "\n") {
		var m struct {
			JSONRPC string
			ID      json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		require.Equal(t, "2.0", m.JSONRPC)
		answers[string(m.ID)] = line
	}
	require.Len(t, answers, 4)
	require.Contains(t, answers["1"], `"protocolVersion":1`, "initialize needs no droid")
	require.Contains(t, answers["2"], `"result":{"sessionId":`, "its first prompt says the same as the load of another session:")
	require.Contains(t, answers["3"], "Install Factory's droid with `", "how to install it")
	require.Contains(t, answers["null"], "-32700")

	file, err := os.Open(log)
	require.NoError(t, err)
	defer file.Close()
	lines, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NotEmpty(t, lines)
	for line := range bytes.SplitSeq(bytes.TrimSpace(lines), []byte("\n")) {
		require.True(t, json.Valid(line), string(line))
	}
}

// A user without any home, even in the system's list of users, learns what to do
// from each request that needs one; droid would die without saying why.
func TestServeWithoutHome(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Setenv("USERPROFILE", "")
	}
	t.Setenv("HOME", "")
	t.Setenv("DROID_ACP_DROID", os.Args[0])
	got := conversation(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"` + t.TempDir() + `","mcpServers":[]}}
{"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}
`)
	require.Equal(t, exitOK, got.code)
	for line := range strings.SplitSeq(strings.TrimSpace(got.stdout), "\n") {
		if strings.Contains(line, `"id":1`) {
			require.Contains(t, line, `"protocolVersion":1`)
			continue
		}
		require.Contains(t, line, `"error"`)
		require.Contains(t, strings.ToLower(line), "set home to your home directory")
	}
}

// TestLogHoldsNoPrompt: not even at the debug level.
func TestLogHoldsNoPrompt(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	got := command("", "smoke", "--demo", "--permissions", "allow", "--log-file", log, "--log-level", "debug", "SECRET-PROMPT")
	require.Equal(t, exitOK, got.code, got.stderr)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NotEmpty(t, text)
	require.NotContains(t, string(text), "SECRET-PROMPT")
	require.NotContains(t, got.stderr, "SECRET-PROMPT")
}

// The program of our hooks succeeds and prints nothing if the agent has gone.
func TestOwnHook(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, stream.OwnHook, "@droid-acp-gone")
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"} // no HOME
	cmd.Stdin = strings.NewReader(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Read","tool_input":{}}`)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(out))
}
