//go:build !linux

package child

import "syscall"

const has = false

func writeNow(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.EINVAL }
