//go:build e2e && linux

package e2e

import (
	"bufio"
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/modelserver"
)

// BenchmarkUnpark measures the first word of a prompt to a parked session,
// against a bare droid that is started, loads the same session and gets the same
// prompt. Run it with
//
//	go test -tags e2e -run '^$' -bench Unpark -benchtime 5x ./e2e
func BenchmarkUnpark(b *testing.B) {
	for _, version := range []string{oldDroid, newDroid} {
		b.Run(version, func(b *testing.B) {
			model := newModel(b)
			model.On("hello", modelserver.Step{Text: "Hello."})
			h := newHome(b, version, model.URL())
			s := startAgent(b, h, "--park-after", "1ms").open(h)
			require.Equal(b, "Hello.", s.prompt("hello").end(turnLimit).text())

			var parked, bare []time.Duration
			for b.Loop() {
				h.awaitNoDroid(b, 20*time.Second)
				began := time.Now()
				turn := s.prompt("hello")
				turn.awaitUpdate("text", func(u update) bool { return u.SessionUpdate == "agent_message_chunk" })
				parked = append(parked, time.Since(began))
				turn.end(turnLimit)
				h.awaitNoDroid(b, 20*time.Second)
				bare = append(bare, bareFirstWord(b, h, s.id))
			}
			b.ReportMetric(median(parked), "parked-ms")
			b.ReportMetric(median(bare), "bare-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// bareFirstWord starts droid, loads the session, and times the first word of the
// answer.
func bareFirstWord(b *testing.B, h home, id string) time.Duration {
	b.Helper()
	ctx := context.Background()
	began := time.Now()
	client, err := droid.Start(droid.Command{Path: h.droid, Dir: h.work, Env: h.env}, nil)
	require.NoError(b, err)
	defer func() {
		client.Kill()
		<-client.Exited()
	}()
	_, err = client.Load(ctx, droid.LoadParams{SessionID: id})
	require.NoError(b, err)
	require.NoError(b, client.AddUserMessage(ctx, stream.UserMessage{Text: "hello"}))
	for ev := range client.Events() {
		if _, ok := ev.(stream.TextDelta); ok {
			return time.Since(began)
		}
	}
	b.Fatal("droid ended")
	return 0
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}

// BenchmarkStart measures, from the start of the process, the answer to
// initialize and to the session/new right behind it. The references are droid's
// own ACP mode, which answers initialize only (its sessions need a login), and a
// bare droid in the mode that droid-acp uses. Run it with
//
//	go test -tags e2e -run '^$' -bench Start -benchtime 5x ./e2e
func BenchmarkStart(b *testing.B) {
	for _, version := range []string{oldDroid, newDroid} {
		b.Run(version, func(b *testing.B) {
			h := newHome(b, version, newModel(b).URL())
			var initialized, opened, native, bare []time.Duration
			for b.Loop() {
				began := time.Now()
				c := startAgent(b, h).initialize()
				initialized = append(initialized, time.Since(began))
				c.mustCall("session/new", map[string]any{"cwd": h.work, "mcpServers": []any{}}, nil)
				opened = append(opened, time.Since(began))
				c.end(h)
				native = append(native, nativeInitialize(b, h))
				bare = append(bare, bareSession(b, h))
			}
			b.ReportMetric(median(initialized), "initialize-ms")
			b.ReportMetric(median(native), "native-initialize-ms")
			b.ReportMetric(median(opened), "session-ms")
			b.ReportMetric(median(bare), "bare-session-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// nativeInitialize starts droid in its own ACP mode and times the answer to
// initialize.
func nativeInitialize(b *testing.B, h home) time.Duration {
	b.Helper()
	cmd := exec.Command(h.droid, "exec", "--output-format", "acp")
	cmd.Env, cmd.Dir = h.env, h.work
	stdin, err := cmd.StdinPipe()
	require.NoError(b, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	began := time.Now()
	require.NoError(b, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	}()
	_, err = stdin.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}` + "\n"))
	require.NoError(b, err)
	answer, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(b, err)
	require.Contains(b, answer, "agentCapabilities")
	return time.Since(began)
}

// bareSession starts droid and times the answer to initialize_session.
func bareSession(b *testing.B, h home) time.Duration {
	b.Helper()
	began := time.Now()
	client, err := droid.Start(droid.Command{Path: h.droid, Dir: h.work, Env: h.env}, nil)
	require.NoError(b, err)
	defer func() {
		client.Kill()
		<-client.Exited()
	}()
	_, err = client.Initialize(context.Background(), droid.InitializeParams{MachineID: "bench", CWD: h.work})
	require.NoError(b, err)
	return time.Since(began)
}
