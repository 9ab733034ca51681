//go:build unix

package droid

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// startTool runs a tool as droid does: in a session of its own.
func startTool(inherit bool) {
	cmd := toolCommand()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if inherit {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

func toolCommand() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envFake+"=tool")
	return cmd
}

// fakeWithServer runs an MCP server as droid does: in its own process group.
func fakeWithServer(in *bufio.Reader) int {
	if err := toolCommand().Start(); err != nil {
		panic(err)
	}
	serve(in, nil)
	return 0
}

// fakeWithTool runs a tool and dies at SIGTERM without ending it, as 0.99 does.
func fakeWithTool(in *bufio.Reader) int {
	startTool(false)
	serve(in, nil)
	select {}
}

// fakeStdoutHolder ends and leaves a child that holds its stdout and stderr.
func fakeStdoutHolder(in *bufio.Reader) int {
	startTool(true)
	serve(in, nil)
	return 0
}

// A command in the background is a child, an MCP server is not.
func TestHasChildren(t *testing.T) {
	for mode, want := range map[string]bool{"with-tool": true, "with-server": false} {
		t.Run(mode, func(t *testing.T) {
			life := newLifeline(t)
			c := startFake(t, shortBounds, mode, life.env())
			_, awaitDeath := life.accept()
			require.Equal(t, want, c.HasChildren())
			c.Kill()
			within(t, "exit", c.Exited())
			if runtime.GOOS == "linux" {
				awaitDeath()
			}
		})
	}
}
