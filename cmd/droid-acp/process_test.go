//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"droid-acp/internal/testing/acptest"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what should take milliseconds.
const patience = 20 * time.Second

// agentProcess is the program as a process, with a droid that is a shell script around the demo's.
type agentProcess struct {
	t       *testing.T
	dir     string // the session's
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.ReadCloser
	stderr  *os.File // nobody reads it unless the test does
	lines   chan agentLine
	exited  chan struct{}
	session string
}

type agentLine = acptest.Message

// startAgent starts the program. before is the beginning of droid, a script; the demo's droid is "$DROID". env replaces variables; one
// without "=" is removed.
func startAgent(t *testing.T, before string, env []string, args ...string) *agentProcess {
	t.Helper()
	return startUnder(t, nil, before, env, args...)
}

// startUnder starts the program by another one, that gets its path and arguments.
func startUnder(t *testing.T, under []string, before string, env []string, args ...string) *agentProcess {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	script := filepath.Join(dir, "droid")
	text := fmt.Sprintf("#!/bin/sh\nDROID='%s %s'\ncd %s\necho $$ >> pids\n%s\nexec $DROID\n", self, demoCommand, dir, before)
	require.NoError(t, os.WriteFile(script, []byte(text), 0o700))
	command := append(append(under, self, "--droid", script), args...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", envProgram + "=1"}
	for _, v := range env {
		name, _, set := strings.Cut(v, "=")
		if !set {
			cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
			continue
		}
		cmd.Env = append(cmd.Env, v)
	}
	cmd.Dir = dir
	return startCommand(t, cmd)
}

// startCommand starts the program by a command that says all of it.
func startCommand(t *testing.T, cmd *exec.Cmd) *agentProcess {
	t.Helper()
	a := &agentProcess{t: t, dir: cmd.Dir, cmd: cmd, lines: make(chan agentLine, 10_000), exited: make(chan struct{})}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	a.stderr, a.cmd.Stderr = read, write
	a.stdin, err = a.cmd.StdinPipe()
	require.NoError(t, err)
	a.stdout, err = a.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, a.cmd.Start())
	require.NoError(t, write.Close())
	read1 := make(chan struct{})
	go func() { defer close(read1); a.read() }()
	go func() {
		defer close(a.exited)
		<-read1
		_ = a.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		_ = a.stdin.Close()
		_ = a.stdout.Close()
		<-a.exited
		_ = read.Close()
	})
	return a
}

func (a *agentProcess) read() {
	defer close(a.lines)
	acptest.Read(a.stdout, func(l agentLine, err error) {
		if err == nil {
			a.lines <- l
		}
	})
}

func (a *agentProcess) send(line string, args ...any) {
	_, _ = fmt.Fprintf(a.stdin, line+"\n", args...)
}

// await reads lines until ok accepts one.
func (a *agentProcess) await(what string, ok func(agentLine) bool) agentLine {
	a.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case l, open := <-a.lines:
			require.True(a.t, open, "the program closed stdout; waiting for %s", what)
			if ok(l) {
				return l
			}
		case <-limit:
			require.FailNow(a.t, "no "+what)
		}
	}
}

func (a *agentProcess) response(id int) agentLine {
	a.t.Helper()
	return a.await(fmt.Sprintf("response to request %d", id), func(l agentLine) bool {
		return l.Method == "" && string(l.ID) == strconv.Itoa(id)
	})
}

func (a *agentProcess) initialize() agentLine {
	a.t.Helper()
	a.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	return a.response(1)
}

// begin opens a session.
func (a *agentProcess) begin() {
	a.t.Helper()
	a.initialize()
	a.send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, a.dir)
	var result struct{ SessionID string }
	answer := a.response(2)
	require.NoError(a.t, json.Unmarshal(answer.Result, &result), answer.Raw)
	a.session = result.SessionID
}

// prompt begins the turn with the id 3.
func (a *agentProcess) prompt(text string) {
	a.send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, a.session, text)
}

func (a *agentProcess) awaitText(part string) {
	a.t.Helper()
	a.await(part, func(l agentLine) bool { return strings.Contains(l.Raw, part) })
}

// awaitEnd checks that the program ends in time.
func (a *agentProcess) awaitEnd() {
	a.t.Helper()
	select {
	case <-a.exited:
	case <-time.After(patience):
		require.FailNow(a.t, "the program does not end", "in %v", patience)
	}
}

// awaitFile waits until a file in the session's directory has lines, and returns
// them.
func (a *agentProcess) awaitFile(name string) []string {
	a.t.Helper()
	var lines []string
	require.Eventually(a.t, func() bool {
		data, _ := os.ReadFile(filepath.Join(a.dir, name))
		lines = strings.Fields(string(data))
		return len(lines) > 0
	}, patience, time.Millisecond)
	return lines
}

// requireGone checks that the processes in a file have ended; a killed one that
// nobody has waited for yet counts.
func (a *agentProcess) requireGone(name string) {
	a.t.Helper()
	for _, line := range a.awaitFile(name) {
		pid, err := strconv.Atoi(line)
		require.NoError(a.t, err)
		require.Eventually(a.t, func() bool {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ")
		}, 5*time.Second, time.Millisecond, "process %d of %s lives", pid, name)
	}
}

// noise has droid write 3,000 lines that are no messages, of 100 bytes each:
// more than a pipe takes.
const noise = `i=0; while [ $i -lt 3000 ]; do echo "NOISE-SECRET $i 2345678901234567890123456789012345678901234567890123456789012345678901234567890"; i=$((i+1)); done`

// An editor that does not read stderr is served like any other: requests are
// answered, a cancel is heard, the end is obeyed.
func TestNobodyReadsStderr(t *testing.T) {
	for _, level := range []string{"", "debug"} {
		for name, end := range map[string]func(*agentProcess){
			"EOF":     func(a *agentProcess) { _ = a.stdin.Close() },
			"SIGTERM": func(a *agentProcess) { _ = a.cmd.Process.Signal(syscall.SIGTERM) },
		} {
			t.Run(level+" "+name, func(t *testing.T) {
				t.Parallel()
				var args []string
				if level != "" {
					args = []string{"--log-level", level}
				}
				a := startAgent(t, noise, nil, args...)
				a.begin()
				a.prompt("hello")
				a.awaitText("session/request_permission")
				a.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, a.session)
				require.Contains(t, string(a.response(3).Result), `"cancelled"`)
				end(a)
				a.awaitEnd()
			})
		}
	}
}

// A log file that does not open is a usage error, not a program that hangs.
func TestLogFileIsAPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	a := startAgent(t, "", nil, "--log-file", pipe)
	text, err := io.ReadAll(a.stderr)
	require.NoError(t, err)
	a.awaitEnd()
	require.Equal(t, exitUsage, a.cmd.ProcessState.ExitCode())
	require.Contains(t, string(text), "is it a pipe that nobody reads")
	file, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// What droid writes to stderr, or to stdout by mistake, may be part of an answer: the log has its length, not its content. The user is
// shown why droid ended.
func TestLogHoldsNothingOfDroids(t *testing.T) {
	t.Parallel()
	a := startAgent(t, `echo 'STDERR-SECRET' >&2; echo '{"text":"STDOUT-SECRET", }'; echo STDOUT-SECRET`, nil, "--log-level", "debug", "--log-file", "log")
	a.begin()
	a.prompt("hello")
	a.awaitText("session/request_permission")
	pid, err := strconv.Atoi(a.awaitFile("pids")[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Contains(t, a.response(3).Raw, "STDERR-SECRET", "the user is told")
	require.NoError(t, a.stdin.Close())
	text, err := io.ReadAll(a.stderr)
	require.NoError(t, err)
	a.awaitEnd()
	log, err := os.ReadFile(filepath.Join(a.dir, "log"))
	require.NoError(t, err)
	for where, text := range map[string]string{"stderr": string(text), "the log file": string(log)} {
		require.NotContains(t, text, "SECRET", where)
		require.Contains(t, text, "no message", where)
		require.Contains(t, text, "SIGKILL", where)
		require.Regexp(t, `"stderrLines": ?1\b`, text, where)
	}
	require.Contains(t, string(log), `"at":26`, "where a line is broken")
	require.Contains(t, string(log), `"bytes":13`)
}

// Of thousands of invalid lines a few are logged, then their number.
func TestNoiseIsToldInBrief(t *testing.T) {
	t.Parallel()
	a := startAgent(t, noise, nil, "--log-level", "debug", "--log-file", "log")
	a.begin()
	require.NoError(t, a.stdin.Close())
	a.awaitEnd()
	log, err := os.ReadFile(filepath.Join(a.dir, "log"))
	require.NoError(t, err)
	require.Equal(t, 20, strings.Count(string(log), "droid wrote a line that is no message"))
	require.Equal(t, 1, strings.Count(string(log), "further ones are only counted"))
	require.Contains(t, string(log), `"noMessages":3000`)
}

// Where HOME is not set the user's entry in the system's list says it, to droid
// too.
func TestHomeIsFoundWithoutHOME(t *testing.T) {
	me, err := user.Current()
	require.NoError(t, err)
	for _, unset := range []string{"HOME", "HOME="} {
		t.Run(unset, func(t *testing.T) {
			t.Parallel()
			store := "FACTORY_HOME_OVERRIDE=" + t.TempDir() // nothing is written into the real home
			a := startAgent(t, `echo "$HOME" > home`, []string{unset, store})
			a.begin()
			require.Equal(t, []string{me.HomeDir}, a.awaitFile("home"))
		})
	}
}

// Without a home the agent still says what it is and can do; whatever needs droid's
// store says what is missing.
func TestInitializeNeedsNoHome(t *testing.T) {
	for name, env := range map[string][]string{
		"override": {"FACTORY_HOME_OVERRIDE=relative/dir"},
		"HOME":     {"HOME=relative/dir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startAgent(t, "", env)
			require.NotEmpty(t, a.initialize().Result)
			for id, call := range map[int]string{
				2: `"session/list","params":{}`,
				3: `"session/delete","params":{"sessionId":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`,
			} {
				a.send(`{"jsonrpc":"2.0","id":%d,"method":%s}`, id, call)
				answer := a.response(id).Raw
				require.Contains(t, answer, "relative/dir")
				require.Contains(t, answer, "absolute path")
			}
		})
	}
}

// A reader of the first lines only ("| head") gets no error message. Here nothing is read at all, so that the test does not depend on
// timing.
func TestReaderThatLeaves(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for args, code := range map[string]int{
		"help": exitOK, "--help": exitOK, "smoke --help": exitOK, "--version": exitOK, "version": exitOK, "man": exitOK,
		"completion bash": exitOK, "trust": exitOK, "doctor": exitFailed, "doctor --json": exitFailed, "smoke --demo": exitFailed,
	} {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		var stderr bytes.Buffer
		cmd := exec.Command(self, strings.Fields(args)...)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"GORACE=atexit_sleep_ms=0", envProgram + "=1", "HOME=" + cmd.Dir, "PATH=" + cmd.Dir}
		cmd.Stdout, cmd.Stderr = write, &stderr
		_ = cmd.Run() // how it ended is in ProcessState
		require.NoError(t, write.Close())
		require.Empty(t, stderr.String(), args)
		require.Equal(t, code, cmd.ProcessState.ExitCode(), args)
	}
}
