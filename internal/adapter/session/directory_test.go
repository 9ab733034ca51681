package session_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/testing/fakedroid"
)

// disk is a store with real directories, and droids that work in the directory of a session's file.
type disk struct {
	*editor
	fleet    *fleet
	root     string
	store    *store.Store
	own      string // the agent's directory
	old, new string
	declares string // client capabilities, "" for none
}

func newDisk(t *testing.T, v fakedroid.Option) *disk {
	t.Helper()
	return new(disk).open(t, v, says("hi"))
}

func (d *disk) open(t *testing.T, v fakedroid.Option, script fakedroid.Script) *disk {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	d.fleet, d.root, d.own = newFleet(t, v, script), filepath.Join(base, "sessions"), filepath.Join(base, "own")
	d.old, d.new = filepath.Join(base, "old"), filepath.Join(base, "new")
	for _, dir := range []string{d.own, d.old, d.new} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	d.store = store.New(d.root, zap.NewNop())
	d.fleet.store.Directory = func(id string) string {
		found, _ := d.store.Find(id) // "" for what has no file
		return found.CWD
	}
	d.fleet.options = append(d.fleet.options, fakedroid.WithAnswer("droid.fork_session", func(map[string]any) (any, string) {
		id := d.stored(d.old)
		return fakedroid.Fields{"newSessionId": id}, ""
	}), answering("rename_session", fakedroid.Fields{}))
	d.serve(t, d.fleet.start)
	return d
}

// serve connects an agent to the store.
func (d *disk) serve(t *testing.T, start starter) {
	d.editor = openAt(t, d.own, start, zap.NewNop())
	d.agent.Config.Store, d.agent.Launcher.Stat = d.store, os.Stat
	require.Nil(t, d.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+cmp.Or(d.declares, "{}")+`,`+asZed+`}`).Error)
}

// stored makes a session of dir.
func (d *disk) stored(dir string) string {
	id := d.fleet.store.Add(dir)
	lines := fmt.Sprintf(`{"type":"session_start","id":%q,"title":"T","cwd":%q}`, id, dir) + "\n" +
		`{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}` + "\n"
	name := filepath.Join(d.root, "-old")
	require.NoError(d.t, os.MkdirAll(name, 0o755))
	require.NoError(d.t, os.WriteFile(filepath.Join(name, id+".jsonl"), []byte(lines), 0o644))
	return id
}

func (d *disk) asks(method, id, cwd string) wireMessage {
	return d.call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, cwd))
}

// isIn checks that all agree where a session works: its process, the file, the list and
// the agent.
func (d *disk) isIn(id, dir string) {
	d.t.Helper()
	require.Equal(d.t, dir, d.dirs[len(d.dirs)-1], "the process was started there")
	d.agrees(id, dir)
}

func (d *disk) agrees(id, dir string) {
	d.t.Helper()
	found, err := d.store.Find(id)
	require.NoError(d.t, err)
	require.Equal(d.t, dir, found.CWD)
	require.Contains(d.t, string(d.call("session/list", fmt.Sprintf(`{"cwd":%q}`, dir)).Result), id)
	d.session = id
	d.inside(func(s *session.Session) { require.Equal(d.t, dir, s.State().CWD) })
	var state struct{ CWD string }
	require.NoError(d.t, json.Unmarshal(d.call("_droid/state", `{"sessionId":"`+id+`"}`).Result, &state))
	require.Equal(d.t, dir, state.CWD)
	require.Equal(d.t, "end_turn", d.run("go"))
}

// onDisk runs a test with the old and the new droid.
func onDisk(t *testing.T, test func(t *testing.T, d *disk)) {
	t.Helper()
	versions(t, func(t *testing.T, v fakedroid.Option) { test(t, newDisk(t, v)) })
}

// A link to the session's directory counts as the same directory.
func TestLoadByALink(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		link := d.old + "-link"
		if err := os.Symlink(d.old, link); err != nil {
			t.Skip(err) // Windows lets few users make links
		}
		id := d.stored(d.old)
		before, err := os.ReadFile(filepath.Join(d.root, "-old", id+".jsonl"))
		require.NoError(t, err)
		require.Nil(t, d.asks("session/load", id, link).Error)
		d.agrees(id, d.old)
		starts := d.starts
		require.Nil(t, d.asks("session/load", id, link).Error)
		require.Equal(t, starts, d.starts)
		after, err := os.ReadFile(filepath.Join(d.root, "-old", id+".jsonl"))
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
	})
}

// What cannot be opened where it is asked for is refused, and stays where it is.
func TestOtherDirectoryIsRefused(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		id := d.stored(d.old)
		other := store.New(d.root, zap.NewNop())
		release, err := other.MarkOpen(id)
		require.NoError(t, err)
		answer := d.asks("session/load", id, d.new)
		require.Contains(t, answer.Error.Message, "The session belongs to "+d.old+" and was not opened in "+d.new+
			": it is open in another window or program of yours. Close it there first. Or open it with the cwd "+d.old+".")
		require.Nil(t, d.asks("session/load", id, d.old).Error)
		d.isIn(id, d.old)
		release()

		id = d.stored(d.old)
		release, err = other.MarkOpen(id)
		require.NoError(t, err)
		time.AfterFunc(time.Second, release)
		require.Nil(t, d.asks("session/load", id, d.new).Error, "who leaves it may take a moment, as an agent that --keep has kept")
		d.isIn(id, d.new)

		id = d.stored(d.old)
		mark := filepath.Join(filepath.Dir(d.root), "droid-acp-open", id)
		unreadable(t, mark)
		answer = d.asks("session/load", id, d.new)
		require.NotNil(t, answer.Error, "another window may have it open")
		require.Contains(t, answer.Error.Message, "cannot be told whether another window")
		require.NoError(t, os.Remove(mark))
		text, err := os.ReadFile(filepath.Join(d.root, "-old", id+".jsonl"))
		require.NoError(t, err)
		require.NotContains(t, string(text), "lastCwd")

		id = d.stored(d.old)
		require.Nil(t, d.asks("session/load", id, d.old).Error)
		d.fleet.store.Directory = func(string) string { return d.old } // whatever the file says
		answer = d.asks("session/load", id, d.new)
		require.Contains(t, answer.Error.Message, "droid does not go on there. Or open it with the cwd "+d.old)
		require.Equal(t, "end_turn", func() string { d.session = id; return d.run("go") }())
		d.isIn(id, d.old)
	})
}

// A title that is given to a stored session moves nothing.
func TestTitleLeavesTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t, fakedroid.WithVersion(fakedroid.V0225))
		id := d.stored(d.old)
		require.Nil(t, d.call("session/set_title", fmt.Sprintf(`{"sessionId":%q,"title":"T"}`, id)).Error) // as the file has it, which this droid does not change
		require.Empty(t, d.dirs[len(d.dirs)-1], "what named it was in no project")
		require.NoError(t, os.Rename(d.old, d.old+"-moved"))
		_ = d.call("session/set_title", fmt.Sprintf(`{"sessionId":%q,"title":"y"}`, id))
		found, err := d.store.Find(id)
		require.NoError(t, err)
		require.Equal(t, d.old, found.CWD)
	})
}

// A path of Windows in WSL is translated, for all that names a directory; elsewhere it is
// refused in words.
func TestDirectoriesOfTheOtherSystem(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it is about WSL")
	}
	dir, tools := t.TempDir(), t.TempDir()
	a := adapter.New(adapter.Config{Log: zap.NewNop()})
	decoded := func(cwd, more string) (instructions.Wanted, error) {
		params, err := json.Marshal(map[string]any{"cwd": cwd, "additionalDirectories": []string{more}})
		require.NoError(t, err)
		var p instructions.Params
		require.Nil(t, acperr.Decode(params, &p))
		return p.Read(t.Context(), a.Launcher)
	}
	t.Setenv("PATH", tools+":/bin:/usr/bin")
	if _, err := exec.LookPath("wslpath"); err != nil { // this is not WSL
		_, err := decoded(`C:\project`, dir)
		require.ErrorContains(t, err, `cwd "C:\\project" is a path of Windows, and this agent runs on `)
		_, err = decoded(dir, `\\wsl$\Ubuntu\x`)
		require.ErrorContains(t, err, `additionalDirectories[0] "\\\\wsl$\\Ubuntu\\x" is a path of Windows`)
	}
	for _, name := range []string{"project", "more"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(tools, "wslpath"), []byte("#!/bin/sh\nprintf '%s\\n' '"+dir+"'/\"${2#C:?}\"\n"), 0o755))
	p, err := decoded(`C:\project`, "C:/more")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "project"), p.CWD)
	require.Equal(t, []string{filepath.Join(dir, "more")}, p.Roots)
	_, err = decoded(`C:\none`, dir)
	require.ErrorContains(t, err, "cwd cannot be used")
}

// A load that does not succeed leaves an open session where it works, with the servers that it has.
func TestLoadThatDoesNotSucceedLeavesTheDirectory(t *testing.T) {
	onDisk(t, func(t *testing.T, d *disk) {
		slow := false
		d.serve(t, func(n int) (*droid.Client, error) {
			if slow {
				time.Sleep(time.Second)
			}
			return d.fleet.start(n)
		})
		id := d.stored(d.old)
		require.Nil(t, d.asks("session/load", id, d.old).Error)
		slow = true
		load := d.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[{"name":"files","command":"mcp-files","args":[],"env":[]}]}`, id, d.new))
		time.Sleep(500 * time.Millisecond)
		d.notify("$/cancel_request", `{"requestId":`+load+`}`)
		require.Equal(t, -32800, d.await(load).Error.Code)
		d.session = id
		require.Equal(t, "end_turn", d.run("go"))
		d.isIn(id, d.old)
		d.inside(func(s *session.Session) { require.Empty(t, s.Servers().List()) })
	})
}
