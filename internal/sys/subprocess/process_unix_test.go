//go:build unix

package subprocess

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(envOwner) != "" {
		ownAndWait()
	}
	goleak.VerifyTestMain(m)
}

// held is a program whose processes hold its stdout open: that ends with the last of
// them, so that a test can wait for that.
type held struct {
	*Process
	lines *bufio.Reader
}

func startHeld(t *testing.T, c Command, script string) held {
	t.Helper()
	c.Path, c.Args = "sh", []string{"-c", script}
	p, err := Start(c)
	require.NoError(t, err)
	late := time.AfterFunc(time.Minute, func() { _ = p.Stdout.Close() })
	t.Cleanup(func() {
		late.Stop()
		_ = p.Kill()
		<-p.AllExited()
		p.Exit(0)
		closeAll([]*os.File{p.Stdin})
		_ = p.Stdout.Close()
	})
	return held{p, bufio.NewReader(p.Stdout)}
}

func (h held) line(t *testing.T) string {
	t.Helper()
	line, err := h.lines.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// allGone waits until no process of the program lives.
func (h held) allGone(t *testing.T) {
	t.Helper()
	_, err := io.Copy(io.Discard, h.lines)
	require.NoError(t, err)
}

func TestWhatIsLeftEnds(t *testing.T) {
	t.Parallel()
	for _, tree := range []bool{false, true} {
		h := startHeld(t, Command{Tree: tree}, "trap '' TERM HUP; sleep 1000 & echo begun; echo last words >&2; exit 3")
		require.Equal(t, "begun", h.line(t))
		h.allGone(t)
		<-h.AllExited()
		require.Equal(t, Exit{Code: 3, Text: "exit status 3", Stderr: []string{"last words"}, LineCount: 1}, h.Exit(time.Minute))
		require.ErrorIs(t, h.Process.Terminate(), os.ErrProcessDone)
		require.ErrorIs(t, h.Process.Kill(), os.ErrProcessDone)
	}
}

func TestKill(t *testing.T) {
	for _, tree := range []bool{false, true} {
		h := startHeld(t, Command{Tree: tree}, "trap '' TERM HUP; echo begun; sleep 1000; sleep 1000")
		require.Equal(t, "begun", h.line(t))
		require.NoError(t, h.Kill())
		exit := h.Exit(time.Minute)
		require.Equal(t, Exit{Code: -1, Signal: "SIGKILL", Text: "signal: killed"}, exit)
		h.allGone(t)
	}
}

// The guard must not end with the group that it guards: a process that ignores the
// request would be left.
func TestTerminateAsksAllButTheGuard(t *testing.T) {
	h := startHeld(t, Command{}, "(trap '' TERM; echo begun; sleep 1000; sleep 1000) & wait")
	require.Equal(t, "begun", h.line(t))
	require.NoError(t, h.Terminate())
	require.Equal(t, "SIGTERM", h.Exit(time.Minute).Signal)
	h.allGone(t)
}

// Processes that a program with a tree starts after it was asked to end do not survive either, whatever their group.
func TestTreeEndsWithWhatStartsLate(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	h := startHeld(t, Command{Tree: true}, `trap 'setsid sleep 1000 & echo late; read -r end; exit 0' TERM; echo begun; while :; do sleep 0.01; done`)
	require.Equal(t, "begun", h.line(t))
	require.NoError(t, h.Terminate())
	require.Equal(t, "late", h.line(t))
	require.Eventually(t, func() bool { // the process of the loop, setsid's and no other
		h.group.mu.Lock()
		defer h.group.mu.Unlock()
		for _, r := range h.group.descendants {
			if r.group == r.pid {
				return true
			}
		}
		return false
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, h.Stdin.Close())
	h.allGone(t)
	require.Zero(t, h.Exit(time.Minute).Code)
}

// A process that forks during the search is found, too.
func TestTreeEndsWhatForks(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	h := startHeld(t, Command{Tree: true}, `trap '' TERM; setsid sh -c 'echo begun; i=0; while [ $i -lt 400 ]; do sleep 1000 & i=$((i+1)); done; wait'; sleep 1000`)
	require.Equal(t, "begun", h.line(t))
	require.True(t, h.HasEscaped())
	require.NoError(t, h.Kill())
	h.allGone(t)
}

// A program that does not start leaves no guard.
func TestStartFails(t *testing.T) {
	_, err := Start(Command{Path: "/no/such/program"})
	var file *fs.PathError
	require.ErrorAs(t, err, &file)
	_, err = Start(Command{Path: "no such program"})
	require.ErrorIs(t, err, ErrNotFound)
}

// If there is no shell for the guard of a group, a program still runs.
func TestProgramRunsWithoutAGuard(t *testing.T) {
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	t.Setenv("PATH", t.TempDir())
	for _, tree := range []bool{false, true} {
		exit, err := Run(t.Context(), Command{Path: shell, Args: []string{"-c", "exit 4"}, Tree: tree}, io.Discard, 0)
		require.NoError(t, err)
		require.Equal(t, 4, exit.Code)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		exit, err = Run(ctx, Command{Path: shell, Args: []string{"-c", "read x </dev/zero"}, Tree: tree}, io.Discard, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "SIGKILL", exit.Signal)
		cancel()
	}
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	exit, err := Run(t.Context(), Command{Path: "sh", Args: []string{"-c", "cat; echo out; echo err >&2; exit 1"}}, &out, 0)
	require.NoError(t, err)
	require.Equal(t, Exit{Code: 1, Text: "exit status 1", Stderr: []string{"err"}, LineCount: 1}, exit)
	require.Equal(t, "out\n", out.String())
}

// envOwner makes the test program one that starts a program and waits. It is a directory of the program's.
const envOwner = "CHILD_TEST_OWNER"

func ownAndWait() {
	p, err := Start(Command{
		Path: "sh", Args: []string{"-c", "trap '' TERM HUP; sleep 1000 <&- >&2 & echo begun >&2; wait"},
		RemoveOnDeath: []string{os.Getenv(envOwner)},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("started", p.ID())
	_, _ = io.Copy(os.Stdout, p.Stdout)
	<-p.AllExited()
	os.Exit(0)
}

// All of the group ends when its owner is killed and cannot act, and the program's private files are removed.
func TestGroupEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "-a b")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "c"), 0o700))
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), envOwner+"="+dir)
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	var pid int
	_, err = fmt.Fscanf(out, "started %d\n", &pid)
	require.NoError(t, err)
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return !groupHasMembers(group) && os.IsNotExist(err)
	}, 20*time.Second, 5*time.Millisecond)
}
