//go:build e2e && linux

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/modelserver"
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

// quickEditor answers at once and has no buffers: what is measured is the agent's share.
type quickEditor struct{}

func (quickEditor) ReadTextFile(_ context.Context, path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

func (quickEditor) WriteTextFile(_ context.Context, path, text string) error {
	return os.WriteFile(path, []byte(text), 0o644)
}

// cpuTime is the processor time that a process has taken, to 10 ms (proc(5), stat). It says what the
// agent takes on a busy machine, too.
func cpuTime(b *testing.B, pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	var ticks int
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(field)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// BenchmarkEditorFiles is one call of Read or Edit with the files on the disk and in the
// editor. An edit in the editor has a pause of 20 ms in which the editor is waited for.
func BenchmarkEditorFiles(b *testing.B) {
	for _, version := range []string{oldDroid, newDroid} {
		for _, of := range []struct {
			tool string
			kB   int
		}{{"Read", 0}, {"Edit", 0}, {"Edit", 100}, {"Edit", 300}, {"Edit", 1000}, {"Edit", 3000}} {
			for _, way := range []string{"disk", "editor"} {
				b.Run(fmt.Sprintf("%s/%s of %d kB/%s", version, of.tool, of.kB, way), func(b *testing.B) { benchmarkFiles(b, version, of.tool, of.kB, way) })
			}
		}
	}
}

func benchmarkFiles(b *testing.B, version, tool string, kB int, way string) {
	model := newModel(b)
	h := newHome(b, version, model.URL())
	path := filepath.Join(h.work, "a.txt")
	text := "n 0\n" + strings.Repeat("0123456789012345678901234567890123456789012345678\n", 20*kB)
	require.NoError(b, os.WriteFile(path, []byte(text), 0o644))
	var steps []modelserver.Step
	for n := range b.N {
		other := filepath.Join(h.work, fmt.Sprintf("%d.txt", n)) // droid breaks off what repeats itself (0.225)
		require.NoError(b, os.WriteFile(other, []byte("one\ntwo\n"), 0o644))
		call := toRead(other)
		if tool != "Read" {
			call = toEdit(path, fmt.Sprintf("n %d\n", n), fmt.Sprintf("n %d\n", n+1))
		}
		steps = append(steps, modelserver.Step{Tools: []modelserver.ToolCall{call}})
	}
	model.On("work", append(steps, modelserver.Step{Text: "Done."})...)
	c := startAgent(b, h, "--files", way, "--mode", "auto-low")
	s := c.openWith(h, quickEditor{})
	before := cpuTime(b, c.cmd.Process.Pid)
	b.ResetTimer()
	end := s.prompt("work").end(5 * time.Minute)
	b.StopTimer()
	b.ReportMetric(float64((cpuTime(b, c.cmd.Process.Pid)-before).Milliseconds())/float64(b.N), "agent-cpu-ms/op")
	require.Nil(b, end.Err)
	require.Len(b, end.tools(), b.N)
}
