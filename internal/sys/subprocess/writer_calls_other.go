//go:build !linux

package subprocess

import "syscall"

const hasWriteNow = false

func writeNow(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.EINVAL }
