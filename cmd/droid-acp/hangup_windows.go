package main

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// onHangup does nothing: here the next write tells that nobody reads any more.
func onHangup(*os.File, func()) {}

// readerHasGone: a write failed because nobody reads the pipe any more.
func readerHasGone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
