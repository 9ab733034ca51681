package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo terminal: what is typed at it, and what a program has as its
// terminal.
func openTerminal(t *testing.T) (typed, program *os.File) {
	t.Helper()
	typed, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = typed.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(typed.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(typed.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return typed, program
}

// atTerminal runs the program with a terminal as its stdin, at which text is typed.
func atTerminal(t *testing.T, env []string, text string, args ...string) result {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return atTerminalOf(t, self, env, text, args...)
}

// atTerminalOf is atTerminal for the program at a path.
func atTerminalOf(t *testing.T, program string, env []string, text string, args ...string) result {
	t.Helper()
	typed, terminal := openTerminal(t)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Env = append([]string{"GORACE=atexit_sleep_ms=0", envProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = terminal, &stdout, &stderr, t.TempDir()
	_, err := io.WriteString(typed, text)
	require.NoError(t, err)
	_ = cmd.Run() // how it ended is in ProcessState
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// endOfInput is the key that ends the input: Ctrl-D.
const endOfInput = "\x04"

// A user who starts the program in a terminal is shown an explanation, and it serves as usual. A terminal of 80 columns breaks no line of
// it.
func TestStartedByHand(t *testing.T) {
	got := atTerminal(t, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n"+endOfInput)
	require.Equal(t, exitOK, got.code, got.stderr)
	require.Contains(t, got.stdout, `"protocolVersion":1`)
	require.Equal(t, 1, strings.Count(got.stdout, "\n"), "stdout belongs to the protocol")
	for _, words := range []string{"This is droid-acp ", "such an editor starts it", " doctor", " smoke --demo ", " login"} {
		require.Contains(t, got.stderr, words)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for line := range strings.Lines(strings.ReplaceAll(got.stderr, self, "droid-acp")) {
		require.LessOrEqual(t, len(line), 81, line)
	}
	require.NotContains(t, command("", "--log-level", "error").stderr, "This is droid-acp", "an editor gets no such words")
}

// The command for a demo shows all of it as it is printed, wherever the program lies.
func TestDemoAsPrinted(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "it's here", "droid-acp")
	require.NoError(t, os.Mkdir(filepath.Dir(program), 0o700))
	require.NoError(t, os.Symlink(self, program))
	said := atTerminalOf(t, program, nil, endOfInput).stderr
	printed := regexp.MustCompile(`(?m)^ +(.* smoke --demo\b.*?)(   .*)?$`).FindStringSubmatch(said)
	require.NotEmpty(t, printed, said)
	cmd := exec.Command("sh", "-c", printed[1])
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0", envProgram + "=1", "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "This was a demo", "how the demo ends")
}

func TestColoursOnATerminalAlone(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	_, terminal := openTerminal(t)
	require.True(t, colours(terminal))
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	require.False(t, colours(file), "a file is no terminal")
	require.False(t, colours(new(writerOnly)))
	t.Setenv("TERM", "dumb")
	require.False(t, colours(terminal))
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	require.False(t, colours(terminal))
}

type writerOnly struct{}

func (*writerOnly) Write(p []byte) (int, error) { return len(p), nil }

// What could not be written is no success: a script would take an empty file for a report.
func TestOutputOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--version"}, {"--help"}, {"help", "doctor"}, {"man"}, {"doctor"}, {"doctor", "--json"}, {"smoke", "--demo"}, {"smoke", "--demo", "--json"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		var stderr bytes.Buffer
		require.Equal(t, exitFailed, run(args, bytes.NewReader(nil), struct{ io.Writer }{full}, &stderr), args)
		require.Contains(t, stderr.String(), "no space left on device", args)
		require.NoError(t, full.Close())
	}
}
