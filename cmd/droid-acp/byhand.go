package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"droid-acp/internal/text/paths"
)

// sayByHand tells who has started the program in a terminal, and not by an editor, what
// it is.
func sayByHand(stderr io.Writer) {
	self := "droid-acp"
	if typed := os.Args[0]; typed != filepath.Base(typed) {
		self = paths.Word(typed) // it may not be in the PATH
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
