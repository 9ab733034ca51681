package subprocess

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The memory of a process includes that of what it has started, and what it has started.
func TestMemoryOfDescendants(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	cmd := exec.Command("sh", "-c", `sh -c 'x=$(head -c 30000000 /dev/zero | tr "\\0" x); echo ready; read line'; true`)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	cmd.Stdout = write
	require.NoError(t, cmd.Start())
	_, err = read.Read(make([]byte, 1))
	require.NoError(t, err)
	got, err := Memory([]int{cmd.Process.Pid})
	require.NoError(t, err)
	require.Greater(t, got, int64(30_000_000))
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	require.NoError(t, write.Close())
	got, err = Memory([]int{cmd.Process.Pid})
	require.NoError(t, err)
	require.Zero(t, got, "it has ended")
}
