// Command picture runs a command in a terminal and draws what it printed, as an SVG without
// scripts, fonts or requests, for light and dark pages.
//
//	go run ./scripts/picture FILE.svg COMMAND [ARGUMENT]...
//
// The command runs in an empty directory, which the picture calls ~/project.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/creack/pty"
)

// columns is how wide the terminal is.
const columns = 100

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: picture FILE.svg COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	if err := draw(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture: "+err.Error())
		os.Exit(1)
	}
}

func draw(file string, command []string) error {
	printed, err := run(command)
	if err != nil {
		return err
	}
	command[0] = filepath.Base(command[0])
	return os.WriteFile(file, []byte(svg(quoted(command), parse(printed, columns))), 0o644)
}

// run returns what a command prints on a terminal, with its directory called ~/project.
func run(command []string) (string, error) {
	path, err := filepath.Abs(command[0])
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "picture")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	child := exec.Command(path, command[1:]...)
	child.Dir = dir
	child.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	terminal, err := pty.StartWithSize(child, &pty.Winsize{Rows: 50, Cols: columns})
	if err != nil {
		return "", err
	}
	defer terminal.Close()
	printed, err := io.ReadAll(terminal)
	if err != nil && !errors.Is(err, syscall.EIO) { // which Linux says when the command has gone
		return "", err
	}
	if err := child.Wait(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, printed)
	}
	return strings.ReplaceAll(string(printed), dir, "~/project"), nil
}

// quoted is a command as one types it.
func quoted(words []string) string {
	typed := make([]string, len(words))
	for i, word := range words {
		typed[i] = word
		if strings.ContainsAny(word, " '\"$") {
			typed[i] = `"` + strings.NewReplacer(`"`, `\"`, `$`, `\$`).Replace(word) + `"`
		}
	}
	return strings.Join(typed, " ")
}
