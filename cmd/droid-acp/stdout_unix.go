//go:build unix

package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// supportsColours: a terminal does.
func supportsColours(uintptr) bool { return true }

// readerHasGone: a write failed because nobody reads the pipe or the socket any more.
func readerHasGone(err error) bool { return errors.Is(err, unix.EPIPE) }
