package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// colours reports whether what is written to w may be in colours: on a terminal that
// knows them, unless the user does not want any (https://no-color.org).
func colours(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && withFd(w, func(fd uintptr) bool {
		return term.IsTerminal(int(fd)) && heedsColours(fd)
	})
}

// withFd hands f the descriptor of a file; of what is none it returns false.
func withFd(w any, f func(fd uintptr) bool) (ok bool) {
	file, isFile := w.(*os.File)
	if !isFile {
		return false
	}
	conn, err := file.SyscallConn() // unlike Fd it leaves the mode of the file as it is
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) { ok = f(fd) })
	return err == nil && ok
}
