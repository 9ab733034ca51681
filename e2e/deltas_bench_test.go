//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
	"droid-acp/internal/modelserver"
)

// Variables that make this test binary another program.
const (
	// sourceEnv: a scripted droid that answers each prompt with so many deltas, all of them
	// different, as fast as it can. $DROID_ACP_E2E_SOURCE_LINES says how many go into one write.
	sourceEnv = "DROID_ACP_E2E_SOURCE"
	linesEnv  = "DROID_ACP_E2E_SOURCE_LINES"
	// relayEnv: a program that starts the droid that this names, and only copies bytes both ways.
	relayEnv = "DROID_ACP_E2E_RELAY"
)

// pretended is what this process is to play instead of tests, nil for nothing.
func pretended() func() error {
	switch {
	case os.Getenv(preparedEnv) != "":
		return nil
	case os.Getenv(relayEnv) != "":
		return playRelay
	case os.Getenv(sourceEnv) != "":
		return playSource
	}
	return nil
}

// playSource is the scripted droid.
func playSource() error {
	deltas, err := strconv.Atoi(os.Getenv(sourceEnv))
	if err != nil {
		return err
	}
	lines, err := strconv.Atoi(os.Getenv(linesEnv))
	if err != nil {
		return err
	}
	return fakedroid.Run(os.Stdin, os.Stdout, func(d *fakedroid.Droid) error {
		for {
			p, err := d.AwaitPrompt()
			if err != nil {
				return err
			}
			if err := d.Turn(p, func() error { return sayDeltas(d, deltas, lines) }); err != nil {
				return err
			}
		}
	})
}

func sayDeltas(d *fakedroid.Droid, deltas, lines int) error {
	var b []byte
	for i := range deltas {
		b = append(b, `{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.220.0","method":"droid.session_notification",`+
			`"params":{"notification":{"type":"assistant_text_delta","messageId":"0b4d9a9e-2b39-4b6e-9a55-5bb8f24dd4c5","blockIndex":0,"textDelta":"word `...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, ` "},"sessionId":"fa4ed801-0000-4000-8000-000000000001"}}`...)
		if (i+1)%lines == 0 || i == deltas-1 {
			if err := d.Line(b); err != nil {
				return err
			}
			b = b[:0]
		} else {
			b = append(b, '\n')
		}
	}
	return nil
}

// playRelay copies bytes both ways between its own ends and droid's.
func playRelay() error {
	cmd := exec.Command(os.Getenv(relayEnv), os.Args[1:]...)
	cmd.Env = append(os.Environ(), relayEnv+"=")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{stdin}, os.Stdin) // no splice: lines are what is copied
		_ = stdin.Close()
	}()
	_, err = io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{stdout})
	return errors.Join(err, cmd.Wait())
}

// speaker is a client that does next to nothing: it writes lines and looks for words in those
// that come.
type speaker struct {
	b     *testing.B
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func speakTo(b *testing.B, h home, env []string, program string, args ...string) *speaker {
	b.Helper()
	s := &speaker{b: b, cmd: exec.Command(program, args...)}
	s.cmd.Env, s.cmd.Dir = append(slices.Clone(h.env), env...), h.work
	var err error
	s.stdin, err = s.cmd.StdinPipe()
	require.NoError(b, err)
	out, err := s.cmd.StdoutPipe()
	require.NoError(b, err)
	s.out = bufio.NewReaderSize(out, 64<<10)
	require.NoError(b, s.cmd.Start())
	return s
}

func (s *speaker) say(format string, a ...any) {
	s.b.Helper()
	_, err := fmt.Fprintf(s.stdin, format+"\n", a...)
	require.NoError(s.b, err)
}

// until reads to a line that has these words, and returns it. Each line before goes to seen.
func (s *speaker) until(words string, seen func(line []byte)) string {
	s.b.Helper()
	var long []byte
	for {
		line, err := s.out.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, line...)
			continue
		}
		require.NoError(s.b, err, "waiting for %q", words)
		if long != nil {
			line, long = append(long, line...), nil
		}
		if bytes.Contains(line, []byte(words)) {
			return string(line)
		}
		if seen != nil {
			seen(line)
		}
	}
}

func (s *speaker) end() {
	_ = s.stdin.Close()
	_, _ = io.Copy(io.Discard, s.out)
	_ = s.cmd.Wait()
}

// cpu is the processor time of the process alone, without its children.
func (s *speaker) cpu() (sum time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	for _, task := range tasks {
		if data, err := os.ReadFile(task); err == nil {
			ns, _ := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}

// memory is what the process holds at present, in kB.
func (s *speaker) memory() (kB float64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(s.b, err)
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, _ = fmt.Sscan(rest, &kB)
		}
	}
	return kB
}

// measured is what was measured of some turns.
type measured struct{ first, wall, cpu, memory []float64 } // ms, ms, ms, MB

// turn sends a prompt and measures until the line that ends its turn. It returns how many chunks came.
func (m *measured) turn(s *speaker, marker, end string, prompt func()) (chunks int) {
	s.b.Helper()
	before, began := s.cpu(), time.Now()
	prompt()
	var first time.Duration
	s.until(end, func(line []byte) {
		if bytes.Contains(line, []byte(marker)) {
			if chunks++; chunks == 1 {
				first = time.Since(began)
			}
		}
	})
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	m.wall = append(m.wall, ms(time.Since(began)))
	m.first, m.cpu = append(m.first, ms(first)), append(m.cpu, ms(s.cpu()-before))
	m.memory = append(m.memory, s.memory()/1024)
	return chunks
}

// rawTurns speaks droid's own protocol.
func rawTurns(s *speaker, work string, rounds int, m *measured) {
	request := func(id, method, params string) {
		s.say(`{"jsonrpc":"2.0","type":"request","factoryApiVersion":"1.0.0","id":%q,"method":%q,"params":%s}`, id, method, params)
	}
	request("1", "droid.initialize_session", fmt.Sprintf(`{"machineId":"bench","cwd":%q}`, work))
	s.until(`"id":"1"`, nil)
	for i := range rounds {
		m.turn(s, `_text_delta"`, `"newState":"idle"`, func() { request(fmt.Sprint(i+2), "droid.add_user_message", `{"text":"go"}`) })
	}
}

// acpTurns speaks ACP.
func acpTurns(s *speaker, work string, rounds int, m *measured) {
	request := func(id int, method, params string) {
		s.say(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	}
	request(1, "initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	s.until(`"id":1,`, nil)
	request(2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, work))
	_, rest, _ := strings.Cut(s.until(`"id":2,`, nil), `"sessionId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	for i := range rounds {
		m.turn(s, `"agent_message_chunk"`, fmt.Sprintf(`"id":%d,`, i+3), func() {
			request(i+3, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}`, id))
		})
	}
}

func report(b *testing.B, name string, m measured) {
	for unit, list := range map[string][]float64{"first-ms": m.first, "wall-ms": m.wall, "cpu-ms": m.cpu, "MB": m.memory} {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name+"-"+unit)
	}
}

// BenchmarkDeltas measures turns of 20,000 deltas: droid alone (raw), behind a program that only
// copies (relay), and behind droid-acp. One round has a turn of each; a session has one turn
// before, which is not counted. Run it with
//
//	go test -tags e2e -run '^$' -bench Deltas -benchtime 9x ./e2e
func BenchmarkDeltas(b *testing.B) {
	const deltas = 20_000
	self, err := os.Executable()
	require.NoError(b, err)
	for _, source := range []struct{ name, version string }{{"scripted", ""}, {"scripted64", ""}, {newDroid, newDroid}, {oldDroid, oldDroid}} {
		b.Run(source.name, func(b *testing.B) {
			model := newModel(b)
			var text strings.Builder
			for i := range deltas {
				_, _ = fmt.Fprintf(&text, "word%d ", i)
			}
			model.On("go", modelserver.Step{Text: text.String()})
			h := newHome(b, newDroid, model.URL())
			var env []string
			switch source.name {
			case "scripted":
				h.droid, env = self, []string{fmt.Sprintf("%s=%d", sourceEnv, deltas), linesEnv + "=1"}
			case "scripted64":
				h.droid, env = self, []string{fmt.Sprintf("%s=%d", sourceEnv, 15*deltas), linesEnv + "=64"}
			default:
				h = newHome(b, source.version, model.URL())
			}
			droidArgs := []string{"exec", "--input-format", "stream-jsonrpc", "--output-format", "stream-jsonrpc"}
			all := []struct {
				name  string
				start func() *speaker
				turns func(*speaker, string, int, *measured)
				m     measured
			}{
				{name: "raw", turns: rawTurns, start: func() *speaker { return speakTo(b, h, env, h.droid, droidArgs...) }},
				{name: "relay", turns: rawTurns, start: func() *speaker { return speakTo(b, h, append(env, relayEnv+"="+h.droid), self, droidArgs...) }},
				{name: "agent", turns: acpTurns, start: func() *speaker { return speakTo(b, h, env, programs.Agent, "--droid", h.droid) }},
			}
			for b.Loop() {
				for i := range all {
					s := all[i].start()
					var m measured
					all[i].turns(s, h.work, 2, &m)
					s.end()
					for to, from := range map[*[]float64][]float64{&all[i].m.first: m.first, &all[i].m.wall: m.wall, &all[i].m.cpu: m.cpu, &all[i].m.memory: m.memory} {
						*to = append(*to, from[1])
					}
				}
			}
			for _, a := range all {
				report(b, a.name, a.m)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
