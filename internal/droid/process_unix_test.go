//go:build unix

package droid

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
)

// startTool runs a tool as droid does: in a session of its own.
func startTool(inherit bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envFake+"=tool")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if inherit {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
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
