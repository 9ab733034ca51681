//go:build e2e && linux

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"droid-acp/internal/testing/modelserver"
)

// terminal is a user of `droid-acp attach` in a terminal.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	typed  *os.File
	exited chan struct{}

	mu    sync.Mutex
	shown bytes.Buffer
}

// Write takes what is shown.
func (p *terminal) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.Write(text)
}

func attach(t *testing.T, h home, session string) *terminal {
	t.Helper()
	p := &terminal{t: t, exited: make(chan struct{})}
	var err error
	p.typed, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(p.typed.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(p.typed.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	p.cmd = exec.Command(programs.Agent, "attach", session)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = h.work, append(h.env, "NO_COLOR=1"), theirs, theirs, theirs
	require.NoError(t, p.cmd.Start())
	require.NoError(t, theirs.Close())
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(p, p.typed) // until the program has ended
	}()
	go func() {
		defer close(p.exited)
		<-shown
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.exited
		_ = p.typed.Close()
		if t.Failed() {
			t.Logf("the terminal showed:\n%s", p.text())
		}
	})
	return p
}

func (p *terminal) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.String()
}

// sees waits until the terminal shows a text, and returns its whole output.
func (p *terminal) sees(words string) string {
	p.t.Helper()
	for until := time.Now().Add(turnLimit); ; time.Sleep(20 * time.Millisecond) {
		if text := p.text(); strings.Contains(text, words) {
			return text
		}
		require.True(p.t, time.Now().Before(until), "the terminal does not show %q", words)
	}
}

func (p *terminal) types(text string) {
	p.t.Helper()
	_, err := io.WriteString(p.typed, text)
	require.NoError(p.t, err)
}

// A terminal joins during a turn that waits for an answer. It sees the conversation, answers, prompts, and leaves during the turn that it
// began; that continues, and the editor has seen all of it.
func TestAttach(t *testing.T) {
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		work(model)
		model.On("then", modelserver.Step{Text: "Now I go on. ", Tools: []modelserver.ToolCall{execute("b", "sleep 3; echo more > more")}},
			modelserver.Step{Text: "All of it is done."})
		h = h.keeps(t)
		c := startKept(t, h).onPermission(noAnswer)
		s := c.open(h)
		turn := s.prompt("work")
		turn.await("a question", turn.from, turnLimit, isPermission)

		p := attach(t, h, s.id[:8])
		text := p.sees("what comes now is live")
		require.Contains(t, text, strings.TrimSpace(strings.Repeat("One word after the other. ", 8)))
		p.sees("1. Yes, allow\r\n")
		said, _ := h.serverCommand(t, "ps")
		require.Contains(t, said, "asks ")
		require.Contains(t, said, "droid-acp attach (socket)")
		p.types("1")
		p.sees("> 1") // sent together with Enter it would look pasted
		p.types("\r")
		p.sees("That is all, and it was done.")
		require.FileExists(t, filepath.Join(h.work, "made"))
		require.Equal(t, "end_turn", turn.end(turnLimit).Stop)
		h.awaitState(t, s.id, "idle")

		c.onPermission(allowOnce)
		from := c.seen()
		p.types("then go on\r")
		h.awaitProcess(t, "sleep 3")
		require.NoError(t, p.cmd.Process.Signal(os.Interrupt)) // what Ctrl-C sends
		<-p.exited
		require.Zero(t, p.cmd.ProcessState.ExitCode())
		require.Contains(t, p.text(), "You left. The session goes on.")
		h.awaitState(t, s.id, "idle")
		require.FileExists(t, filepath.Join(h.work, "more"))
		var texts []string
		var tools map[string]string
		c.await("the end of the turn", from, turnLimit, func(line) bool { // this client reads at its own pace
			texts, tools = c.agentSaid(from)
			return strings.Contains(strings.Join(texts, ""), "All of it is done.")
		})
		require.Contains(t, strings.Join(texts, ""), "Now I go on. ")
		require.Equal(t, map[string]string{"b": "completed"}, tools)
		said, _ = h.serverCommand(t, "ps")
		require.NotContains(t, said, "attach")
		require.Equal(t, "still", s.nextPrompt(model))
	})
}
