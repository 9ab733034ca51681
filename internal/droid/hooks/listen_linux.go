package hooks

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
)

// listen opens a socket without a file: nothing remains if this process is killed.
func listen() (*net.UnixListener, func(), error) {
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@droid-acp-" + rand.Text(), Net: "unix"})
	if err != nil {
		return nil, nil, fmt.Errorf("no socket for the hooks: %w", err)
	}
	return socket, func() {}, nil
}

// programPath returns the path of this program. It is valid even after an upgrade has replaced the file.
func programPath() (string, error) { return fmt.Sprintf("/proc/%d/exe", os.Getpid()), nil }
