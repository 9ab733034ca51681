package main

import (
	"errors"

	"golang.org/x/sys/windows"
)

// supportsColours makes a console interpret colour sequences; one before Windows 10 does not.
func supportsColours(fd uintptr) bool {
	console := windows.Handle(fd)
	var mode uint32
	if windows.GetConsoleMode(console, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// readerHasGone reports whether a write failed because the other end of the pipe is closed.
func readerHasGone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
