//go:build unix

package subprocess

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// kinOf starts a program that starts script in a new session, as droid does, and finds it.
func kinOf(t *testing.T, script string) (h held, leader int, kin *ProcessGroup) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	h = startHeld(t, Command{Tree: true}, "exec 3<&0; setsid sh -c '"+script+"' <&3 & sleep 1000")
	leader, err := strconv.Atoi(h.line(t))
	require.NoError(t, err)
	kin, err = h.DescendantGroup(leader)
	require.NoError(t, err)
	require.NotNil(t, kin)
	require.True(t, kin.Runs())
	return h, leader, kin
}

// A group ends as a whole, also what ignores a polite signal, and what its leader has left behind.
func TestProcessGroupStops(t *testing.T) {
	for name, script := range map[string]string{
		"polite":     "sleep 1000 & echo $$; wait",
		"stubborn":   `trap "" TERM; sleep 1000 & echo $$; wait; wait`,
		"left alone": "sleep 1000 & echo $$; read -r go",
	} {
		t.Run(name, func(t *testing.T) {
			h, leader, kin := kinOf(t, script)
			if name == "left alone" {
				_, err := h.Stdin.WriteString("go\n")
				require.NoError(t, err)
				require.Eventually(t, func() bool { r, err := processOf(leader); return err != nil || r.dead }, 5*time.Second, time.Millisecond)
				require.True(t, kin.Runs())
			}
			require.True(t, kin.End(100*time.Millisecond))
			require.False(t, kin.Runs())
			require.False(t, groupHasMembers(leader))
			require.NoError(t, h.Kill())
		})
	}
}

// Only the leader of a group below the program has a DescendantGroup: not the program itself, what is in its group, a
// stranger.
func TestNoDescendantGroup(t *testing.T) {
	h := startHeld(t, Command{Tree: true}, "sleep 1000 & echo $!; wait")
	inside, err := strconv.Atoi(h.line(t))
	require.NoError(t, err)
	for _, id := range []int{inside, h.ID(), os.Getpid(), os.Getppid(), 1, 0, -1} {
		kin, err := h.DescendantGroup(id)
		require.NoError(t, err)
		require.Nil(t, kin, id)
	}
}

// A process that got the id of one that has ended is left alone.
func TestReusedGroupIDIsAnotherGroup(t *testing.T) {
	_, leader, kin := kinOf(t, "echo $$; exec sleep 1000")
	later := &ProcessGroup{id: leader, started: kin.started + 1}
	require.False(t, later.Runs())
	require.True(t, later.End(0))
	require.True(t, kin.Runs(), "nothing was sent to it")
}

// A group is known again by its id and the time of its start, by a program that has not started it.
func TestGroupRunning(t *testing.T) {
	_, leader, kin := kinOf(t, "sleep 1000 & echo $$; read -r go")
	then := time.Now()
	for id, at := range map[int]time.Time{leader: then.Add(-time.Hour), 0: then, 1: then, -1: then, os.Getpid() + 1<<22: then} {
		runs, err := GroupRunning(id, at)
		require.NoError(t, err)
		require.False(t, runs, "%d", id)
	}
	runs, err := GroupRunning(leader, then.Add(time.Hour))
	require.NoError(t, err)
	require.False(t, runs, "it was there before")
	runs, err = GroupRunning(leader, then)
	require.NoError(t, err)
	require.True(t, runs)
	require.NoError(t, unix.Kill(leader, unix.SIGKILL))
	require.Eventually(t, func() bool { r, err := processOf(leader); return err != nil || r.dead }, 5*time.Second, time.Millisecond)
	runs, err = GroupRunning(leader, then)
	require.NoError(t, err)
	require.True(t, runs, "what it has left behind")
	require.True(t, kin.End(0))
	runs, err = GroupRunning(leader, then)
	require.NoError(t, err)
	require.False(t, runs)
}
