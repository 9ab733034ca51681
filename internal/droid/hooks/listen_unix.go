//go:build linux || darwin

package hooks

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// listenInDir opens a socket in a new directory that only this user can enter. A killed process leaves the directory with the socket.
func listenInDir() (*net.UnixListener, func(), error) {
	dir, err := os.MkdirTemp("", "droid-acp-")
	if err != nil {
		return nil, nil, fmt.Errorf("no socket for the hooks: %w", err)
	}
	remove := func() { _ = os.RemoveAll(dir) } // a failure cannot be handled
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("no socket for the hooks (a long path in $TMPDIR is a reason): %w", err)
	}
	return socket, remove, nil
}
