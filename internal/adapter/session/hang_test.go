//go:build linux

package session_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
)

// hangTests holds an action of the user that reaches each call that may hang, by the name of the call. internal/testing/archtest checks
// that each has one. They use the session "mine", and a stored one.
var hangTests = map[files.CallName]func(d *disk, stored string){
	"stat":           opensSession,
	"EvalSymlinks":   loadsStored,
	"wsl.Here":       opensSession,
	"Trust.Look":     opensSession,
	"stat of a link": func(d *disk, _ string) { d.linking("file:///somewhere") },
	"Trust":          func(d *disk, _ string) { d.prompt("/trust") },
	"Store.Results":  func(d *disk, _ string) { d.prompt("edit") },
	"Store.Subagent": func(d *disk, _ string) { d.prompt("subagent") },

	"Trust.ServerPrograms": func(d *disk, _ string) { d.hear(status("x", "failed")) },
	"Trust.NotOwn":         func(d *disk, _ string) { d.prompt("/mcp disable mine") },
	"Locate":               func(d *disk, _ string) { d.prompt("/status") },
	"Release":              func(d *disk, _ string) { d.prompt("/status") },
	"WriteFile":            func(d *disk, _ string) { d.prompt("/export") },
	"WriteReport":          func(d *disk, _ string) { d.prompt("/report a.txt") },
	"Store.List":           func(d *disk, _ string) { d.request("session/list", `{}`) },
	"Store.Thread":         loadsStored, "Store.FollowUp": loadsStored, "Store.Find": loadsStored, "Store.SetCWD": loadsStored, "Store.IsOpen": loadsStored, "Store.MarkOpen": loadsStored, "Store.Free": loadsStored, "Store.MarkLoading": loadsStored,
	"Store.Marked":    func(d *disk, _ string) { d.prompt("hello") },
	"editorfs.Untold": loadsStored,
	"Store.SystemPrompt": func(d *disk, stored string) {
		d.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[],"_meta":{"systemPrompt":{"append":"x"}}}`, stored, d.new))
	},
	"Store.Settings": func(d *disk, stored string) {
		d.request("session/options", fmt.Sprintf(`{"sessionId":%q,"cwd":%q}`, stored, d.new))
	},
	"DirState":          func(d *disk, _ string) { d.request("session/options", fmt.Sprintf(`{"cwd":%q}`, d.new)) },
	"LacksLogin":        func(d *disk, _ string) { d.request("session/options", fmt.Sprintf(`{"cwd":%q}`, d.new)) },
	"Store.Title":       func(d *disk, _ string) { d.prompt("/compact") },
	"Store.Link":        func(d *disk, _ string) { d.prompt("/compact") },
	"Store.Summary":     func(d *disk, _ string) { d.prompt("/compact") },
	"Store.Delete":      func(d *disk, stored string) { d.request("session/delete", fmt.Sprintf(`{"sessionId":%q}`, stored)) },
	"Store.SetArchived": func(d *disk, stored string) { d.request("session/archive", fmt.Sprintf(`{"sessionId":%q}`, stored)) },
	"Store.CheckDelete": func(d *disk, _ string) { d.request("session/delete", fmt.Sprintf(`{"sessionId":%q}`, d.session)) },
	"release":           func(d *disk, _ string) { d.request("session/close", fmt.Sprintf(`{"sessionId":%q}`, d.session)) },
	"editorfs.Open":     nil,                     // TestInitializeOnADiskThatHangs
	"editorFiles.close": nil,                     // TestEndOnADiskThatHangs
	"Overlay":           nil, "Trust.Trust": nil, // their own tests below
	"Rules.Read":     func(d *disk, _ string) { d.prompt("/permissions") },
	"Rules.TakeBack": nil,                    // TestPermissionIsTakenBack
	"Watch":          nil, "Watch.Look": nil, // TestBackgroundOnADiskThatHangs
	"Store.Snapshots": nil, // TestRewindWithoutTheTexts
	"Unseen":          nil, // TestUnsavedTextThatDroidDoesNotSee
}

func opensSession(d *disk, _ string) {
	d.request("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, d.new))
}

func loadsStored(d *disk, stored string) {
	d.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, stored, d.new))
}

// others checks that other sessions answer prompts and cancels at once, and that the agent
// ends within its bound.
func (e *editor) others(t *testing.T, other string) {
	e.session = other
	began := time.Now()
	require.Equal(t, "end_turn", e.run("hello"))
	long := e.prompt("wait")
	e.settle()
	e.cancel()
	require.Equal(t, "cancelled", ended(e.await(long)))
	require.Less(t, time.Since(began), time.Second)
	began = time.Now()
	e.close()
	require.LessOrEqual(t, time.Since(began), adapter.EndTime+droid.KillTime+adapter.CloseTime+2*adapter.FlushTime)
}

// Each call that may hang is replaced by one that does, while others work.
func TestCallsThatHang(t *testing.T) {
	for call, act := range hangTests {
		if act == nil {
			continue
		}
		t.Run(string(call), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{declares: `{"session":{"compaction":{}}}`}
				d.open(t, fakedroid.WithVersion(fakedroid.V0225), eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
					switch p.Text {
					case "wait":
						return d.Pause(time.Minute)
					case "subagent":
						return d.Task("", nil, d.NewSubagent("look", ""))
					case "edit":
						if err := d.Use("", "", fakedroid.Tool{Name: "Edit", Input: fakedroid.Fields{"file_path": "/a", "old_str": "a", "new_str": "b"}, Result: "Error: Failed to edit file", IsError: true}); err != nil {
							return err
						}
					}
					return d.Say("", "hi")
				}))
				h := &d.hanging
				d.beginSessionIn(d.own)
				other, stored := d.session, d.stored(d.old)
				d.beginSessionIn(d.own)
				d.settle()
				h.begin(call)
				act(d, stored)
				d.settle()
				for n := 0; n < 100 && !h.wasReached(); n++ { // some come later
					time.Sleep(100 * time.Millisecond)
				}
				require.True(t, h.wasReached(), "the call was not made")
				d.others(t, other)
			})
		})
	}
}

// A prompt after a load that hangs on the disk waits for that load only, and can be cancelled in either way.
func TestPromptBehindALoadThatHangs(t *testing.T) {
	for name, cancel := range map[string]func(d *disk, id string){
		"session/cancel":   func(d *disk, _ string) { d.cancel() },
		"$/cancel_request": func(d *disk, id string) { d.notify("$/cancel_request", `{"requestId":`+id+`}`) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk(t, fakedroid.WithVersion(fakedroid.V0225))
				d.session = d.stored(d.old)
				d.hanging.begin("Store.Thread")
				load := d.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, d.session, d.old))
				first, second := d.prompt("one"), d.prompt("two")
				_, over := d.answered(first)
				require.False(t, over)
				cancel(d, first)
				answer, over := d.answered(first)
				require.True(t, over)
				require.Equal(t, "cancelled", ended(answer))
				if name == "session/cancel" {
					second = d.prompt("three")
				}
				d.hanging.revive()
				require.Nil(t, d.await(load).Error)
				require.Equal(t, "end_turn", ended(d.await(second)))
			})
		})
	}
}

// A look at the disk that hangs ends with words.
func TestDiskThatHangsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t, fakedroid.WithVersion(fakedroid.V0225))
		id, began := d.stored(d.old), time.Now()
		d.hanging.begin("Store.Thread")
		answer := d.asks("session/load", id, d.old)
		require.Equal(t, -32603, answer.Error.Code)
		require.Contains(t, answer.Error.Message, "session "+id+": its file system does not answer. If it is on a drive of the network, see that the drive is there, and try again.")
		require.LessOrEqual(t, time.Since(began), 30*time.Second+time.Second)
		d.hanging.begin("stat")
		answer = d.asks("session/new", "", "/dead")
		require.Contains(t, answer.Error.Message, "cwd cannot be used: /dead: its file system does not answer.")
	})
}

// initialize is answered without the journal of edits where that cannot be had in time.
func TestInitializeOnADiskThatHangs(t *testing.T) {
	for _, way := range []session.FilesWay{session.FilesEditor, session.FilesDisk} {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, playing(says("hi")))
			e.hanging.begin("editorfs.Open")
			e.agent.Config.Files = way
			began := time.Now()
			require.Nil(t, e.call("initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}`).Error)
			require.LessOrEqual(t, time.Since(began), 6*time.Second)
			require.True(t, e.hanging.wasReached())
			e.beginSession()
			require.Equal(t, "end_turn", e.run("hello"))
		})
	}
}

// An editor that leaves while its files are opened leaves nothing open, and no data race.
func TestEditorThatLeavesAtInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, playing(says("hi")))
		e.hanging.begin("editorfs.Open")
		e.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}}`)
		synctest.Wait()
		require.True(t, e.hanging.wasReached())
		began := time.Now()
		e.close()
		require.LessOrEqual(t, time.Since(began), 2*adapter.FlushTime)
	})
}

// The agent ends even if its journal does not respond.
func TestEndOnADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t, playing(says("hi")))
		e.hanging.begin("editorFiles.close")
		require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
		began := time.Now()
		e.close()
		require.True(t, e.hanging.wasReached())
		require.LessOrEqual(t, time.Since(began), adapter.CloseTime+time.Second)
	})
}

// A yes to a project that cannot be kept in time holds up its own session alone.
func TestYesThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := inProject(t, fakedroid.V0225, map[string]string{".factory/mcp.json": someServer})
		r.newSession()
		other := r.session
		r.ask = allowOnce // not now
		require.Equal(t, "end_turn", r.run("hello"))
		r.newSession()
		r.ask = func(permission) string { return "trust" }
		r.write(t, ".factory/mcp.json", strings.Replace(someServer, "evil", "another", 1)) // so it is asked again
		r.hanging.begin("Trust.Trust")
		r.prompt("hello")
		r.settle()
		require.True(t, r.hanging.wasReached())
		r.session, r.ask = other, allowOnce
		began := time.Now()
		require.Equal(t, "end_turn", r.run("hello"))
		require.Less(t, time.Since(began), time.Second)
	})
}

// What lets go of a file that the editor has, and hangs, holds up no session.
func TestFileThatHangs(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := room(t, v)
		r.turn = func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Say("", "hi") }
		r.hanging.begin("Overlay")
		s, err := r.find(r.session)
		require.Nil(t, err)
		s.Lock().Post(func() { s.ReplaceDroid(); s.EndFileCalls() })
		r.settle()
		require.True(t, r.hanging.wasReached())
		r.beginSessionIn(r.dir)
		require.Equal(t, "end_turn", r.run("hello"))
		r.hanging.revive()
	})
}

// /status lists what waits: who, for what, and since when.
func TestStatusTellsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t, fakedroid.WithVersion(fakedroid.V0225))
		d.beginSessionIn(d.own)
		var end func()
		d.inside(func(s *session.Session) {
			calling(s, func(release func()) { end = release })
			calling(s, func(release func()) { release() })
		})
		time.Sleep(3 * time.Second)
		d.inside(func(s *session.Session) {
			require.Equal(t, []string{"a call to droid is under way, asked for 3s ago", "a call to droid waits for calls to droid before it since 3s"}, s.State().Waits)
			end()
		})
		require.Equal(t, "end_turn", d.run("/status"))
		require.NotContains(t, d.told(), "waits")
		d.hanging.begin("Store.Thread")
		d.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, d.session, d.own))
		time.Sleep(3 * time.Second)
		d.inside(func(s *session.Session) {
			require.Contains(t, s.State().Waits, "session/load waits for the disk since 3s")
		})
	})
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t, fakedroid.WithVersion(fakedroid.V0225))
		d.beginSessionIn(d.own)
		d.agent.Launcher.Stat = func(string) (os.FileInfo, error) {
			time.Sleep(200 * time.Millisecond)
			return nil, os.ErrNotExist
		}
		id := d.linking("file:///somewhere")
		time.Sleep(100 * time.Millisecond)
		d.inside(func(s *session.Session) {
			s.Lock().Go(func() {
				if its, err := s.BeginChange(s.Context, turns.General); err == nil {
					s.Prompts().FinishChange(its, nil)
				}
			})
			require.Equal(t, []string{"the prompt waits for a look at the files that it links since 0s", "what was asked waits for its turn since 0s",
				"changes that are under way or wait for their turn: 1"}, s.State().Waits)
		})
		require.Equal(t, "end_turn", ended(d.await(id)))
	})
}
