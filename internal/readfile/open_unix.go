//go:build unix

package readfile

import "golang.org/x/sys/unix"

// openFlags make sure that opening a file which became a pipe or a terminal neither
// waits nor has an effect.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY
