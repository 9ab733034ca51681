//go:build !linux

package child

import "syscall"

const hasWriteNow = false

func writeNow(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.EINVAL }
