package droid

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/sys/subprocess"
)

// shortBounds make Close impatient.
var shortBounds = timeouts{
	interrupt: 200 * time.Millisecond,
	eof:       200 * time.Millisecond,
	term:      200 * time.Millisecond,
	drain:     100 * time.Millisecond,
	broken:    100 * time.Millisecond,
	stall:     20 * time.Millisecond,
	look:      200 * time.Millisecond,
	line:      4 << 20,
}

// patience is how long a test waits for what should take milliseconds.
const patience = time.Minute

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// startFake starts a fake droid whose end is awaited.
func startFake(t *testing.T, b timeouts, mode string, env ...string) *Client {
	t.Helper()
	cmd := fakeCommand(mode, env...)
	cmd.Dir = t.TempDir()
	c, err := start(cmd, zaptest.NewLogger(t), b)
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Kill()
		<-c.Exited()
	})
	return c
}

// drain reads events until the end, in a goroutine.
func drain(t *testing.T, c *Client) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range c.Events() {
		}
	}()
	t.Cleanup(func() { c.Kill(); <-done })
}

func within(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		require.FailNow(t, "took too long: "+what)
	}
}

// lifeline listens for processes that connect to it.
type lifeline struct {
	t    *testing.T
	l    net.Listener
	path string
}

func newLifeline(t *testing.T) lifeline {
	t.Helper()
	dir, err := os.MkdirTemp("", "droid") // t.TempDir may be too long for a socket
	require.NoError(t, err)
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close(); os.RemoveAll(dir) })
	return lifeline{t, l, path}
}

func (l lifeline) env() string { return envSocket + "=" + l.path }

// accept waits for a process and returns its pid and a function that waits for
// its death.
func (l lifeline) accept() (pid int, awaitDeath func()) {
	l.t.Helper()
	pid, said := l.acceptTalker()
	return pid, func() {
		l.t.Helper()
		require.Empty(l.t, said(), "process %d lives", pid)
	}
}

// acceptTalker is accept with a function that returns the remaining output of the process.
func (l lifeline) acceptTalker() (pid int, said func() string) {
	l.t.Helper()
	require.NoError(l.t, l.l.(*net.UnixListener).SetDeadline(time.Now().Add(patience)))
	conn, err := l.l.Accept()
	require.NoError(l.t, err)
	l.t.Cleanup(func() { conn.Close() })
	require.NoError(l.t, conn.SetReadDeadline(time.Now().Add(patience)))
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	require.NoError(l.t, err)
	pid, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(l.t, err)
	return pid, func() string {
		l.t.Helper()
		rest, err := io.ReadAll(r)
		require.NoError(l.t, err, "process %d lives", pid)
		return string(rest)
	}
}

func TestStartAndClose(t *testing.T) {
	c := startFake(t, defaultBounds, "normal", envAutoUpdate+"=") // set, though empty
	ctx := testContext(t)

	info, err := c.Initialize(ctx, InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	require.Equal(t, "s1", info.SessionID)
	require.Equal(t, "exec --input-format stream-jsonrpc --output-format stream-jsonrpc --cwd "+info.CWD+" update=",
		info.AvailableModels[0].ID)
	require.Equal(t, stream.Version{Major: 1, Minor: 15, Patch: 0}, c.Version())
	require.Nil(t, c.ExitError())

	require.NoError(t, c.Close(ctx))
	require.NoError(t, c.Close(ctx), "closing twice")
	program, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, &ExitError{Path: program, Code: 0, Started: true, Requested: true}, c.ExitError())
	var exit *ExitError
	require.ErrorAs(t, c.Interrupt(ctx), &exit)
	require.ErrorAs(t, c.AnswerPermission("x", stream.OptionCancel), &exit)
	_, open := <-c.Events()
	require.False(t, open)
}

func TestStartWithoutLog(t *testing.T) {
	c, err := Start(fakeCommand("normal"), nil)
	require.NoError(t, err)
	require.NoError(t, c.Close(testContext(t)))
}

func TestCommand(t *testing.T) {
	t.Setenv(envAutoUpdate, "")
	os.Unsetenv(envAutoUpdate)
	c := Command{Args: []string{"--a"}, Env: []string{"X=1"}}
	require.Equal(t, strings.Fields("--a exec --input-format stream-jsonrpc --output-format stream-jsonrpc"), c.arguments())
	require.Equal(t, []string{"X=1", envAutoUpdate + "=false"}, c.environment())
	c.Env = []string{envAutoUpdate + "=true"}
	require.Equal(t, []string{envAutoUpdate + "=true"}, c.environment())
	c.Env = nil
	require.Contains(t, c.environment(), envAutoUpdate+"=false")
	require.Greater(t, len(c.environment()), 1, "ours is inherited")
}

func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, cmd := range map[string]Command{
		"no program":             {Path: filepath.Join(dir, "none")},
		"not executable":         {Path: file},
		"no directory":           {Path: fakeCommand("normal").Path, Dir: filepath.Join(dir, "none")},
		"directory is a file":    {Path: fakeCommand("normal").Path, Dir: file},
		"environment with a NUL": {Path: fakeCommand("normal").Path, Env: []string{"A=\x00"}},
	} {
		_, err := Start(cmd, nil)
		require.ErrorContains(t, err, "starting droid", name)
	}
}

// A droid that ends at once fails the call that waits, with its last words.
func TestExitAtStart(t *testing.T) {
	c := startFake(t, defaultBounds, "exit1")
	_, err := c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	within(t, "exit", c.Exited())
	require.Equal(t, 1, exit.Code)
	require.False(t, exit.Started)
	require.False(t, exit.Requested)
	require.Len(t, exit.Stderr, subprocess.TailLines)
	require.Equal(t, "error: unknown option '--bogus'", exit.Stderr[subprocess.TailLines-1])
	require.ErrorContains(t, err, "exited with code 1 before it said anything")
	require.ErrorContains(t, err, "unknown option")
}

// All calls return when droid dies, also those that begin later.
func TestDeathFailsAllCalls(t *testing.T) {
	c := startFake(t, defaultBounds, "suicide")
	ctx := testContext(t)
	_, err := c.Initialize(ctx, InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	errs := make(chan error)
	for range 3 {
		go func() { errs <- c.AddUserMessage(ctx, stream.UserMessage{Text: "die"}) }()
	}
	for range 3 {
		var exit *ExitError
		require.ErrorAs(t, <-errs, &exit)
		require.True(t, exit.Started)
		require.Equal(t, []string{"out of memory"}, exit.Stderr)
		if runtime.GOOS != "windows" {
			require.Equal(t, "SIGKILL", exit.Signal)
		}
	}
	var exit *ExitError
	require.ErrorAs(t, c.UpdateSettings(ctx, stream.SettingsPatch{}), &exit)
}

// The calls return although the events before the response are unread.
func TestDeathWithUnreadEvents(t *testing.T) {
	c := startFake(t, shortBounds, "flood")
	errs := make(chan error)
	go func() { errs <- c.Interrupt(testContext(t)) }()
	for len(c.events) < eventBuffer || c.outstanding() == 0 {
		runtime.Gosched()
	}
	require.NoError(t, c.proc.Kill())
	var exit *ExitError
	require.ErrorAs(t, <-errs, &exit)
	var text strings.Builder
	for ev := range c.Events() {
		text.WriteString(ev.(stream.TextDelta).Text)
	}
	numbers := strings.Fields(text.String())
	require.GreaterOrEqual(t, len(numbers), eventBuffer)
	for i, n := range numbers {
		require.Equal(t, strconv.Itoa(i), n, "what droid wrote before its death is delivered, whole")
	}
	within(t, "exit", c.Exited())
}

func TestCloseEscalates(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"stubborn", "flood", "close-stdout", "close-stdin"} {
		t.Run(mode, func(t *testing.T) {
			c := startFake(t, shortBounds, mode)
			require.NoError(t, c.Close(testContext(t)))
			require.NotNil(t, c.ExitError())
			require.True(t, c.ExitError().Requested)
		})
	}
}

// Close interrupts a running turn first and survives a droid that reads
// nothing (quirk 25).
func TestCloseWedged(t *testing.T) {
	t.Parallel()
	life := newLifeline(t)
	c := startFake(t, shortBounds, "deaf", life.env())
	_, awaitDeath := life.accept()
	ctx, cancel := context.WithCancel(testContext(t))
	errs := make(chan error)
	go func() { errs <- c.AddUserMessage(ctx, stream.UserMessage{Text: strings.Repeat("x", 4<<20)}) }()
	for c.backlog() > 0 || !c.isBusy() { // until the writer is stuck in the write
		runtime.Gosched()
	}
	require.NoError(t, c.AnswerPermission("p", stream.OptionCancel), "must not block")
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)

	require.NoError(t, c.Close(testContext(t)))
	awaitDeath()
	if runtime.GOOS != "windows" {
		require.Equal(t, "SIGKILL", c.ExitError().Signal)
	}
}

func (c *Client) isBusy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.busy
}

func (c *Client) outstanding() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.state.pending)
}

func (c *Client) backlog() int {
	return c.out.Size()
}

// When its context ends, Close does not wait for the stages.
func TestCloseContext(t *testing.T) {
	c := startFake(t, defaultBounds, "stubborn")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begin := time.Now()
	require.ErrorIs(t, c.Close(ctx), context.Canceled)
	require.Less(t, time.Since(begin), defaultBounds.eof)
	within(t, "exit", c.Exited())
}

func TestCloseConcurrently(t *testing.T) {
	c := startFake(t, shortBounds, "stubborn")
	errs := make(chan error)
	for range 4 {
		go func() { errs <- c.Close(testContext(t)) }()
	}
	go c.Kill()
	for range 4 {
		require.NoError(t, <-errs)
	}
}

// A droid that closes one of its streams is of no use and is killed.
func TestBrokenStreams(t *testing.T) {
	c := startFake(t, shortBounds, "close-stdout")
	_, open := <-c.Events()
	require.False(t, open)
	require.NotNil(t, c.ExitError(), "who reads the events need not wait for the end")
	require.False(t, c.ExitError().Requested)
	require.Equal(t, "it had closed its stdout and did not end", c.ExitError().KilledFor)

	c = startFake(t, shortBounds, "close-stdin")
	<-c.Events()
	var exit *ExitError
	require.ErrorAs(t, c.Interrupt(testContext(t)), &exit)
	within(t, "kill", c.Exited())
	require.Equal(t, "it had closed its stdin and did not end", c.ExitError().KilledFor)
}

// Quirk 27.
func TestHugeLine(t *testing.T) {
	c := startFake(t, defaultBounds, "huge")
	require.NoError(t, c.AddUserMessage(testContext(t), stream.UserMessage{Text: "go"}))
	e := <-c.Events()
	require.IsType(t, stream.ToolResult{}, e)
	require.Len(t, e.(stream.ToolResult).Content, 20<<20+2)
	require.NoError(t, c.Close(testContext(t)))
}

func TestNoise(t *testing.T) {
	c := startFake(t, defaultBounds, "noise")
	drain(t, c)
	_, err := c.Initialize(testContext(t), InitializeParams{CWD: "/x"})
	require.NoError(t, err)
	require.EqualValues(t, 4, c.noMessages.Load())
	require.NoError(t, c.Close(testContext(t)))
}

// A child of droid that holds its stdout open does not keep the client alive.
func TestStdoutHolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the job object ends such children")
	}
	life := newLifeline(t)
	c := startFake(t, shortBounds, "stdout-holder", life.env())
	pid, awaitDeath := life.accept()
	require.NoError(t, c.Close(testContext(t)))
	require.Equal(t, 0, c.ExitError().Code)

	tool, err := os.FindProcess(pid) // nobody killed it, so it is still there
	require.NoError(t, err)
	require.NoError(t, tool.Kill())
	awaitDeath()
}

func TestToolsDieWithKilledDroid(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the fake starts no tool there")
	}
	for name, end := range map[string]func(*testing.T, *Client){
		"Kill":         func(_ *testing.T, c *Client) { c.Kill() },
		"Close (TERM)": func(t *testing.T, c *Client) { require.NoError(t, c.Close(testContext(t))) },
	} {
		t.Run(name, func(t *testing.T) {
			life := newLifeline(t)
			c := startFake(t, shortBounds, "with-tool", life.env())
			_, awaitDeath := life.accept()
			end(t, c)
			within(t, "exit", c.Exited())
			awaitDeath()
		})
	}
}

// droid exits when its parent is killed without closing its streams.
func TestParentDeath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("parent-death signals exist on Linux only")
	}
	diesWithItsParent(t, "parent")
}

func diesWithItsParent(t *testing.T, as string) {
	t.Parallel()
	life := newLifeline(t)
	cmd := fakeCommand(as, life.env())
	parent := exec.Command(cmd.Path)
	parent.Env = cmd.Env
	require.NoError(t, parent.Start())
	_, said := life.acceptTalker()
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.Contains(t, []string{"", "asked\n"}, said(), "the guard asks it to end, and kills it")
}
