// Package keep connects an editor to the server that keeps agents alive while editors come and go. Its main type is StdioBridge, which
// stands between an editor and the server. The package also has the socket's path and its access checks (SocketPath, Listen), the start of
// a server (Starter), and the requests of the commands ps, stop and attach (Client). cmd/droid-acp calls it.
//
// It knows lines, requests and responses; nothing of droid or of sessions.
package keep

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"droid-acp/internal/sys/files"
)

// socketName is the file name of the socket.
const socketName = "serve.sock"

// SocketPath returns the path of the user's server socket: in the runtime directory ($XDG_RUNTIME_DIR) if that is set and belongs to the
// user, otherwise in state, this program's own directory. state may be "" for none.
func SocketPath(runtimeDir, state string) (string, error) {
	if filepath.IsAbs(runtimeDir) && runtime.GOOS != "windows" {
		if info, err := os.Stat(runtimeDir); err == nil && info.IsDir() && files.OwnedByUser(info) {
			return checkLength(filepath.Join(runtimeDir, "droid-acp", socketName))
		}
	}
	if state == "" {
		return "", fmt.Errorf("there is no directory for the server's socket: neither $XDG_RUNTIME_DIR nor $HOME is set; set one of them")
	}
	return checkLength(filepath.Join(state, "run", socketName))
}

// maxPath returns the maximum length of a socket's path, in bytes: sun_path has 108 on Linux and Windows and 104 on macOS, including the
// terminating zero.
func maxPath(goos string) int {
	if goos == "darwin" {
		return 103
	}
	return 107
}

func checkLength(path string) (string, error) {
	if most := maxPath(runtime.GOOS); len(path) > most {
		return "", fmt.Errorf("the path of the server's socket is too long: %s has %d bytes, and the system takes %d; set $XDG_RUNTIME_DIR to a directory of yours with a shorter path",
			path, len(path), most)
	}
	return path, nil
}

// makePrivate creates and checks the directory of the socket.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("there is no directory for the server's socket: %w", err)
	}
	return checkPrivate(dir)
}

// checkPrivate refuses a directory in which another user could create a socket, or reach ours.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory, so the server's socket cannot lie in it; remove it", dir)
	case !files.OwnedByUser(info):
		return fmt.Errorf("%s belongs to another user, who could read what is said over a socket in it; remove it, or set $XDG_RUNTIME_DIR to a directory of yours", dir)
	case isOpen(info):
		return fmt.Errorf("%s is open for other users, who could reach a socket in it; close it: chmod 700 %[1]s", dir)
	}
	return nil
}
