//go:build linux || darwin

package hooks

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// listenInDir opens a socket in a new directory that only this user can enter. A
// program that is killed leaves it behind, empty of anything but the socket.
func listenInDir() (*net.UnixListener, func(), error) {
	dir, err := os.MkdirTemp("", "droid-acp-")
	if err != nil {
		return nil, nil, fmt.Errorf("no socket for the hooks: %w", err)
	}
	remove := func() { _ = os.RemoveAll(dir) } // nothing can be done where that fails
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("no socket for the hooks (a long path in $TMPDIR is a reason): %w", err)
	}
	return socket, remove, nil
}

// sameUser is an error unless the process at the other end runs as this user.
func sameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	uid, ask := -1, error(nil)
	if err = raw.Control(func(fd uintptr) { uid, ask = peerUser(int(fd)) }); err == nil {
		err = ask
	}
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("user %d is at the other end, not %d", uid, os.Geteuid())
	}
	return err
}
