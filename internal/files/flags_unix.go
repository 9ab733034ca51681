//go:build unix

package files

import "golang.org/x/sys/unix"

// noWait makes sure that opening a file which became a pipe or a terminal neither waits
// nor has an effect, and noFollow that one which became a symbolic link is not opened.
const (
	noWait   = unix.O_NONBLOCK | unix.O_NOCTTY
	noFollow = unix.O_NOFOLLOW
)
