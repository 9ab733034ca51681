package hooks

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

func listen() (*net.UnixListener, func(), error) { return listenInDir() }

func programPath() (string, error) { return os.Executable() }

// peerUser is the user of the process at the other end: the one that connected, or
// the one that listens.
func peerUser(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	return int(cred.Uid), nil
}
