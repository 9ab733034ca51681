//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
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

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/modelserver"
)

// Variables that turn this test binary into another program.
const (
	// sourceEnv: a scripted droid that answers each prompt with so many deltas, all of them
	// different. linesEnv says how many go into one write, and messagesEnv of how many messages
	// they are in turn. They come as fast as they can, or one each paceEnv, with the time.
	sourceEnv   = "DROID_ACP_E2E_SOURCE"
	linesEnv    = "DROID_ACP_E2E_SOURCE_LINES"
	messagesEnv = "DROID_ACP_E2E_SOURCE_MESSAGES"
	paceEnv     = "DROID_ACP_E2E_SOURCE_PACE"
	// relayEnv: a program that starts the droid named by it, and only copies bytes in both directions.
	relayEnv = "DROID_ACP_E2E_RELAY"
)

// otherProgram returns the program that this process must be instead of the tests, nil for none.
func otherProgram() func() error {
	switch {
	case os.Getenv(preparedEnv) != "":
		return nil
	case os.Getenv(farEnv) != "":
		return playFar
	case os.Getenv(relayEnv) != "":
		return playRelay
	case os.Getenv(sourceEnv) != "":
		return playSource
	case os.Getenv(subagentsEnv) != "":
		return playSubagents
	}
	return nil
}

// source is the scripted droid.
type source struct {
	deltas, lines, messages int
	pace                    time.Duration
}

func (s source) env() []string {
	return []string{fmt.Sprintf("%s=%d", sourceEnv, s.deltas), fmt.Sprintf("%s=%d", linesEnv, s.lines), fmt.Sprintf("%s=%d", messagesEnv, s.messages), fmt.Sprintf("%s=%s", paceEnv, s.pace)}
}

// playSource is the scripted droid as a program.
func playSource() error {
	var s source
	pace, err := time.ParseDuration(os.Getenv(paceEnv))
	s.pace = pace
	for name, to := range map[string]*int{sourceEnv: &s.deltas, linesEnv: &s.lines, messagesEnv: &s.messages} {
		if err == nil {
			*to, err = strconv.Atoi(os.Getenv(name))
		}
	}
	if err != nil {
		return err
	}
	return fakedroid.Run(os.Stdin, os.Stdout, func(d *fakedroid.Droid) error {
		for {
			p, err := d.AwaitPrompt()
			if err != nil {
				return err
			}
			if err := d.Turn(p, func() error { return s.say(d) }); err != nil {
				return err
			}
		}
	})
}

func (s source) say(d *fakedroid.Droid) error {
	var b []byte
	for i := range s.deltas {
		time.Sleep(s.pace)
		b = append(b, `{"jsonrpc":"2.0","type":"notification","factoryApiVersion":"1.0.0","factoryProtocolVersion":"1.220.0","method":"droid.session_notification",`+
			`"params":{"notification":{"type":"assistant_text_delta","messageId":"0b4d9a9e-2b39-4b6e-9a55-5bb8f24dd4c`...)
		b = strconv.AppendInt(b, int64(i%s.messages), 10)
		b = append(b, `","blockIndex":0,"textDelta":"word`...)
		b = strconv.AppendInt(b, int64(i), 10)
		if s.pace > 0 {
			b = append(b, stampMark...)
			b = strconv.AppendInt(b, time.Now().UnixNano(), 10)
		}
		b = append(b, ` "},"sessionId":"fa4ed801-0000-4000-8000-000000000001"},"_meta":{"traceparent":"00-9cc766d37c7f8ad4888a8b33b47c2d04-`...)
		b = append(b, fmt.Sprintf("%016x", i)...) // 0.225 has a span in each
		b = append(b, `-01"}}`...)
		if (i+1)%s.lines == 0 || i == s.deltas-1 {
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

// stampMark stands before the time in a delta's text, in nanoseconds.
const stampMark = " at:"

// age returns how long ago the text of a line was written, 0 if unknown.
func age(line []byte) time.Duration {
	_, rest, _ := bytes.Cut(line, []byte(stampMark))
	digits := rest[:max(0, bytes.IndexByte(rest, ' '))]
	if written, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
		return time.Duration(time.Now().UnixNano() - written)
	}
	return 0
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
		_, _ = io.Copy(struct{ io.Writer }{stdin}, os.Stdin) // no splice: lines are copied
		_ = stdin.Close()
	}()
	_, err = io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{stdout})
	return errors.Join(err, cmd.Wait())
}

// speaker is a minimal client: it writes lines and searches those that it gets.
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

// until reads up to a line that contains these words, and returns it. Each line before is passed to seen.
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

// cpu returns the processor time of the process, without its children.
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

// memory returns the memory of the process, in kB.
func (s *speaker) memory() (kB float64) { return s.status("VmRSS") }

// status returns a field of the process's status, in kB (proc(5)): VmRSS for its memory, VmHWM for the maximum.
func (s *speaker) status(field string) (kB float64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(s.b, err)
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			_, _ = fmt.Sscan(rest, &kB)
		}
	}
	return kB
}

// figures are samples by name.
type figures map[string][]float64

func (f figures) add(name string, sample float64) { f[name] = append(f[name], sample) }

func (f figures) addTime(name string, d time.Duration) { f.add(name, ms(d)) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// at returns the value that this fraction of the samples does not exceed.
func (f figures) at(name string, part float64) float64 {
	list := slices.Sorted(slices.Values(f[name]))
	return list[min(int(part*float64(len(list))), len(list)-1)]
}

// protocol is how a program is spoken to.
type protocol struct {
	open    func(s *speaker, work string) (session string)
	prompt  func(s *speaker, session string, id int)
	delta   string           // stands in each line that has text of the model
	ended   func(int) string // stands in the line that ends a turn
	greeted func(s *speaker)
}

var raw = protocol{
	open: func(s *speaker, work string) string {
		s.raw("1", "droid.initialize_session", fmt.Sprintf(`{"machineId":"bench","cwd":%q}`, work))
		s.until(`"id":"1"`, nil)
		return ""
	},
	prompt:  func(s *speaker, _ string, id int) { s.raw(fmt.Sprint(id), "droid.add_user_message", `{"text":"go"}`) },
	delta:   `_text_delta"`,
	ended:   func(int) string { return `"newState":"idle"` },
	greeted: func(*speaker) {},
}

func (s *speaker) raw(id, method, params string) {
	s.say(`{"jsonrpc":"2.0","type":"request","factoryApiVersion":"1.0.0","id":%q,"method":%q,"params":%s}`, id, method, params)
}

var agentClient = protocol{
	greeted: func(s *speaker) {
		s.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
		s.until(`"id":1,`, nil)
	},
	open: func(s *speaker, work string) string {
		s.say(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, work)
		_, rest, _ := strings.Cut(s.until(`"id":2,`, nil), `"sessionId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	},
	prompt: func(s *speaker, session string, id int) {
		s.say(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, id, session)
	},
	delta: `"agent_message_chunk"`,
	ended: func(id int) string { return fmt.Sprintf(`"id":%d,`, id) },
}

// party is a measured program.
type party struct {
	name  string
	p     protocol
	start func() *speaker
}

// parties returns all compared programs. For via the processor time is its own, without the agent behind it.
func (h home) parties(b *testing.B, env ...string) []party {
	self, err := os.Executable()
	require.NoError(b, err)
	link := h.dir + ".far"
	require.NoError(b, os.Symlink(h.dir, link))
	droid := []string{"exec", "--input-format", "stream-jsonrpc", "--output-format", "stream-jsonrpc"}
	return []party{
		{"raw", raw, func() *speaker { return speakTo(b, h, env, h.droid, droid...) }},
		{"relay", raw, func() *speaker { return speakTo(b, h, append(env, relayEnv+"="+h.droid), self, droid...) }},
		{"droid-acp", agentClient, func() *speaker {
			return speakTo(b, h, append(env, "DROID_ACP_SPARE=each"), programs.Agent, "--droid", h.droid)
		}},
		{"via", agentClient, func() *speaker {
			return speakTo(b, h, env, programs.Agent, "via", "--map", h.dir+"="+link, "--", programs.Agent, "--droid", h.droid)
		}},
	}
}

// turns runs two turns of a party, the second of which is measured.
func (p party) turns(b *testing.B, h home, deltas int, f figures) {
	s := p.start()
	defer s.end()
	p.p.greeted(s)
	session := p.p.open(s, h.work)
	for id := 10; id < 12; id++ {
		words, chunks := 0, 0
		var first time.Duration
		before, began := s.cpu(), time.Now()
		p.p.prompt(s, session, id)
		s.until(p.p.ended(id), func(line []byte) {
			if !bytes.Contains(line, []byte(p.p.delta)) {
				return
			}
			if chunks++; chunks == 1 {
				first = time.Since(began)
			}
			words += bytes.Count(line, []byte("word"))
			if id == 11 {
				if d := age(line); d > 0 {
					f.addTime(p.name+" delta", d)
				}
			}
		})
		require.Equal(b, deltas, words, "all that the model said")
		if id == 11 {
			f.addTime(p.name+" wall", time.Since(began))
			f.addTime(p.name+" first", first)
			f.addTime(p.name+" cpu", s.cpu()-before)
			f.add(p.name+" memory", s.memory()/1024)
			f.add(p.name+" chunks", float64(chunks))
		}
	}
}

// starts measures how long a party takes until it answers and until it has a session, cold and a second later, and until it has a second
// session.
func (p party) starts(h home, f figures) {
	began := time.Now()
	s := p.start()
	p.p.greeted(s)
	if p.name != "raw" { // which asks nothing
		f.addTime(p.name+" answers", time.Since(began))
	}
	p.p.open(s, h.work)
	f.addTime(p.name+" session", time.Since(began))
	s.end()

	s = p.start()
	defer s.end()
	p.p.greeted(s)
	time.Sleep(time.Second)
	open := func(name string) {
		began := time.Now()
		p.p.open(s, h.work)
		f.addTime(p.name+name, time.Since(began))
	}
	open(" waited")
	if p.name == "droid-acp" {
		time.Sleep(5 * time.Second)
		open(" next")
	}
}

// BenchmarkPerformance measures droid-acp and its references, and updates the table of docs/dev/performance.md if
// $DROID_ACP_E2E_PERFORMANCE names that file. Each round runs all of them one after the other. `make bench` runs it.
func BenchmarkPerformance(b *testing.B) {
	const deltas = 20_000
	for _, version := range []string{newDroid, oldDroid} {
		b.Run("droid "+version, func(b *testing.B) {
			model := newModel(b)
			var text strings.Builder
			for i := range deltas {
				_, _ = fmt.Fprintf(&text, "word%d ", i)
			}
			model.On("go", modelserver.Step{Text: text.String()})
			h := newHome(b, version, model.URL())
			f, parties := figures{}, h.parties(b)
			for b.Loop() {
				for _, p := range parties {
					p.turns(b, h, deltas, f)
					if p.name == "raw" || p.name == "droid-acp" {
						p.starts(h, f)
					}
				}
				f.addTime("native answers", nativeInitialize(b, h))
				f.addTime("droid-acp hook", hookProcess(b))
			}
			write(b, "droid "+version, f, []figure{
				{"from the start to the answer to `initialize`", "answers", "ms"},
				{"from the start to a session", "session", "ms"},
				{"a session, a second after the start", "waited", "ms"},
				{"a second session, 5 s later", "next", "ms"},
				{"from a prompt to the first text", "first", "ms"},
				{"a turn of 20,000 deltas", "wall", "ms"},
				{"its own processor time for them", "cpu", "ms"},
				{"its own memory after them", "memory", "MB"},
				{"a hook process", "hook", "ms"},
			})
		})
	}
	for _, of := range []struct {
		name    string
		s       source
		figures []figure
	}{
		{"scripted, 300,000 deltas, 64 a write", source{15 * deltas, 64, 1, 0}, nil},
		{"scripted, 300,000 deltas of two messages in turn", source{15 * deltas, 64, 2, 0}, nil},
		{"scripted, a delta each 10 ms", source{200, 1, 1, 10 * time.Millisecond}, []figure{{"from droid's write to the client, per delta", "delta", "ms"}}},
	} {
		b.Run(of.name, func(b *testing.B) {
			h := newHome(b, newDroid, newModel(b).URL())
			var err error
			h.droid, err = os.Executable()
			require.NoError(b, err)
			f, parties := figures{}, h.parties(b, of.s.env()...)
			for b.Loop() {
				for _, p := range parties {
					p.turns(b, h, of.s.deltas, f)
				}
			}
			write(b, of.name, f, append(of.figures,
				figure{"wall", "wall", "ms"}, figure{"its own processor time", "cpu", "ms"}, figure{"its own memory", "memory", "MB"}, figure{"lines to the client", "chunks", ""}))
		})
	}
}

// hookProcess measures the program as droid's hook, without an agent.
func hookProcess(b *testing.B) time.Duration {
	b.Helper()
	cmd := exec.Command(programs.Agent, stream.OwnHook, "none")
	began := time.Now()
	require.NoError(b, cmd.Run())
	return time.Since(began)
}

// figure is a row of a table.
type figure struct{ what, name, unit string }

// write reports the medians, and updates the rows for these figures in the page's table.
func write(b *testing.B, name string, f figures, rows []figure) {
	filled := false
	for _, row := range rows {
		cell := func(party string) string {
			name := party + " " + row.name
			if f[name] == nil {
				return "–"
			}
			b.ReportMetric(f.at(name, .5), strings.ReplaceAll(name, " ", "-")+"-"+cmp.Or(row.unit, "lines"))
			return fmt.Sprintf("%.4g %s (%.4g–%.4g)", f.at(name, .5), row.unit, f.at(name, .25), f.at(name, .75))
		}
		alone, of := "raw", "–"
		if f["raw "+row.name] == nil {
			alone = "native"
		}
		if before := alone + " " + row.name; f[before] != nil {
			of = fmt.Sprintf("%.2f", f.at("droid-acp "+row.name, .5)/f.at(before, .5))
		}
		cell("relay")
		begins := "| " + name + ": " + row.what + " |"
		line := strings.Join([]string{begins, cell(alone), "|", cell("droid-acp"), "|", cell("via"), "|", of, "|"}, " ")
		if page := os.Getenv("DROID_ACP_E2E_PERFORMANCE"); page != "" {
			filled = fillRow(b, page, begins, line) || filled
		}
	}
	b.ReportMetric(0, "ns/op")
	if page := os.Getenv("DROID_ACP_E2E_PERFORMANCE"); page != "" {
		require.True(b, filled, "%s has no row of %q", page, name)
	}
}

// fillRow replaces the line of the page with this beginning by the row. It reports whether there is one.
func fillRow(b *testing.B, page, begins, row string) bool {
	text, err := os.ReadFile(page)
	require.NoError(b, err)
	before, rest, ok := strings.Cut(string(text), "\n"+begins)
	_, after, _ := strings.Cut(rest, "\n")
	if ok {
		require.NoError(b, os.WriteFile(page, []byte(before+"\n"+row+"\n"+after), 0o644))
	}
	return ok
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
