package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// converse has a turn with a permission, which it gives.
func (a *agentProcess) converse() {
	a.t.Helper()
	a.prompt("größer 🙂")
	ask := a.await("session/request_permission", func(l agentLine) bool { return l.Method == "session/request_permission" })
	a.send(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"proceed_once"}}}`, ask.ID)
	require.Contains(a.t, a.response(3).Raw, `"end_turn"`)
}

// open asks for a session and returns the response.
func (a *agentProcess) open(id int) string {
	a.t.Helper()
	a.send(`{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, id, a.dir)
	return a.response(id).Raw
}

// At 32 descriptors a session works. The one for which they do not suffice says so, and those that are open work on.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	a := startUnder(t, []string{"sh", "-c", `ulimit -n 32; exec "$@"`, "sh"}, "", nil)
	a.begin()
	a.converse()
	id, answer := 10, ""
	for ; id < 20 && !strings.Contains(answer, `"error"`); id++ {
		answer = a.open(id)
	}
	require.Contains(t, answer, "too many open files")
	require.Contains(t, answer, "Close sessions, or allow more open files")
	require.NotContains(t, answer, "--version")
	a.converse()
	require.NoError(t, a.stdin.Close())
	a.awaitEnd()
	a.requireGone("pids")
}

// inNamespace returns a command that runs another one in a new mount namespace, after a script.
func inNamespace(t *testing.T, script string) []string {
	t.Helper()
	unshare := []string{"unshare", "-rm", "sh", "-c", "mount --make-rprivate / && " + script + ` && exec "$@"`, "sh"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v: %s", err, out)
	}
	return unshare
}

// Without /proc a conversation works, and what droid has started ends with it.
func TestWithoutProc(t *testing.T) {
	t.Parallel()
	a := startUnder(t, inNamespace(t, "mount -t tmpfs none /proc"), "ls /proc > proc; echo done >> proc", nil)
	a.begin()
	a.converse()
	require.Equal(t, []string{"done"}, a.awaitFile("proc"))
	require.NoError(t, a.stdin.Close())
	a.awaitEnd()
	a.requireGone("pids")
}

// The real droid ends by SIGABRT without /proc (0.99.0, 0.225.2). The error names the cause.
func TestDroidNeedsProc(t *testing.T) {
	t.Parallel()
	a := startUnder(t, inNamespace(t, "mount -t tmpfs none /proc"), "kill -ABRT $$", nil)
	a.initialize()
	require.Contains(t, a.open(2), "droid cannot run without /proc, which is not mounted here. Mount it: `mount -t proc proc /proc`.")
}

// With a home that is read-only a conversation works. Other agents do not see the session, and the log says why.
func TestReadOnlyHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	mount := "mount --bind '" + home + "' '" + home + "' && mount -o remount,bind,ro '" + home + "'"
	a := startUnder(t, inNamespace(t, mount), "mkdir \"$HOME/x\" 2> refused", []string{"HOME=" + home}, "--log-file", "log")
	a.begin()
	a.converse()
	require.Contains(t, strings.Join(a.awaitFile("refused"), " "), "Read-only file system")
	a.send(`{"jsonrpc":"2.0","id":4,"method":"session/list","params":{}}`)
	require.Contains(t, a.response(4).Raw, `"sessions":[]`)
	require.NoError(t, a.stdin.Close())
	a.awaitEnd()
	log, err := os.ReadFile(filepath.Join(a.dir, "log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "read-only file system")
}

// A home that is not there, or goes while a session works, is made again.
func TestHomeIsRemoved(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	a := startAgent(t, "", []string{"HOME=" + home})
	a.begin()
	require.NoError(t, os.RemoveAll(home))
	a.converse()
	require.NotContains(t, a.open(10), `"error"`)
	a.send(`{"jsonrpc":"2.0","id":11,"method":"session/list","params":{}}`)
	require.Contains(t, a.response(11).Raw, `"sessions":[]`)
	require.Eventually(t, func() bool { _, err := os.Stat(home); return err == nil }, patience, 10*time.Millisecond) // what makes it runs in the background
}

// A droid for another processor is named as that, with both systems.
func TestDroidForAnotherProcessor(t *testing.T) {
	t.Parallel()
	a := startAgent(t, "", nil)
	other := byte(183) // EM_AARCH64
	if strings.HasPrefix(strings.TrimSpace(uname(t)), "aarch64") {
		other = 62
	}
	head := append([]byte("\x7fELF\x02\x01\x01\x00"), make([]byte, 56)...)
	head[16], head[18], head[20], head[52], head[54], head[58] = 2, other, 1, 64, 56, 64
	script := filepath.Join(a.dir, "droid")
	require.NoError(t, os.Remove(script))
	require.NoError(t, os.WriteFile(script, head, 0o700))
	a.initialize()
	answer := a.open(2)
	require.Contains(t, answer, "is a program for linux/")
	require.Contains(t, answer, "Install the droid for this system.")
}

func uname(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("uname", "-m").Output()
	require.NoError(t, err)
	return string(out)
}

// Texts are UTF-8 in any locale: what droid gets and what the editor gets.
func TestLocaleIsC(t *testing.T) {
	t.Parallel()
	a := startAgent(t, `$DROID | tee said; exit`, []string{"LC_ALL=C", "LANG=C"})
	a.begin()
	a.prompt("größer 🙂")
	a.awaitText("Always”")
	require.NoError(t, a.stdin.Close())
	a.awaitEnd()
	said, err := os.ReadFile(filepath.Join(a.dir, "said"))
	require.NoError(t, err)
	require.Contains(t, string(said), "größer 🙂", "droid repeats the prompt")
}

// The session's directory is removed while it works. droid goes on; one that must be started again is not, and the error names the directory.
func TestDirectoryIsRemoved(t *testing.T) {
	t.Parallel()
	a := startAgent(t, "", nil)
	home := a.dir
	a.dir = filepath.Join(home, "project")
	require.NoError(t, os.Mkdir(a.dir, 0o700))
	a.begin()
	require.NoError(t, os.Remove(a.dir))
	a.converse()
	gone := a.dir
	a.dir = home
	for _, line := range a.awaitFile("pids") {
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		_ = syscall.Kill(pid, syscall.SIGKILL) // one that started for nobody may have ended
	}
	a.prompt("again")
	answer := a.response(3).Raw
	for !strings.Contains(answer, "Create this directory again") { // the prompt may have been sent before the end was seen
		require.Contains(t, answer, "droid_crashed")
		a.prompt("again")
		answer = a.response(3).Raw
	}
	require.Contains(t, answer, gone)
	require.NotContains(t, answer, "--version")
}

// A line of 300 MB, which no droid writes, is passed over, and the log has its length.
func TestLineOf300MB(t *testing.T) {
	t.Parallel()
	a := startAgent(t, `head -c 300000000 /dev/zero | tr '\0' x; echo`, nil, "--log-file", "log")
	a.begin()
	a.converse()
	require.NoError(t, a.stdin.Close())
	a.awaitEnd()
	log, err := os.ReadFile(filepath.Join(a.dir, "log"))
	require.NoError(t, err)
	require.Contains(t, string(log), `"bytes":300000001`)
}

// TestSuspend checks that messages which the editor sends while the machine sleeps, which stops the agent and droid, are processed after it
// wakes up.
func TestSuspend(t *testing.T) {
	t.Parallel()
	a := startAgent(t, "", nil)
	a.begin()
	stopped := []int{a.cmd.Process.Pid}
	for _, line := range a.awaitFile("pids") {
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		stopped = append(stopped, pid)
	}
	for _, pid := range stopped {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	a.prompt("hello")
	for _, pid := range stopped {
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	}
	a.awaitText("session/request_permission")
	require.NoError(t, a.stdin.Close())
	a.awaitEnd()
	a.requireGone("pids")
}

// An editor that reads no stderr is served though not one line of the log can be written.
func TestStderrIsFull(t *testing.T) {
	t.Parallel()
	a := startUnder(t, []string{"sh", "-c", `head -c 65536 /dev/zero >&2; exec "$@"`, "sh"}, noise, nil, "--log-level", "debug")
	a.begin()
	a.converse()
	require.NoError(t, a.stdin.Close())
	a.awaitEnd()
	a.requireGone("pids")
}

// Two agents that are given one trace both record in it, each under its process id.
func TestTraceOfTwoAgents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace")
	one, other := startAgent(t, "", nil, "--trace", path), startAgent(t, "", nil, "--trace", path)
	for _, a := range []*agentProcess{one, other} {
		a.begin()
	}
	for _, a := range []*agentProcess{one, other} {
		a.converse()
		require.NoError(t, a.stdin.Close())
		a.awaitEnd()
	}
	shown := command("", "trace", path)
	require.Equal(t, 0, shown.code, shown.stderr)
	require.NotContains(t, shown.stdout, "Missing")
	for _, a := range []*agentProcess{one, other} {
		require.Regexp(t, fmt.Sprintf("editor → agent %d +session/prompt 3 ", a.cmd.Process.Pid), shown.stdout)
	}
}
