package droid

import "golang.org/x/sys/unix"

// hasChildren looks for a descendant of pid in another process group than pid's.
func hasChildren(pid int) bool {
	own, err := unix.Getpgid(pid)
	if err != nil {
		return false // it has ended
	}
	for _, r := range descendants(pid) {
		if r.group != own {
			return true
		}
	}
	return false
}
