package child

import (
	"fmt"
	"os"
	"syscall"
)

// Peer refuses a process of another user at the other end of a Unix socket: who connected, or who began to listen.
// It returns the process id, 0 where the system does not tell it.
func Peer(socket syscall.Conn) (process int, err error) {
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
