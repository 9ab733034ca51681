package keep

import "golang.org/x/sys/unix"

// peerOf is the user id of the process at the other end of a Unix socket (unix(7), SO_PEERCRED).
func peerOf(fd int) (int, error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}
