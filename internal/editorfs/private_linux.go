package editorfs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// privateFile puts a text into memory, where a droid of this user can read it by a path under
// our own process. Nothing stays when this program is killed.
func privateFile(text string) (path string, remove func(), err error) {
	fd, err := unix.MemfdCreate("droid-acp-unsaved", unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "droid-acp-unsaved")
	if _, err := file.WriteString(text); err != nil {
		_ = file.Close()
		return "", nil, err
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), func() { _ = file.Close() }, nil
}
