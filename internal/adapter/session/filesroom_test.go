//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"droid-acp/internal/adapter"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/testing/testeditor"
	"droid-acp/internal/workspace/editorfs"
)

// filesRoom is a client with buffers, a project on the disk, and droids that really read
// and edit it.
type filesRoom struct {
	*editor
	version fakedroid.Version
	modern  bool // droid asks after our hook, and tells the result after it
	base    string
	journal string
	dir     string
	o       testeditor.Options
	pipe    *hookPipe
	clock   *bubbleClock
	logs    *observer.ObservedLogs
	turn    func(d *fakedroid.Droid, p fakedroid.Prompt) error
	others  func(command string, stdin []byte) []byte // the user's hooks
	store   fakedroid.Sessions
	servers string // MCP servers of new sessions, in JSON
	extra   []fakedroid.Option

	afterSettings func() // called when a process has its settings, before it reads them
	processes     []*roomDroid
}

// roomDroid is one process.
type roomDroid struct {
	client *droid.Client

	mu       sync.Mutex
	settings string // what its settings file holds
	written  string // all that it has held
	told     []string
}

// held is all that its settings file has held: the MCP servers leave it again.
func (p *roomDroid) held() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written
}

func (p *roomDroid) file() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// bothDroids runs a test as the old and the new droid.
func bothDroids(t *testing.T, test func(t *testing.T, v fakedroid.Version)) {
	t.Helper()
	for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225} {
		t.Run(string(v), func(t *testing.T) {
			t.Setenv("FACTORY_HOME_OVERRIDE", filepath.Join(t.TempDir(), "nobody"))
			synctest.Test(t, func(t *testing.T) { test(t, v) })
		})
	}
}

const bothMethods = `{"fs":{"readTextFile":true,"writeTextFile":true}}`

// filesAgent opens an agent and an editor. Nothing is said yet.
func filesAgent(t *testing.T, v fakedroid.Version, change ...func(*filesRoom)) *filesRoom {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &filesRoom{
		version: v, modern: v == fakedroid.V0225, base: base, dir: filepath.Join(base, "project"),
		pipe: &hookPipe{}, clock: &bubbleClock{seen: make(map[[3]int64]time.Time)},
	}
	require.NoError(t, os.Mkdir(r.dir, 0o755))
	r.o = testeditor.Options{Root: r.dir, Poll: 25 * time.Millisecond, Delay: func() time.Duration { return 30 * time.Millisecond }}
	for _, f := range change {
		f(r)
	}
	buffers := testeditor.New(r.o)
	t.Cleanup(func() {
		buffers.Close()
		if !t.Failed() {
			r.nothingLeft(t)
		}
	})
	core, logs := observer.New(zap.DebugLevel)
	r.logs = logs
	r.journal = filepath.Join(base, "journal")
	r.editor = openAt(t, r.dir, r.start, zap.New(core), func(c *adapter.Config) { c.Journal, c.Listen, c.Modified = r.journal, r.pipe.listen, r.clock.changed })
	r.agent.Launcher.Stat = os.Stat
	r.files = buffers
	return r
}

// room is filesAgent with a session in the project.
func room(t *testing.T, v fakedroid.Version, change ...func(*filesRoom)) *filesRoom {
	t.Helper()
	r := filesAgent(t, v, change...)
	r.greets(bothMethods, "zed")
	r.session = r.newSession()
	return r
}

// slowAt has the editor take its time over a method, or over each; how long is set at any time.
func slowAt(method string, takes *atomic.Int64) func(*filesRoom) {
	return func(r *filesRoom) {
		r.o.Slow = func(m, _ string) time.Duration {
			if method != "" && m != method {
				return 0
			}
			return time.Duration(takes.Load())
		}
	}
}

func (r *filesRoom) greets(capabilities, name string) {
	r.t.Helper()
	require.Nil(r.t, r.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,"clientInfo":{"name":"`+name+`","version":"1"}}`).Error)
}

func (r *filesRoom) newSession() string {
	r.t.Helper()
	return r.sessionOf(r.call("session/new", `{"cwd":`+quoted(r.dir)+`,"mcpServers":[`+r.servers+`]}`))
}

// start is a starter.
func (r *filesRoom) start(int) (*droid.Client, error) {
	p := &roomDroid{}
	script := eachPrompt(func(d *fakedroid.Droid, prompt fakedroid.Prompt) error {
		err := r.turn(d, prompt)
		p.mu.Lock()
		p.told = d.Told()
		p.mu.Unlock()
		return err
	})
	stdout, stdin := fakedroid.Start(script, append([]fakedroid.Option{
		fakedroid.WithVersion(r.version), fakedroid.WithSessions(&r.store),
		fakedroid.WithHooks(fakedroid.Hooks{Settings: func() []byte { return []byte(p.file()) }, Run: r.hook}),
	}, r.extra...)...)
	p.client = droid.NewClientWithSettings(stdout, stdin, func(data []byte) error {
		p.mu.Lock()
		p.settings = string(data)
		p.written += p.settings
		p.mu.Unlock()
		if r.afterSettings != nil {
			r.afterSettings()
		}
		return nil
	}, zap.NewNop())
	r.processes = append(r.processes, p)
	return p.client, nil
}

func (r *filesRoom) hook(ctx context.Context, command string, stdin []byte) []byte {
	if stream.IsOwnHook(command) {
		return r.pipe.run(ctx, stdin)
	}
	if r.others == nil {
		return nil
	}
	return r.others(command, stdin)
}

// droid is the process that was started last.
func (r *filesRoom) droid() *roomDroid { return r.processes[len(r.processes)-1] }

// toldTheModel returns the texts of hooks for the model in this process.
func (r *filesRoom) toldTheModel() []string {
	p := r.droid()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

// does has the next turns use these tools, a message each.
func (r *filesRoom) does(tools ...fakedroid.Tool) {
	r.turn = func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		for _, t := range tools {
			if err := d.Use("", "", t); err != nil {
				return err
			}
		}
		return d.Say("", "Done.")
	}
}

// doesAtOnce has the next turns use these tools in one message.
func (r *filesRoom) doesAtOnce(tools ...fakedroid.Tool) {
	r.turn = func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
		if err := d.Use("", "", tools...); err != nil {
			return err
		}
		return d.Say("", "Done.")
	}
}

func readOf(path string) fakedroid.Tool {
	return fakedroid.Tool{Name: "Read", Input: fakedroid.Fields{"file_path": path}, Works: true}
}

func editOf(path, old, text string) fakedroid.Tool {
	return fakedroid.Tool{
		Name: "Edit", Input: fakedroid.Fields{"file_path": path, "old_str": old, "new_str": text}, Works: true,
		Confirmation: "edit", Impact: "low", Details: fakedroid.Fields{"filePath": path, "fileName": filepath.Base(path)},
	}
}

func createOf(path, text string) fakedroid.Tool {
	return fakedroid.Tool{
		Name: "Create", Input: fakedroid.Fields{"file_path": path, "content": text}, Works: true,
		Confirmation: "create", Impact: "low", Details: fakedroid.Fields{"filePath": path, "fileName": filepath.Base(path), "content": text},
	}
}

func (r *filesRoom) path(name string) string { return filepath.Join(r.dir, name) }

// has makes a file, long ago.
func (r *filesRoom) has(name, text string) string {
	r.t.Helper()
	path := r.path(name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o644))
	info, err := os.Stat(path)
	require.NoError(r.t, err)
	r.clock.changed(info)
	time.Sleep(5 * time.Second)
	return path
}

// open is has with a file that the user has open, and unsaved if he has typed before it.
func (r *filesRoom) opened(name, text, typed string) string {
	r.t.Helper()
	path := r.has(name, text)
	require.NoError(r.t, r.files.Open(path))
	if typed != "" {
		r.types(path, typed)
	}
	return path
}

func (r *filesRoom) types(path, text string) {
	r.t.Helper()
	require.NoError(r.t, r.files.Type(path, func(now string) string { return text + now }))
}

func (r *filesRoom) disk(path string) string {
	r.t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(r.t, err)
	return string(data)
}

func (r *filesRoom) buffer(path string) string {
	text, _ := r.files.Buffer(path)
	return text
}

// holds sees that disk and buffer have this text, and after a while still do.
func (r *filesRoom) holds(path, text string) {
	r.t.Helper()
	require.Equal(r.t, text, r.disk(path))
	time.Sleep(5 * time.Second)
	require.Equal(r.t, text, r.disk(path))
	if now, open := r.files.Buffer(path); open {
		require.Equal(r.t, text, now)
		require.False(r.t, r.files.Dirty(path))
	}
}

// reviewed sees that the editor lists an edit of the agent's, with this text before it.
func (r *filesRoom) reviewed(path, base string) {
	r.t.Helper()
	was, _, listed := r.files.Review(path)
	require.True(r.t, listed)
	require.Equal(r.t, base, was)
}

// requests are the fs/ requests that came, as "read a.txt".
func (r *filesRoom) requests() (all []string) {
	for _, m := range r.received() {
		if strings.HasPrefix(m.Method, "fs/") {
			var p struct{ Path string }
			_ = json.Unmarshal(m.Params, &p)
			what := strings.TrimSuffix(strings.TrimPrefix(m.Method, "fs/"), "_text_file")
			all = append(all, what+" "+strings.TrimPrefix(p.Path, r.dir+"/"))
		}
	}
	return all
}

// everything returns all that the editor received, as one text.
func (r *filesRoom) everything() string {
	var all strings.Builder
	for _, m := range r.received() {
		all.Write(m.Params)
		all.Write(m.Result)
		all.WriteByte('\n')
	}
	return all.String()
}

// sets changes an option of the session's.
func (r *filesRoom) mode(mode string) {
	r.t.Helper()
	require.Nil(r.t, r.call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, r.session, mode)).Error)
}

// nothingLeft sees that nothing of ours is on the disk.
func (r *filesRoom) nothingLeft(t *testing.T) {
	if entries, err := os.ReadDir(filepath.Join(r.base, "journal")); err == nil {
		require.Empty(t, entries)
	}
	require.NoError(t, filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		require.NotContains(t, d.Name(), "droid-acp", path)
		return err
	}))
}

// isShadow reports whether path names a private file that exists.
func isShadow(path string) bool {
	link, err := os.Readlink(path)
	return err == nil && strings.Contains(link, "memfd")
}

// shadows returns what tells the private files that droid was given so far.
func (r *filesRoom) shadows() func() []string {
	var mu sync.Mutex
	var all []string
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	r.pipe.answered = func(a hooks.Answer) {
		var in struct {
			Path string `json:"file_path"`
		}
		if json.Unmarshal(a.UpdatedInput, &in) == nil && in.Path != "" {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, in.Path)
		}
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// wasAsked reports whether the user was asked for permission.
func (r *filesRoom) wasAsked() bool {
	return slices.ContainsFunc(r.received(), func(m wireMessage) bool { return m.Method == "session/request_permission" })
}

// untilAsked waits until he is.
func (r *filesRoom) untilAsked() {
	r.t.Helper()
	for range 1000 {
		if r.wasAsked() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatal("nobody asks")
}

// lastDiff returns the old and the new text of the last diff.
func (r *filesRoom) lastDiff() []string { return r.diff("session/update") }

func (r *filesRoom) diff(method string) []string {
	all := r.diffs(method)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// diffs returns the old and the new text of all diffs that a method sent, in order.
func (r *filesRoom) diffs(method string) (all [][]string) {
	type content []struct{ Type, OldText, NewText string }
	for _, m := range r.received() {
		var p struct {
			Update   struct{ Content content }
			ToolCall struct{ Content content }
		}
		if m.Method != method || json.Unmarshal(m.Params, &p) != nil {
			continue
		}
		for _, c := range append(p.Update.Content, p.ToolCall.Content...) {
			if c.Type == "diff" {
				all = append(all, []string{c.OldText, c.NewText})
			}
		}
	}
	return all
}

// noEditor has no file.
type noEditor struct{}

func (noEditor) ReadTextFile(context.Context, string) (string, error) { return "", errors.New("none") }

func (noEditor) WriteTextFile(_, _ string) <-chan error {
	answered := make(chan error, 1)
	answered <- errors.New("none")
	return answered
}

// free checks that no edit holds a file.
func (r *filesRoom) free(path string) {
	r.t.Helper()
	began := time.Now()
	overlay := r.agent.EditorFiles.Overlay(noEditor{}, editorfs.OverlayOptions{})
	defer overlay.Close()
	overlay.BeginEdit(r.t.Context(), "free", []string{path})
	require.Less(r.t, time.Since(began), 2*time.Second, "somebody holds the file")
}
