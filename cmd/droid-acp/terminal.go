package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/term"

	"droid-acp/internal/text/paths"
)

// printUsageHint explains the program to a user who has started it in a terminal instead of by an editor.
func printUsageHint(stderr io.Writer) {
	self := "droid-acp"
	if typed := os.Args[0]; typed != filepath.Base(typed) {
		self = paths.ShellQuote(typed) // it may not be in the PATH
	}
	fmt.Fprintf(stderr, `This is droid-acp %s.
It puts Factory's droid into editors that speak the Agent Client Protocol, and
such an editor starts it: it waits now for an editor's lines on this terminal.
Ctrl-C ends it. To try it by hand:

  look for what keeps droid from working:
    %[2]s doctor
  watch a conversation; needs no droid and no login:
    %[2]s smoke --demo --permissions allow "Add a greeting"
  log in to Factory:
    %[2]s login

`, version(), self)
}

// onTerminal reports whether a stream is a terminal.
func onTerminal(stream any) bool {
	return withFd(stream, func(fd uintptr) bool { return term.IsTerminal(int(fd)) })
}

// colours reports whether output to w may be coloured: on a terminal that supports it, unless the user disables it (https://no-color.org).
func colours(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && withFd(w, func(fd uintptr) bool {
		return term.IsTerminal(int(fd)) && supportsColours(fd)
	})
}

// withFd calls f with the descriptor of a file; for anything else it returns false.
func withFd(w any, f func(fd uintptr) bool) (ok bool) {
	file, isFile := w.(*os.File)
	if !isFile {
		return false
	}
	conn, err := file.SyscallConn() // unlike Fd it does not change the mode of the file
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) { ok = f(fd) })
	return err == nil && ok
}

// columns returns the width of w, 0 if unknown.
func columns(w io.Writer) (n int) {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil {
		return n
	}
	withFd(w, func(fd uintptr) bool {
		n, _, _ = term.GetSize(int(fd)) // 0 if it is not a terminal
		return true
	})
	return n
}
