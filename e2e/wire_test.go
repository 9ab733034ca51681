//go:build e2e && linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/droids"
	"droid-acp/internal/testing/modelserver"
)

// wireEnv names a version of droid whose messages are to be recorded, or whose vocabulary is to be read: `make record` and `make
// vocabulary`. Only that droid is fetched then.
const wireEnv = "DROID_ACP_E2E_WIRE"

// knownDroids is the directory of data about droids.
const knownDroids = "../testdata/droids"

// How long a recorder waits for what a scenario expects, and for silence.
const (
	recordWait  = 20 * time.Second
	recordCall  = 90 * time.Second // on a busy machine droid takes long to start
	recordQuiet = time.Second
	recordEnd   = 6 * time.Second
)

func wireVersion(t *testing.T) string {
	t.Helper()
	version := os.Getenv(wireEnv)
	if version == "" {
		t.Skip("make record VERSION=x, make vocabulary VERSION=x")
	}
	return version
}

// TestVocabulary extracts the names in droid's program.
func TestVocabulary(t *testing.T) {
	version := wireVersion(t)
	program, err := os.ReadFile(programs.Droids[version])
	require.NoError(t, err)
	words, err := droids.ReadVocabulary(program)
	require.NoError(t, err)
	require.NoError(t, words.Write(knownDroids, version))
}

// TestRecordWire records all conversations of the catalogue with a droid.
func TestRecordWire(t *testing.T) {
	version := wireVersion(t)
	dir := filepath.Join(knownDroids, "scenarios")
	all, err := droids.LoadScenarios(dir)
	require.NoError(t, err)
	var mu sync.Mutex
	talks := map[string][]string{}
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				lines := recordWire(t, dir, s, version)
				mu.Lock()
				defer mu.Unlock()
				talks[s.Name] = lines
			})
		}
	})
	if !t.Failed() { // those skipped by -run are kept
		require.NoError(t, droids.Write(knownDroids, version, talks))
	}
}

// recordWire has one conversation, and returns its lines in the format of a recording.
func recordWire(t *testing.T, dir string, s *droids.Scenario, version string) []string {
	model := newModel(t)
	h := newHome(t, version, model.URL())
	require.NoError(t, modelserver.WriteSettingsFor(h.dir, modelserver.Model{URL: model.URL(), Provider: s.Provider}))
	self, err := os.Executable()
	require.NoError(t, err)
	own := s.Own()
	s, err = s.At(dir, map[string]string{"$WORK": h.work, "$HOME": h.dir, "$SELF": self})
	require.NoError(t, err)
	for word, steps := range s.Model {
		model.On(word, steps...)
	}
	for name, text := range s.Files {
		path := filepath.Join(h.work, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	d := startWire(t, h)
	for i, m := range s.Moves {
		require.NoError(t, d.move(m), "move %d", i+1)
	}
	d.settle()
	_ = d.cmd.Process.Kill() // it has ended otherwise
	d.read.Wait()
	_ = d.cmd.Wait()
	h.endTools(t)
	require.Empty(t, d.errors.String())
	require.Empty(t, d.unanswered, "requests")
	lines := []string{fmt.Sprintf("! droid %s protocol %s", version, d.protocol)}
	// Real paths are replaced first: the session's directory is within HOME.
	normal := droids.NewNormal(own, h.work, "$WORK", h.dir, "$HOME", self, "$SELF", strings.ReplaceAll(h.work, "/", "-"), "$WORK")
	for _, line := range droids.Fold(d.lines) {
		if !line.Message {
			lines = append(lines, string(line.Dir)+" "+string(line.Text))
			continue
		}
		text, err := normal.Line(line.Text)
		require.NoError(t, err, "%s", line.Text)
		lines = append(lines, string(line.Dir)+" "+text)
	}
	for _, r := range model.Requests() {
		if !r.Side {
			var roles []string
			for _, m := range r.Messages {
				roles = append(roles, m.Role)
			}
			lines = append(lines, "! model is asked: "+strings.Join(roles, " "))
		}
	}
	return lines
}

// wire is a droid that is recorded.
type wire struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	errors bytes.Buffer
	read   sync.WaitGroup

	mu       sync.Mutex
	lines    []droids.Line
	changed  chan struct{} // closed and replaced with each line
	ended    bool
	protocol string
	seen     int // lines that Await need not look at
	asked    int // lines that Answer need not look at
	calls    int

	unanswered []string // requests
}

func startWire(t *testing.T, h home) *wire {
	d := &wire{changed: make(chan struct{}), protocol: "none"}
	d.cmd = exec.Command(h.droid, "exec", "--input-format", "stream-jsonrpc", "--output-format", "stream-jsonrpc", "--cwd", h.work)
	d.cmd.Dir, d.cmd.Env, d.cmd.Stderr = h.work, h.env, &d.errors
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := d.cmd.StdoutPipe()
	require.NoError(t, err)
	d.stdin, err = d.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, d.cmd.Start())
	d.read.Go(func() {
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				d.add(droids.Line{}, true)
				return
			}
			d.add(droids.Line{Dir: '<', Text: bytes.TrimSpace(line), Message: true}, false)
		}
	})
	return d
}

func (d *wire) add(line droids.Line, ended bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var m struct {
		Protocol string `json:"factoryProtocolVersion"`
	}
	if json.Unmarshal(line.Text, &m) == nil && m.Protocol != "" && d.protocol == "none" {
		d.protocol = m.Protocol
	}
	if d.ended = ended; !ended {
		d.lines = append(d.lines, line)
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

// note records a remark.
func (d *wire) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, droids.Line{Dir: '!', Text: fmt.Appendf(nil, format, args...)})
}

// await waits for a line from an index on, and returns its index, or -1 and the reason.
func (d *wire) await(from int, limit time.Duration, ok func(line []byte) bool) (at int, why string) {
	late := time.After(limit)
	for {
		d.mu.Lock()
		lines, changed, ended := d.lines, d.changed, d.ended
		d.mu.Unlock()
		for ; from < len(lines); from++ {
			if lines[from].Dir == '<' && ok(lines[from].Text) {
				return from, ""
			}
		}
		if ended {
			return -1, "it ended, and nothing came"
		}
		select {
		case <-changed:
		case <-late:
			return -1, "nothing came"
		}
	}
}

// settle waits until droid has written nothing for a while.
func (d *wire) settle() {
	for end := time.Now().Add(recordEnd); time.Now().Before(end); {
		d.mu.Lock()
		n := len(d.lines)
		d.mu.Unlock()
		if _, why := d.await(n, recordQuiet, func([]byte) bool { return true }); why != "" {
			return
		}
	}
}

// send writes a line, and records it.
func (d *wire) send(line []byte, message bool) (at int) {
	d.mu.Lock()
	at = len(d.lines)
	if message {
		d.lines = append(d.lines, droids.Line{Dir: '>', Text: line, Message: true})
	}
	d.mu.Unlock()
	_, _ = d.stdin.Write(append(bytes.Clone(line), '\n')) // a droid that has exited is noticed by await
	return at
}

func (d *wire) message(fields map[string]any) (at int) {
	fields["jsonrpc"], fields["factoryApiVersion"] = "2.0", "1.0.0"
	line, _ := json.Marshal(fields) // of decoded JSON
	return d.send(line, true)
}

// call sends a request, and returns its index and ID.
func (d *wire) call(method string, params json.RawMessage) (at int, id string) {
	d.calls++
	id = fmt.Sprint(d.calls)
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	return d.message(map[string]any{"type": "request", "id": id, "method": method, "params": params}), id
}

// answered waits for the answer to a request, or for an error that names none.
func (d *wire) answered(at int, id string) (line []byte) {
	at, why := d.await(at, recordCall, func(line []byte) bool {
		var m struct {
			Type string
			ID   *string
		}
		return json.Unmarshal(line, &m) == nil && m.Type == "response" && (m.ID == nil || *m.ID == id)
	})
	if why != "" {
		d.note("%s for the request %s", why, id)
		d.unanswered = append(d.unanswered, id)
		return nil
	}
	return d.lines[at].Text
}

func (d *wire) move(m droids.Move) error {
	switch {
	case m.Close:
		d.note("stdin end")
		return d.stdin.Close()
	case m.Line != "":
		if !json.Valid([]byte(m.Line)) {
			d.note("the client sends what is no JSON")
		}
		d.send([]byte(m.Line), json.Valid([]byte(m.Line)))
		d.settle()
	case m.Prompt != "":
		params, err := json.Marshal(map[string]any{"text": m.Prompt})
		if err != nil {
			return err
		}
		at, id := d.call("droid.add_user_message", params)
		d.seen = at
		if !m.NoWait {
			d.answered(at, id)
		}
	case m.Call != "":
		for end := time.Now().Add(recordEnd); ; {
			at, id := d.call(m.Call, m.Params)
			if m.NoWait {
				return nil
			}
			answer := d.answered(at, id)
			if m.Until == "" || strings.Contains(string(answer), m.Until) || time.Now().After(end) {
				return nil
			}
			d.mu.Lock()
			d.lines = d.lines[:at:at] // it is repeated, and what was written during it is dropped
			d.mu.Unlock()
			time.Sleep(recordQuiet / 4)
		}
	case m.Await != nil:
		at, why := d.await(d.seen, recordWait, func(line []byte) bool { return has(line, m.Await) })
		if why != "" {
			d.note("%s of what was awaited", why)
			return nil
		}
		d.seen = at + 1
	case m.Answer != nil, m.Leave:
		var id string
		at, why := d.await(d.asked, recordWait, func(line []byte) bool {
			var q struct{ Type, ID, Method string }
			if json.Unmarshal(line, &q) != nil || q.Type != "request" {
				return false
			}
			id = q.ID
			return true
		})
		if why != "" {
			d.note("%s to be answered", why)
			return nil
		}
		d.asked = at + 1
		if !m.Leave {
			d.message(map[string]any{"type": "response", "id": id, "result": m.Answer})
		}
	}
	return nil
}

// has reports whether a line is a notification with these fields.
func has(line []byte, fields map[string]any) bool {
	var m struct {
		Params struct {
			Notification map[string]any
		}
	}
	if json.Unmarshal(line, &m) != nil || m.Params.Notification == nil {
		return false
	}
	for name, value := range fields {
		if fmt.Sprint(m.Params.Notification[name]) != fmt.Sprint(value) {
			return false
		}
	}
	return true
}
