//go:build !linux

package nowait

import "syscall"

const has = false

func readNow(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.EINVAL }

func writeNow(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.EINVAL }
