//go:build linux || darwin

package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// patience is how long a test waits for what should take milliseconds.
const patience = time.Minute

func start(t *testing.T, limit time.Duration, h Handler) *Listener {
	t.Helper()
	socket, remove, err := listen()
	require.NoError(t, err)
	l := serve(socket, remove, "/bin/false", limit, h, zap.NewNop())
	t.Cleanup(l.Close)
	return l
}

func (l *Listener) address() string { return l.socket.Addr().String() }

// stdin returns droid's input to a hook.
func stdin(event, tool, input string) string {
	return fmt.Sprintf(`{"session_id":"s","cwd":"/","hook_event_name":%q,"tool_name":%q,"tool_input":%s,"tool_response":{"x":1}}`, event, tool, input)
}

// program runs the hook program in this process.
func program(address, in string) string {
	var out bytes.Buffer
	runTimeout(patience, []string{address}, strings.NewReader(in), &out) // the race detector on a busy machine takes more than Run has
	return out.String()
}

func dial(t *testing.T, l *Listener) *net.UnixConn {
	t.Helper()
	conn, err := net.Dial("unix", l.address())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn.(*net.UnixConn)
}

func echo(_ context.Context, r Request) Answer { return Answer{UpdatedInput: r.Input, Context: r.Tool} }

func TestRoundTrip(t *testing.T) {
	var asked Request
	var answer Answer
	l := start(t, patience, func(ctx context.Context, r Request) Answer {
		asked = r
		return answer
	})
	for _, c := range []struct {
		answer Answer
		want   string
	}{
		{Answer{}, ""},
		{Answer{UpdatedInput: json.RawMessage(`{"file_path":"/y<&"}`)},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"file_path":"/y<&"}}}`},
		{Answer{Context: "saved <b>\n\"x\""},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"saved <b>\n\"x\""}}`},
		{Answer{UpdatedInput: json.RawMessage(`not JSON`)}, ""},
		{Answer{Context: strings.Repeat("x", maxMessage)}, ""},
	} {
		answer = c.answer
		got := program(l.address(), stdin("PreToolUse", "Read", `{"file_path": "/x<>"}`))
		require.Equal(t, c.want, got)
		require.Equal(t, Request{"PreToolUse", "s", "Read", json.RawMessage(`{"file_path":"/x<>"}`)}, asked)
	}
}

// A file of HTML of nearly the size that is allowed arrives.
func TestLargeInput(t *testing.T) {
	l := start(t, patience, echo)
	input := `"` + strings.Repeat("<p>", (maxMessage-1000)/3) + `"`
	require.Equal(t, `{"hookSpecificOutput":{"hookEventName":"E","updatedInput":`+input+`,"additionalContext":"Create"}}`,
		program(l.address(), stdin("E", "Create", input)))
	require.Empty(t, program(l.address(), stdin("E", "Create", `"`+strings.Repeat("x", maxMessage-2)+`"`)), "too large with the rest")
}

func TestManyAtOnce(t *testing.T) {
	const programs = maxConnections + 16
	var now, most atomic.Int32
	full := make(chan struct{})
	isFull := sync.OnceFunc(func() { close(full) }) // it may become full again, when some have gone
	l := start(t, patience, func(ctx context.Context, r Request) Answer {
		defer now.Add(-1)
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == maxConnections {
			isFull()
		}
		<-full // all that are served at once are there
		return Answer{Context: r.Tool}
	})
	var all sync.WaitGroup
	got := make([]string, programs)
	for i := range got {
		all.Go(func() { got[i] = program(l.address(), stdin("E", fmt.Sprint("T", i), "{}")) })
	}
	all.Wait()
	for i, out := range got {
		require.Contains(t, out, fmt.Sprintf(`"T%d"`, i))
	}
	require.EqualValues(t, maxConnections, most.Load())
}

func TestThroughAShell(t *testing.T) {
	l, err := Listen(echo, zap.NewNop())
	require.NoError(t, err)
	sh := func() string {
		cmd := exec.Command("sh", "-c", l.Command())
		cmd.Env = []string{"GORACE=atexit_sleep_ms=0"} // no HOME, no PATH
		cmd.Stdin = strings.NewReader(stdin("PreToolUse", "Read", "{}"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		return string(out)
	}
	require.Equal(t, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{},"additionalContext":"Read"}}`, sh())
	l.Close()
	require.Empty(t, sh(), "the agent is gone")
	l.Close()
}

func TestCommandLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `it's a "dir" $HOME`)
	require.NoError(t, os.Mkdir(dir, 0o700))
	file := filepath.Join(dir, "p")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\necho \"$1\" \"$2\"; echo bad >&2; exit 3\n"), 0o700))
	out, err := exec.Command("sh", "-c", commandLine(file, "/a b/s")).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "droid-acp-files-hook /a b/s\n", string(out))
	out, err = exec.Command("sh", "-c", commandLine("/no/such", "@x")).CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(out))
}

// The socket of systems that know none without a file.
func TestSocketInDirectory(t *testing.T) {
	tmp, err := os.MkdirTemp("", "h") // t.TempDir may be too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	socket, remove, err := listenInDir()
	require.NoError(t, err)
	l := serve(socket, remove, "/bin/false", patience, echo, zap.NewNop())
	info, err := os.Stat(filepath.Dir(l.address()))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NotEmpty(t, program(l.address(), stdin("E", "T", "{}")))
	l.Close()
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)

	t.Setenv("TMPDIR", filepath.Join(tmp, strings.Repeat("x", 120)))
	require.NoError(t, os.Mkdir(os.Getenv("TMPDIR"), 0o700))
	_, _, err = listenInDir()
	require.ErrorContains(t, err, "TMPDIR")
	left, err = os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestProgramSaysNothing(t *testing.T) {
	l := start(t, patience, echo)
	in := stdin("E", "T", "{}")
	for name, args := range map[string][]string{
		"no address": nil, "two": {l.address(), "x"}, "gone": {"@droid-acp-gone"}, "empty": {""}, "a file": {"/bin/sh"}, "no file": {"/no/such"},
		"long": {"@" + strings.Repeat("x", 500)},
	} {
		var out bytes.Buffer
		Run(args, strings.NewReader(in), &out)
		require.Empty(t, out.String(), name)
	}
	for _, in := range []string{"", "garbage", in[:len(in)-1], stdin("", "T", "{}"), stdin("E", "", "{}"), stdin("E", "T", "{")} {
		require.Empty(t, program(l.address(), in), in)
	}
	Run([]string{l.address()}, strings.NewReader(in), panics{})
	Run([]string{l.address()}, panics{}, panics{})
	require.NotEmpty(t, program(l.address(), in))
}

type panics struct{}

func (panics) Read([]byte) (int, error)  { panic("read") }
func (panics) Write([]byte) (int, error) { panic("write") }

// An agent that sends an invalid answer.
func TestProgramDoubtsTheAgent(t *testing.T) {
	for _, says := range []string{"", "garbage", `{"context":"x"`, `{"context":1}`, `[]`, "null", `{"context":"` + strings.Repeat("x", maxMessage)} {
		socket, remove, err := listen()
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := socket.Accept()
			if err == nil {
				_, _ = readRequest(conn)
				_, _ = io.WriteString(conn, says) // the program may have heard enough
				conn.Close()
			}
		}()
		require.Empty(t, program(socket.Addr().String(), stdin("E", "T", "{}")))
		socket.Close()
		<-done
		remove()
	}
}

func TestProgramDoesNotWaitForEver(t *testing.T) {
	cancelled := make(chan struct{})
	l := start(t, patience, func(ctx context.Context, r Request) Answer {
		<-ctx.Done()
		close(cancelled)
		return Answer{Context: "too late"}
	})
	var out bytes.Buffer
	runTimeout(100*time.Millisecond, []string{l.address()}, strings.NewReader(stdin("E", "T", "{}")), &out)
	<-cancelled
	l.Close()
	require.Empty(t, out.String())

	silent, end := io.Pipe()
	runTimeout(time.Millisecond, []string{l.address()}, silent, &out)
	end.Close()
	require.Empty(t, out.String())
}

func TestHostilePrograms(t *testing.T) {
	l := start(t, 100*time.Millisecond, echo)
	whole := `{"event":"E","tool":"T","input":{}}`
	for name, says := range map[string]string{
		"nothing": "", "half": whole[:len(whole)-1], "garbage": "GET / HTTP/1.1\r\n\r\n", "array": "[1]", "null": "null", "no event": `{"tool":"T"}`, "no tool": `{"event":"E"}`,
		"wrong type": `{"event":"E","tool":["T"]}`, "deep": strings.Repeat("[", 1<<20), "huge": `{"event":"` + strings.Repeat("x", maxMessage),
	} {
		conn := dial(t, l)
		_, _ = io.WriteString(conn, says) // it may hang up before the end
		got, _ := io.ReadAll(conn)        // a reset is an end, too
		require.Empty(t, got, name)
	}
	for range 2 * maxConnections { // midway, many
		conn := dial(t, l)
		_, err := io.WriteString(conn, whole[:10])
		require.NoError(t, err)
		conn.Close()
	}
	require.NotEmpty(t, program(l.address(), stdin("E", "T", "{}")))
}

// Silent connections hold the slots no longer than they may.
func TestSlotsComeBack(t *testing.T) {
	l := start(t, 50*time.Millisecond, echo)
	for range maxConnections {
		dial(t, l)
	}
	require.NotEmpty(t, program(l.address(), stdin("E", "T", "{}")))
}

func TestProgramGone(t *testing.T) {
	for name, leave := range map[string]func(*net.UnixConn) error{
		"closed":    (*net.UnixConn).Close,
		"half":      (*net.UnixConn).CloseWrite,
		"says more": func(c *net.UnixConn) error { _, err := c.Write([]byte("x")); return err },
	} {
		began, ended := make(chan struct{}), make(chan struct{})
		l := start(t, patience, func(ctx context.Context, r Request) Answer {
			close(began)
			<-ctx.Done()
			close(ended)
			return Answer{Context: "x"}
		})
		conn := dial(t, l)
		_, err := conn.Write([]byte(`{"event":"E","tool":"T"}`))
		require.NoError(t, err)
		<-began
		require.NoError(t, leave(conn), name)
		<-ended
		if name != "closed" {
			got, _ := io.ReadAll(conn)
			require.Empty(t, got, name)
		}
		l.Close()
	}
}

// A program that takes no answer does not hold its slot for ever.
func TestAnswerNotTaken(t *testing.T) {
	l := start(t, 50*time.Millisecond, func(context.Context, Request) Answer {
		return Answer{Context: strings.Repeat("x", maxMessage/2)}
	})
	conn := dial(t, l)
	_, err := conn.Write([]byte(`{"event":"E","tool":"T"}`))
	require.NoError(t, err)
	var one [1]byte
	_, err = conn.Read(one[:])
	require.NoError(t, err)
	l.Close() // waits for all
}

func TestCloseWhileHandlersRun(t *testing.T) {
	began, leave := make(chan struct{}), make(chan struct{})
	var ended atomic.Bool
	l := start(t, patience, func(ctx context.Context, r Request) Answer {
		close(began)
		<-ctx.Done()
		<-leave
		ended.Store(true)
		return Answer{Context: "at last"}
	})
	dial(t, l) // silent: Close does not wait for it
	got := make(chan string)
	go func() { got <- program(l.address(), stdin("E", "T", "{}")) }()
	<-began
	closed := make(chan struct{})
	go func() { l.Close(); close(closed) }()
	<-l.ctx.Done()
	select {
	case <-closed:
		t.Error("closed before the handler has ended")
	default:
	}
	close(leave)
	<-closed
	require.True(t, ended.Load())
	require.Contains(t, <-got, "at last", "what it answers is still sent")
	_, err := net.Dial("unix", l.address())
	require.Error(t, err)
}

func TestPanicInHandler(t *testing.T) {
	core, logs := observer.New(zapcore.ErrorLevel)
	socket, remove, err := listen()
	require.NoError(t, err)
	l := serve(socket, remove, "/bin/false", patience, func(_ context.Context, r Request) Answer {
		if r.Tool == "bad" {
			panic(errors.New("oops"))
		}
		return Answer{Context: "fine"}
	}, zap.New(core))
	defer l.Close()
	require.Empty(t, program(l.address(), stdin("E", "bad", "{}")))
	require.Equal(t, 1, logs.FilterMessage("panic in the answer to a hook").Len())
	require.Contains(t, program(l.address(), stdin("E", "good", "{}")), "fine")
}
