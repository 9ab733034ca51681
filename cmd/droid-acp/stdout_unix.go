//go:build unix

package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// supportsColours returns true: terminals on Unix do.
func supportsColours(uintptr) bool { return true }

// readerHasGone reports whether a write failed because the other end of the pipe or socket is closed.
func readerHasGone(err error) bool { return errors.Is(err, unix.EPIPE) }
