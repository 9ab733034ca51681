//go:build unix && !linux

package droid

import (
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// HasChildren reports whether droid has processes of its own running, such as a
// command that it left in the background. An idle droid has none but its MCP
// servers, which do not count: they are in droid's process group, and tools are
// not (0.99 to 0.225). Where ps cannot tell, it may. Without a process it is false.
func (c *Client) HasChildren() bool {
	if c.proc == nil {
		return false
	}
	pid := c.proc.cmd.Process.Pid
	own, err := unix.Getpgid(pid)
	if err != nil {
		return false // it has ended
	}
	out, err := exec.Command("ps", "-axo", "ppid=,pgid=").Output()
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == strconv.Itoa(pid) && f[1] != strconv.Itoa(own) {
			return true
		}
	}
	return false
}
