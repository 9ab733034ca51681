package subprocess

import (
	"fmt"
	"os"
	"syscall"
)

// CheckPeer returns the process ID at the other end of a Unix socket, 0 if the system does not provide it. The error means that the process
// belongs to another user, or that this is unknown. On a connection made by dial, it is the process that called listen.
func CheckPeer(socket syscall.Conn) (process int, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var user int
	var failed error
	if err := raw.Control(func(fd uintptr) { user, process, failed = peerOf(int(fd)) }); err != nil {
		return 0, err
	}
	switch {
	case failed != nil:
		return 0, fmt.Errorf("it is not known who is at the other end: %w", failed)
	case user != os.Geteuid():
		return 0, fmt.Errorf("the process at the other end is of user %d, and this one of %d", user, os.Geteuid())
	}
	return process, nil
}
