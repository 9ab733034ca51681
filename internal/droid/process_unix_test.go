//go:build unix

package droid

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// startTool runs a tool as droid does: in a new session.
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

func toolCommand() *exec.Cmd { return fakeChild("tool") }

func fakeChild(mode string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envFake+"="+mode)
	return cmd
}

// fakeWithServer runs an MCP server as droid does: in its own process group.
func fakeWithServer(in *bufio.Reader) int {
	if err := fakeChild("server").Start(); err != nil {
		panic(err)
	}
	serve(in, nil)
	return 0
}

// fakeServer is such a server, which ignores the end of its input. It reports that it was asked to end.
func fakeServer(*bufio.Reader) int {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	conn, err := net.Dial("unix", os.Getenv(envSocket))
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(conn, os.Getpid())
	go func() {
		<-asked
		fmt.Fprintln(conn, "asked")
	}()
	io.Copy(io.Discard, conn)
	return 0
}

// fakeParentOfServer runs a client of a droid with a server in this process.
func fakeParentOfServer(*bufio.Reader) int {
	c, err := Start(fakeCommand("with-server"), zap.NewNop())
	if err != nil {
		panic(err)
	}
	<-c.Exited()
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
			awaitDeath()
		})
	}
}

// Processes that droid started in its process group end with it, however it ends: with a signal first, unless a forced end leaves no time.
func TestDroidsGroupEndsWithIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bounds timeouts
		end    func(*Client)
		asked  bool
	}{
		"closed":      {defaultBounds, func(c *Client) { _ = c.Close(t.Context()) }, true}, // with shorter ones Close becomes a kill first
		"its own end": {shortBounds, func(c *Client) { c.out.Close() }, true},
		"killed":      {shortBounds, func(c *Client) { c.Kill() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			last := ""
			for range 5 { // on a busy machine the time may be too short to report it
				life := newLifeline(t)
				c := startFake(t, tc.bounds, "with-server", life.env())
				_, said := life.acceptTalker()
				tc.end(c)
				within(t, "exit", c.Exited())
				last = said()
				require.True(t, last == "" || tc.asked && last == "asked\n", last)
				if last != "" {
					break
				}
			}
			require.Equal(t, tc.asked, last != "")
		})
	}
}

// So does it when we are killed and can do nothing about it.
func TestDroidsGroupEndsWithUs(t *testing.T) { diesWithItsParent(t, "parent-of-server") }
