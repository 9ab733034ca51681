//go:build unix

package fakelogin

import (
	"os/exec"
	"syscall"
)

// OpenBrowser opens an address as droid does on Linux: with xdg-open, in a new session.
func OpenBrowser(address string) {
	browser := exec.Command("xdg-open", address)
	browser.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if browser.Start() == nil {
		_ = browser.Process.Release() // it outlives this process
	}
}
