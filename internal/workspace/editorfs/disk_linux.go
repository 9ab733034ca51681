package editorfs

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func ctime(stat *syscall.Stat_t) time.Time { return time.Unix(stat.Ctim.Unix()) }

// plainFile returns an error if a file has attributes that a new file would lose. Those of the kernel's security modules are assigned to
// new files, too.
func plainFile(file *os.File) error {
	names := make([]byte, 4096)
	n, err := unix.Flistxattr(int(file.Fd()), names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	if err != nil {
		return errExtras
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		if name != "" && !strings.HasPrefix(name, "security.") {
			return errExtras
		}
	}
	return nil
}

// defaultAttributes returns an error if new files in a directory get an access list.
func defaultAttributes(dir string) error {
	if _, err := unix.Getxattr(dir, "system.posix_acl_default", nil); err == nil {
		return errExtras
	}
	return nil
}
