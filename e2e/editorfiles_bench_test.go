//go:build e2e && linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/modelserver"
)

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
