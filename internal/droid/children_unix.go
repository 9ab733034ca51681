//go:build unix && !linux

package droid

import (
	"os/exec"
	"strconv"
	"strings"
)

// HasChildren reports whether droid has processes of its own running, such as a
// command that it left in the background. An idle droid has none (0.99 to
// 0.225). Where ps cannot tell, it may. Without a process it is false.
func (c *Client) HasChildren() bool {
	if c.proc == nil {
		return false
	}
	out, err := exec.Command("ps", "-axo", "ppid=").Output()
	if err != nil {
		return true
	}
	pid := strconv.Itoa(c.proc.cmd.Process.Pid)
	for parent := range strings.FieldsSeq(string(out)) {
		if parent == pid {
			return true
		}
	}
	return false
}
