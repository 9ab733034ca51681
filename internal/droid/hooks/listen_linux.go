package hooks

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// listen opens a socket that has no file: nothing is left of it when we are killed.
func listen() (*net.UnixListener, func(), error) {
	name := make([]byte, 16)
	_, _ = rand.Read(name) // never fails: crypto/rand
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@droid-acp-" + hex.EncodeToString(name), Net: "unix"})
	if err != nil {
		return nil, nil, fmt.Errorf("no socket for the hooks: %w", err)
	}
	return socket, func() {}, nil
}

// programPath is our own program. This path works also when an upgrade has put another
// file in its place.
func programPath() (string, error) { return fmt.Sprintf("/proc/%d/exe", os.Getpid()), nil }

// peerUser is the user of the process at the other end: the one that connected, or
// the one that listens.
func peerUser(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	return int(cred.Uid), nil
}
