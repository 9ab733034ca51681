package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// isKernelFile reports whether a file is on a virtual file system of the kernel, wherever that is mounted.
func isKernelFile(file *os.File) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(int(file.Fd()), &fs) != nil {
		return true // unknown, so assume the worst
	}
	switch int64(fs.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC,
		unix.SELINUX_MAGIC, unix.DEVPTS_SUPER_MAGIC:
		return true
	}
	return false
}
