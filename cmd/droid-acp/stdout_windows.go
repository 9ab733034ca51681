package main

import (
	"errors"

	"golang.org/x/sys/windows"
)

// supportsColours has a console heed the sequences that colours are written with; one of
// before Windows 10 does not.
func supportsColours(fd uintptr) bool {
	console := windows.Handle(fd)
	var mode uint32
	if windows.GetConsoleMode(console, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// readerHasGone: a write failed because nobody reads the pipe any more.
func readerHasGone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
