package subprocess

import "golang.org/x/sys/unix"

// peerOf returns the user and process ID at the other end of a Unix socket (unix(7), SO_PEERCRED). For a server it is the process that
// called listen; the ID is 0 for one in another namespace.
func peerOf(fd int) (user, process int, err error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(peer.Uid), int(peer.Pid), nil
}
