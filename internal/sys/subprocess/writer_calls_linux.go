package subprocess

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hasWriteNow = true

// writeNow writes p, which is not empty, at the file's position. It does not block even if the file is in blocking mode.
func writeNow(fd uintptr, p []byte) (int, syscall.Errno) {
	vector := unix.Iovec{Base: &p[0]}
	vector.SetLen(len(p))
	here := ^uintptr(0)
	n, _, errno := syscall.RawSyscall6(unix.SYS_PWRITEV2, fd, uintptr(unsafe.Pointer(&vector)), 1, here, here, unix.RWF_NOWAIT)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
