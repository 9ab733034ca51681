//go:build unix

package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// enableColours returns true: terminals on Unix interpret colour sequences.
func enableColours(uintptr) bool { return true }

// readerHasGone reports whether a write failed because the other end of the pipe or socket is closed.
func readerHasGone(err error) bool { return errors.Is(err, unix.EPIPE) }
