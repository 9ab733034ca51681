package via

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/remote/relay"
	"droid-acp/internal/testing/acptest"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "far":
		playFar(os.Args[2])
	case len(os.Args) > 2 && os.Args[1] == "containerd":
		os.Exit(playContainerd(os.Args[2:]))
	case len(os.Args) > 3 && os.Args[1] == "ends":
		code, _ := strconv.Atoi(os.Args[2])
		fmt.Fprintln(os.Stderr, os.Args[3])
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// playFar makes this process a far side that the test plays through a socket.
func playFar(socket string) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	os.Exit(3)
}

// playContainerd runs a program as containerd (1.6) runs it for kubectl exec: after the program has closed its stdout, it gets no more
// stdin.
func playContainerd(command []string) int {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(stdin, os.Stdin)
		_ = stdin.Close()
	}()
	_, _ = io.Copy(os.Stdout, stdout)
	_ = stdin.Close()
	_ = cmd.Wait() // its exit code is returned
	return cmd.ProcessState.ExitCode()
}

// rig is a relay with an editor and a far side that the test plays.
type rig struct {
	t      *testing.T
	relay  *Relay
	editor io.WriteCloser // the editor's output
	near   *acptest.Peer  // the same, and the editor's input
	out    *io.PipeReader
	far    net.Conn      // the far side's output
	away   *acptest.Peer // the same, and the far side's input
	stderr *safeBuffer
	ended  chan error
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newRig makes a relay for a command. Nothing runs before run.
func newRig(t *testing.T, maps string, command ...string) *rig {
	t.Helper()
	in, editor := io.Pipe()
	told, out := io.Pipe()
	r := &rig{t: t, editor: editor, near: acptest.NewPeer(t, told, editor), out: told, stderr: new(safeBuffer), ended: make(chan error, 1)}
	r.relay = New(Options{Command: command, Agent: relay.Agent{Name: "droid-acp", Client: protocol.ParseCapabilities, PathFields: map[string]string{"_own/export": "path", "_own/export.result": "path"}}, Maps: mapsOf(t, maps), In: in, Out: out, Stderr: r.stderr, Version: "1.2.3", Log: zap.NewNop()})
	t.Cleanup(func() {
		_ = editor.Close()
		_ = told.Close()
		_ = in.Close()
	})
	return r
}

func (r *rig) run(ctx context.Context) { go func() { r.ended <- r.relay.Run(ctx) }() }

// connected returns a rig whose far side the test plays.
func connected(t *testing.T, maps string, prepare ...func(*Relay)) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "via") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "far"))
	require.NoError(t, err)
	defer l.Close()
	r := newRig(t, maps, os.Args[0], "far", l.Addr().String())
	for _, p := range prepare {
		p(r.relay)
	}
	r.run(t.Context())
	r.far, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.far.Close() })
	r.away = acptest.NewPeer(t, r.far, r.far)
	return r
}

// toFar sends a line from the editor and returns what the far side gets.
func (r *rig) toFar(line string) string {
	r.t.Helper()
	r.near.Say(line)
	return r.away.Line()
}

func (r *rig) toNear(line string) string {
	r.t.Helper()
	r.away.Say(line)
	return r.near.Line()
}

// refusedNear sends a line of the editor, which gets an error.
func (r *rig) refusedNear(line string) string {
	r.t.Helper()
	r.near.Say(line)
	return r.near.Line()
}

func (r *rig) refusedFar(line string) string {
	r.t.Helper()
	r.away.Say(line)
	return r.away.Line()
}

// end ends the editor, and then the far side.
func (r *rig) end() {
	r.t.Helper()
	require.NoError(r.t, r.editor.Close())
	r.away.Ends()
	require.NoError(r.t, r.far.Close())
	go r.near.Rest()
	if err := <-r.ended; err != nil {
		require.False(r.t, r.relay.near.AnyAnswered(), err)
	}
}

const twoRoots = "/l=/r /l/sub=/r2"

// Typed fields are rewritten, in requests, notifications and answers of both sides, and nothing else.
func TestPathsOfBothWays(t *testing.T) {
	r := connected(t, twoRoots)
	for _, tc := range []struct {
		near bool // the direction
		line string
	}{
		{false, `{"jsonrpc":"2.0", "id":1,"method":"session/new","params":{"cwd":"«/l/a»","mcpServers":[{"name":"/l","command":"«/l/bin/x»","args":["/l/a"],"env":[{"name":"A","value":"/l"}]},{"command":"npx"}],"additionalDirectories":["«/l/sub/b»"],"_meta":{"cwd":"/l"}}}`},
		{true, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"/r/x"}}`},
		{false, `{"params":{"sessionId":"s","prompt":[{"type":"text","text":"look at /l/a"},{"type":"resource_link","uri":"«file:///l/a%20b#L1»","name":"/l/a b"},{"type":"resource","resource":{"text":"/l","uri":"«file:///l/sub/x»"}},{"type":"resource_link","uri":"https://x/l"}]},"method":"session/prompt","id":"p","jsonrpc":"2.0"}`},
		{true, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"/r/1","title":"Edit /r/a","rawInput":{"path":"/r/a"},"locations":[{"path":"«/r/a»","line":1e0},{"path":"/etc/hosts"},{"path":"«/r2/x»"}],"content":[{"type":"diff","path":"«/r/a»","oldText":null,"newText":"/r/a"},{"type":"content","content":{"type":"resource_link","uri":"«file:///r/é»","name":"é"}}]}}}`},
		{true, `{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"sessionId":"s","path":"«/r/a.go»"}}`},
		{false, `{"jsonrpc":"2.0","id":7,"result":{"content":"/l/a"}}`},
		{true, `{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"t","locations":[{"path":"«/r/a»"},{"path":"/etc/x"}]},"options":[]}}`},
		{false, `{"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"/l"}}}`},
		{false, `{"jsonrpc":"2.0","id":2,"method":"session/list","params":{"cwd":null}}`},
		{true, `{"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"a","cwd":"«/r/a»","title":"/r"},{"cwd":"/elsewhere"},{"cwd":"«/r2»"}]}}`},
		{false, `{"jsonrpc":"2.0","id":4,"method":"_own/export","params":{"path":"«/l/a»"}}`},
		{true, `{"jsonrpc":"2.0","id":4,"result":{"path":"«/r/a»"}}`},
		{false, `{"jsonrpc":"2.0","id":3,"method":"_other/method","params":{"cwd":"/l","path":"/l"}}`},
		{true, `{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"/r/a","data":{"path":"/r"}}}`},
		{false, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`},
		{false, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}`},
		{true, ` {"jsonrpc":"2.0","id":"\u0070","result":{"stopReason":"end_turn","_meta":{"path":"/r"}}} `},
		{false, `{"id":null,"error":{"code":-32601,"message":"what?"},"jsonrpc":"2.0"}`},
		{false, `this is no JSON: /l/a`},
	} {
		send, from, to := r.toFar, "/l", "/r"
		if tc.near {
			send, from, to = r.toNear, to, from
		}
		line := strings.NewReplacer("«", "", "»", "").Replace(tc.line)
		var want strings.Builder
		for i, part := range strings.Split(tc.line, "«") {
			path, rest, marked := strings.Cut(part, "»")
			if i == 0 || !marked {
				want.WriteString(part)
				continue
			}
			if path, sub := strings.CutPrefix(path, "file://"); sub {
				want.WriteString("file://" + other(path, from, to) + rest)
			} else {
				want.WriteString(other(path, from, to) + rest)
			}
		}
		require.Equal(t, want.String(), send(line))
	}
	r.end()
}

// other returns a path of twoRoots on the other side.
func other(path, from, to string) string {
	inner := map[string]string{"/l": "/l/sub", "/r": "/r2"}
	if rest, ok := strings.CutPrefix(path, inner[from]); ok {
		return inner[to] + rest
	}
	return to + strings.TrimPrefix(path, from)
}

// A request with a path outside of every map is refused.
func TestOutsideIsRefused(t *testing.T) {
	r := connected(t, "/l=/r")
	for _, params := range []string{`{"cwd":"/etc"}`, `{"cwd":"/l","additionalDirectories":["/l/../x"]}`} {
		var answer struct {
			ID    int
			Error struct {
				Code    int
				Message string
				Data    struct{ Details string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(r.refusedNear(`{"jsonrpc":"2.0","id":5,"method":"session/new","params":`+params+`}`)), &answer))
		require.Equal(t, 5, answer.ID)
		require.Equal(t, -32602, answer.Error.Code)
		require.Contains(t, answer.Error.Message, "Invalid params: ")
		require.Contains(t, answer.Error.Data.Details, `which is outside of every directory that the far side has: /l=/r. Open something below one of them, or add --map LOCAL=REMOTE to the command that starts the agent.`)
	}
	require.Contains(t, r.refusedNear(`{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"prompt":[{"type":"resource_link","uri":"file:///l/%2e%2e/x"}]}}`), `"id":"x","error":{"code":-32602`)
	refused := r.refusedFar(`{"jsonrpc":"2.0","id":6,"method":"fs/write_text_file","params":{"path":"/r/../etc/passwd","content":"x"}}`)
	require.Contains(t, refused, `"id":6,"error":{"code":-32602,"message":"Invalid params: path is \"/r/../etc/passwd\", which is outside of every directory that the editor's machine has (droid-acp via: /l=/r)"`)
	require.Contains(t, r.refusedFar(`{"jsonrpc":"2.0","id":6,"method":"fs/read_text_file","params":{"path":"/r/a","path":"/etc/passwd"}}`), `"code":-32602`, "each of two")
	require.Contains(t, r.refusedFar(`{"jsonrpc":"2.0","id":6,"method":"fs/read_text_file","params":{"PATH":"/etc/passwd"}}`), `"code":-32602`)
	require.Contains(t, r.refusedNear(`[{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/l"}}]`), `"id":null,"error":{"code":-32600`)
	require.Contains(t, r.refusedNear(`{"id":1,"method":"session/new","Method":"x"}`), `"code":-32600`)
	r.near.Say(`{"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"uri":"file:///x"}]}}`)
	require.Equal(t, `{"id":1,"method":"m"}`, r.toFar(`{"id":1,"method":"m"}`), "a notification is dropped")
	r.end()
}

// Without maps nothing is rewritten.
func TestWithoutMaps(t *testing.T) {
	r := connected(t, "")
	for _, line := range []string{`{"id":1,"method":"session/new","params":{"cwd":"/x/../y"}}`, `{"id":2,"method":"session/prompt","params":{"prompt":[{"uri":"file:///x"}]}}`} {
		require.Equal(t, line, r.toFar(line))
	}
	r.end()
}

// Lines that are not messages do not reach the editor, and are kept for errors.
func TestNoise(t *testing.T) {
	r := connected(t, "/l=/r")
	require.Equal(t, `{"method":"x"}`, r.toNear("Welcome to Ubuntu\r\n\n[1]\n{\"level\":\"info\"}\n[{\"method\":\"x\"}]\n{\"method\":\"x\"}"))
	require.Equal(t, "Welcome to Ubuntu\n[1]\n{\"level\":\"info\"}\n[{\"method\":\"x\"}]\n", r.stderr.String())
	r.end()
}

func TestInitialize(t *testing.T) {
	r := connected(t, "/l=/r")
	const ask = `{"id":1,"method":"initialize","params":{"protocolVersion":1}}`
	require.Equal(t, ask, r.toFar(ask))
	const answer = `{"id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"droid-acp","version":"1.0.0"},"authMethods":[{"id":"a","_meta":{"terminal-auth":%s}},{"id":"b"}]}}`
	told := r.toNear(fmt.Sprintf(answer, `{"label":"Log in","command":"/usr/bin/droid-acp","args":["login","--droid","/x y"],"env":{}}`))
	require.Equal(t, fmt.Sprintf(answer, fmt.Sprintf(`{"args":["far",%q,"login","--droid","/x y"],"command":%q,"env":{},"label":"Log in"}`, r.relay.Command[2], os.Args[0])), told)
	require.Contains(t, r.away.Line(), relay.HeartbeatMethod)
	require.Equal(t, ask, r.toFar(ask))
	told = r.toNear(`{"id":1,"result":{"protocolVersion":2,"agentInfo":{"name":"droid-acp","version":"1.2.3"}}}`)
	require.Contains(t, told, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The agent at the far side speaks version 2 of ACP`)
	require.Contains(t, told, `"kind":"far_version"`)
	r.end()
}

// Lines of megabytes are passed on.
func TestLongLines(t *testing.T) {
	r := connected(t, "/l=/r")
	text := strings.Repeat("x", 3<<20)
	line := `{"id":1,"method":"session/new","params":{"cwd":"/l/a","text":"` + text + `"}}`
	require.Equal(t, strings.Replace(line, "/l/a", "/r/a", 1), r.toFar(line))
	line = `{"id":1,"result":{"text":"` + text + `"}}`
	require.Equal(t, line, r.toNear(line))
	r.end()
}

// A line that is too long, from either side, ends the relay, and pending requests get an error with the limit.
func TestTooLongLines(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"the editor", "the far side"} {
		r := connected(t, "/l=/r", func(r *Relay) { r.max = 200 })
		r.toFar(`{"id":1,"method":"m"}`)
		from := map[string]io.Writer{"the editor": r.editor, "the far side": r.far}[who]
		go io.WriteString(from, `{"id":2,"method":"m","params":"`+strings.Repeat("x", 200)+`"}`+"\n")
		if who == "the editor" {
			r.away.Ends()
			require.NoError(t, r.far.Close())
		}
		told := r.near.Line()
		require.Contains(t, told, `"id":1,"error":{"code":-32603,"message":"droid-acp via passes on no message of more than 256 MiB, and a longer one came from `+who)
		require.Contains(t, told, `"kind":"far_ended"`)
		require.ErrorContains(t, <-r.ended, who)
	}
}

// An editor that does not read slows the far side down, and its own messages are still passed on.
func TestEditorThatDoesNotRead(t *testing.T) {
	r := connected(t, "/l=/r")
	flood := make(chan error, 1)
	go func() {
		line := []byte(`{"method":"session/update","params":{"update":{"content":{"text":"` + strings.Repeat("x", 1000) + `"}}}}` + "\n")
		var err error
		for range 100_000 {
			if _, err = r.far.Write(line); err != nil {
				break
			}
		}
		flood <- err
	}()
	const cancel = `{"method":"session/cancel","params":{"sessionId":"s"}}`
	require.Equal(t, cancel, r.toFar(cancel))
	require.LessOrEqual(t, r.relay.near.Out.Size(), 4<<20)
	select {
	case err := <-flood:
		t.Fatal("all was taken", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.LessOrEqual(t, r.relay.near.Out.Size(), 4<<20)
	_ = r.out.Close() // the editor has gone
	require.NoError(t, r.far.Close())
	require.NoError(t, <-r.ended)
	require.Error(t, <-flood)
}

// When the editor's stdout ends or the program is asked to end, the far side ends.
func TestEnds(t *testing.T) {
	for name, leave := range map[string]func(*rig, context.CancelFunc){
		"cancelled": func(_ *rig, cancel context.CancelFunc) { cancel() },
		"killed":    func(r *rig, _ context.CancelFunc) { r.relay.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "via")
			require.NoError(t, err)
			defer os.RemoveAll(dir)
			l, err := net.Listen("unix", filepath.Join(dir, "far"))
			require.NoError(t, err)
			defer l.Close()
			r := newRig(t, "/l=/r", os.Args[0], "far", l.Addr().String())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.run(ctx)
			conn, err := l.Accept()
			require.NoError(t, err)
			leave(r, cancel)
			_, err = io.Copy(io.Discard, conn) // its stdin ends, or it is killed
			_ = err
			require.NoError(t, conn.Close())
			require.NoError(t, <-r.ended)
		})
	}
}

// A far side that has sent heartbeats, and then nothing more, is behind a dead link: pending requests fail. One that never sent any, such
// as an agent without --keep, may be silent.
func TestFarSideFallsSilent(t *testing.T) {
	t.Parallel()
	const initialize, alive = `{"id":1,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","method":"_droid-acp/alive"}`
	const agent = `{"id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"%s","version":"1.2.3"}}}`
	r := connected(t, "", func(r *Relay) { r.heartbeatTimeout = 300 * time.Millisecond })
	r.toFar(initialize)
	r.toNear(strings.Replace(agent, "%s", "droid-acp", 1))
	require.Equal(t, alive, r.away.Line())
	time.Sleep(2 * r.relay.heartbeatTimeout)
	r.toFar(`{"id":2,"method":"session/prompt","params":{}}`)
	r.away.Say(alive)
	require.Contains(t, r.near.Line(), `"id":2,"error":{"code":-32603,"message":"Nothing has come from the far side for 0 s, so the connection to it is dead. What runs there goes on.`)
	go r.near.Rest()
	require.NoError(t, r.editor.Close())
	require.ErrorContains(t, <-r.ended, "the connection to it is dead")

	r = connected(t, "")
	r.toFar(initialize)
	r.toNear(strings.Replace(agent, "%s", "other", 1))
	require.Equal(t, `{"id":3}`, r.toFar(`{"id":3}`), "an agent that is not this program's is told nothing of the kind")
	r.end()
}
