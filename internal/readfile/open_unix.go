//go:build unix

package readfile

import "golang.org/x/sys/unix"

// openFlags keep opening a file that became a pipe or a terminal from waiting and
// from having an effect.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY
