//go:build unix && !linux

package droid

import (
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hasChildren looks for a child of pid in another process group than pid's. Where
// ps cannot tell, there may be one.
func hasChildren(pid int) bool {
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
