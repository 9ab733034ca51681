package subprocess

import "golang.org/x/sys/unix"

// peerOf returns the user and process ID at the other end of a Unix socket (unix(4), LOCAL_PEERCRED and LOCAL_PEERPID). The process ID is 0
// if unavailable.
func peerOf(fd int) (user, process int, err error) {
	peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	process, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		process = 0
	}
	return int(peer.Uid), process, nil
}
