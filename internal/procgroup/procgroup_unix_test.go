//go:build unix

package procgroup

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(envOwner) != "" {
		ownAndWait()
	}
	goleak.VerifyTestMain(m)
}

// held is a command whose processes hold a pipe open: the pipe ends with the last of
// them, so that a test can wait for that.
type held struct {
	*exec.Cmd
	lines *bufio.Reader
}

func startHeld(t *testing.T, g *Group, script string) held {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = read.Close() })
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout = write
	err = g.Start(cmd)
	_ = write.Close()
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return held{cmd, bufio.NewReader(read)}
}

func (h held) line(t *testing.T) string {
	t.Helper()
	line, err := h.lines.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// allGone waits until no process of the command lives.
func (h held) allGone(t *testing.T) {
	t.Helper()
	_, err := io.Copy(io.Discard, h.lines)
	require.NoError(t, err)
}

func TestCloseKillsWhatTheCommandLeft(t *testing.T) {
	var g Group
	h := startHeld(t, &g, "trap '' TERM HUP; sleep 1000 & echo begun")
	require.Equal(t, "begun", h.line(t))
	require.NoError(t, h.Wait())
	g.Close()
	h.allGone(t)
	g.Close() // once more
}

func TestCloseKillsTheCommand(t *testing.T) {
	var g Group
	h := startHeld(t, &g, "trap '' TERM HUP; echo begun; sleep 1000; sleep 1000")
	require.Equal(t, "begun", h.line(t))
	g.Close()
	require.ErrorContains(t, h.Wait(), "killed")
	h.allGone(t)
}

// The guard must not end with the group that it guards: a process that ignores the
// request would be left.
func TestTerminateAsksAllButTheGuard(t *testing.T) {
	var g Group
	h := startHeld(t, &g, "(trap '' TERM; echo begun; sleep 1000; sleep 1000) & wait")
	require.Equal(t, "begun", h.line(t))
	require.NoError(t, g.Terminate())
	require.ErrorContains(t, h.Wait(), "terminated")
	require.NoError(t, g.guard.Process.Signal(syscall.Signal(0)), "the guard lives")
	g.Close()
	h.allGone(t)
}

func TestTerminateWithoutAGroup(t *testing.T) {
	var g Group
	require.ErrorIs(t, g.Terminate(), os.ErrProcessDone)
	g.Close()
	h := startHeld(t, &g, "true")
	require.NoError(t, h.Wait())
	g.Close()
	require.ErrorIs(t, g.Terminate(), os.ErrProcessDone)
}

// A command that does not start leaves no guard.
func TestStartFails(t *testing.T) {
	var g Group
	require.Error(t, g.Start(exec.Command("/no/such/program")))
	require.Nil(t, g.guard)
	t.Setenv("PATH", t.TempDir())
	require.ErrorContains(t, g.Start(&exec.Cmd{Path: "/bin/sh"}), "starting the guard")
	require.Nil(t, g.guard)
}

// envOwner makes the test program one that starts a group and waits.
const envOwner = "PROCGROUP_TEST_OWNER"

func ownAndWait() {
	var g Group
	cmd := exec.Command("sh", "-c", "trap '' TERM HUP; sleep 1000 & echo begun; wait")
	cmd.Stdout = os.Stdout
	if err := g.Start(cmd); err != nil {
		panic(err)
	}
	_ = cmd.Wait()
	os.Exit(0)
}

// All of the group ends when its owner is killed and can do nothing about it.
func TestGroupEndsWithItsOwner(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), envOwner+"=1")
	owner.Stdout = write
	err = owner.Start()
	_ = write.Close()
	require.NoError(t, err)
	h := held{owner, bufio.NewReader(read)}
	require.Equal(t, "begun", h.line(t))
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	h.allGone(t)
}
