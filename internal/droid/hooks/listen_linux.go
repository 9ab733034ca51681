package hooks

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
)

// listen opens a socket that has no file: nothing is left of it when we are killed.
func listen() (*net.UnixListener, func(), error) {
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@droid-acp-" + rand.Text(), Net: "unix"})
	if err != nil {
		return nil, nil, fmt.Errorf("no socket for the hooks: %w", err)
	}
	return socket, func() {}, nil
}

// programPath is our own program. This path works also when an upgrade has put another
// file in its place.
func programPath() (string, error) { return fmt.Sprintf("/proc/%d/exe", os.Getpid()), nil }
