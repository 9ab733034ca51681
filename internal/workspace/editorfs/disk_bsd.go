//go:build darwin || freebsd || netbsd

package editorfs

import (
	"syscall"
	"time"
)

func ctime(stat *syscall.Stat_t) time.Time { return time.Unix(stat.Ctimespec.Unix()) }
