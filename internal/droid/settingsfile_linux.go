package droid

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openPrivateFile puts the data into memory: it may hold secrets, and a file on the
// disk would stay behind if this program were killed. droid and the droids that it
// starts read it by a path under our own process, which lives longer than they do.
func openPrivateFile(what string, data []byte) (*privateFile, error) {
	fd, err := unix.MemfdCreate("droid-acp-"+what, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "droid-acp-"+what)
	s := &privateFile{
		path: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd),
		replace: func(data []byte) error {
			if err := f.Truncate(0); err != nil {
				return err
			}
			_, err := f.WriteAt(data, 0)
			return err
		},
		close: func() { f.Close() }, // it is only in memory
	}
	if err = f.Chmod(0o600); err == nil {
		err = s.replace(data)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}
