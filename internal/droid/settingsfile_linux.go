package droid

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openSettingsFile puts the settings into memory: they may hold secrets, and a file
// on the disk would stay behind if this program were killed. droid and the droids that
// it starts read them by a path under our own process, which lives longer than they do.
func openSettingsFile(data []byte) (*settingsFile, error) {
	fd, err := unix.MemfdCreate("droid-acp-settings", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "droid-acp-settings")
	s := &settingsFile{
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
	if err := s.replace(data); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}
