//go:build unix

package droid

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName names the signal that ended the process.
func signalName(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}
