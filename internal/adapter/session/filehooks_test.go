//go:build linux

package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid/hooks"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/testing/fakedroid"
	"droid-acp/internal/workspace/trust"
)

// hookOf is a hook's request for a tool, as the hook program would send it.
func (r *filesRoom) hookOf(event string, t fakedroid.Tool) hooks.Request {
	input, err := json.Marshal(t.Input)
	require.NoError(r.t, err)
	return hooks.Request{Event: event, SessionID: r.session, Tool: t.Name, Input: input}
}

// nothing checks that a hook's request gets an empty answer in time, and that the file and the editor's copy stay unchanged.
func (r *filesRoom) nothing(q hooks.Request, path string) {
	r.t.Helper()
	disk, buffer, asked, began := r.disk(path), r.buffer(path), len(r.requests()), time.Now()
	require.Equal(r.t, hooks.Answer{}, r.pipe.request(context.Background(), q))
	require.LessOrEqual(r.t, time.Since(began), session.AnnounceTime)
	require.Equal(r.t, disk, r.disk(path))
	require.Equal(r.t, buffer, r.buffer(path))
	require.Len(r.t, r.requests(), asked)
}

// Whoever talks to us without a call of droid's that waits for it gains nothing: no
// private file, and no file is touched.
func TestHookThatNobodyAnnounced(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := room(t, v)
		path, other := r.opened("a.txt", "one\ntwo\n", "unsaved "), r.opened("b.txt", "one\ntwo\n", "unsaved ")
		read, edit := readOf(path), editOf(path, "two", "three")
		for _, tool := range []fakedroid.Tool{read, edit, createOf(path, "x")} {
			for _, event := range []string{filecalls.BeforeTool, filecalls.AfterTool, "Stop"} {
				r.nothing(r.hookOf(event, tool), path) // no turn runs
			}
		}
		stranger := r.hookOf(filecalls.BeforeTool, edit)
		stranger.SessionID = "0199a7c3-5f4e-7c1d-9e2b-3f1a2b3c4d5e"
		r.nothing(stranger, path)
		bad := r.hookOf(filecalls.BeforeTool, edit)
		bad.Input = json.RawMessage(`[]`)
		r.nothing(bad, path)

		r.ask = nil
		r.does(read, edit)
		id := r.prompt("go")
		r.untilAsked()
		r.nothing(r.hookOf(filecalls.BeforeTool, read), path)                           // it has ended
		r.nothing(r.hookOf(filecalls.BeforeTool, readOf(other)), other)                 // nobody reads this
		r.nothing(r.hookOf(filecalls.BeforeTool, editOf(other, "two", "three")), other) // or edits it
		r.nothing(r.hookOf(filecalls.AfterTool, edit), path)                            // droid does not say that it runs hooks
		if r.modern {
			r.nothing(r.hookOf(filecalls.BeforeTool, edit), path) // it has come before
		}
		r.cancel()
		require.Equal(t, "cancelled", ended(r.await(id)))
		r.nothing(r.hookOf(filecalls.BeforeTool, edit), path)
		r.nothing(r.hookOf(filecalls.AfterTool, edit), path)
		require.True(t, r.files.Dirty(other))
		r.free(path)
		r.free(other)
	})
}

// The hook of a call that droid has announced, while that cannot be read because the editor
// reads nothing, waits for a while. Then droid reads the disk.
func TestHookBeforeItsEvent(t *testing.T) {
	for name, pause := range map[string]time.Duration{"soon": time.Second, "late": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				r := room(t, v)
				path := r.opened("a.txt", "one\n", "unsaved ")
				r.turn = func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
					for range 4 { // more than there is room for on the way to the editor
						if err := d.Say("", strings.Repeat("x", muchText/2)); err != nil {
							return err
						}
					}
					return d.Use("", "", readOf(path))
				}
				shadows := r.shadows()
				r.out.pause()
				id := r.prompt("go")
				time.Sleep(pause)
				require.Equal(t, []string{"PreToolUse Read"}, r.pipe.requests())
				require.Empty(t, shadows())
				r.out.resume()
				require.Equal(t, "end_turn", ended(r.await(id)))
				if name == "soon" {
					require.Len(t, shadows(), 1)
					require.Contains(t, r.everything(), "unsaved one")
				} else {
					require.Empty(t, shadows())
					require.NotContains(t, r.everything(), "unsaved one")
				}
				require.Equal(t, "one\n", r.disk(path))
			})
		})
	}
}

// A droid that tells the result before the hook (0.99), and a slow editor, make no
// difference to the diffs: none has a text from the middle of an edit.
func TestDiffsOfEditsWithASlowEditor(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := room(t, v, func(r *filesRoom) {
			r.o.Slow = func(string, string) time.Duration { return 200 * time.Millisecond }
		})
		path := r.opened("a.txt", "one\ntwo\n", "")
		r.does(editOf(path, "two", "three"), editOf(path, "one", "1"))
		require.Equal(t, "end_turn", r.run("go"))
		r.holds(path, "1\nthree\n")
		first, second := []string{"one\ntwo\n", "one\nthree\n"}, []string{"one\nthree\n", "1\nthree\n"}
		require.Equal(t, [][]string{first, second}, slices.CompactFunc(r.diffs("session/update"), slices.Equal))
		require.Equal(t, [][]string{first, second}, r.diffs("session/request_permission"))
	})
}

// Without both methods, with a client whose methods are not trusted, and where the user
// wants that, files stay on the disk: droid has no hooks, the editor is asked nothing, and
// nothing listens.
func TestFilesStayOnTheDisk(t *testing.T) {
	for name, c := range map[string]struct {
		client, capabilities, status string
		way                          session.FilesWay
		fails                        bool
		opened                       int
	}{
		"read alone":        {"zed", `{"fs":{"readTextFile":true}}`, "on disk; this editor does not offer its buffers", "", false, 0},
		"write alone":       {"zed", `{"fs":{"writeTextFile":true,"readTextFile":false}}`, "on disk; this editor does not offer its buffers", "", false, 0},
		"none":              {"zed", `{}`, "on disk; this editor does not offer its buffers", "", false, 0},
		"wanted":            {"zed", bothMethods, "on disk, as --files says", session.FilesDisk, false, 0},
		"no socket":         {"zed", bothMethods, "on disk, since this droid cannot be held", "", true, 1},
		"an unknown client": {"somebody new", bothMethods, "on disk; this editor's buffers are not used (--files editor uses them)", "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				r := filesAgent(t, v, func(r *filesRoom) { r.pipe.fails = c.fails })
				r.agent.Config.Files = c.way
				r.greets(c.capabilities, c.client)
				r.session = r.newSession()
				path := r.opened("a.txt", "one\ntwo\n", "")
				r.does(readOf(path), editOf(path, "two", "three"))
				require.Equal(t, "end_turn", r.run("go"))
				r.holds(path, "one\nthree\n")
				require.Equal(t, []string{"one\ntwo\n", "one\nthree\n"}, r.lastDiff())
				require.Empty(t, r.requests())
				require.NotContains(t, r.droid().file(), "hooks")
				require.Equal(t, c.opened, r.pipe.opened)
				require.Contains(t, r.status(), "- files "+c.status)
			})
		})
	}
}

// The fs methods of an unknown client are used if the user configures that.
func TestEditorFilesOfAnUnknownClient(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		r := filesAgent(t, v)
		r.agent.Config.Files = session.FilesEditor
		r.greets(bothMethods, "somebody new")
		r.session = r.newSession()
		path := r.opened("a.txt", "one\ntwo\n", "unsaved ")
		r.does(readOf(path), editOf(path, "two", "three"))
		require.Equal(t, "end_turn", r.run("go"))
		r.holds(path, "unsaved one\nthree\n")
		require.Contains(t, r.status(), "- files through the editor")
	})
}

// If files stay on the disk, a client whose answers can be trusted is asked, and the user is notified once a turn that droid does not see
// unsaved changes. If that is not certain, nothing is said.
func TestUnsavedTextThatDroidDoesNotSee(t *testing.T) {
	const told = "Your unsaved changes in `"
	for name, c := range map[string]struct {
		client, typed string
		way           session.FilesWay
		hangs         bool
		asked, told   int // in a turn that reads the file twice and then edits it
	}{
		"unsaved":            {client: "vscode-acp-client", typed: "three\n", asked: 1, told: 1},
		"saved":              {client: "vscode-acp-client", asked: 1},
		"a disk that hangs":  {client: "vscode-acp-client", typed: "three\n", hangs: true},
		"as the user wants":  {client: "vscode-acp-client", typed: "three\n", way: session.FilesDisk},
		"a client that asks": {client: "acpx", typed: "three\n"},
	} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				r := filesAgent(t, v)
				r.agent.Config.Files = c.way
				r.greets(bothMethods, c.client)
				r.session = r.newSession()
				path := r.opened("a.txt", "one\ntwo\n", c.typed)
				time.Sleep(time.Minute)
				if c.hangs {
					r.hanging.begin("Unseen")
				}
				for turn := range 2 {
					r.turn = func(d *fakedroid.Droid, _ fakedroid.Prompt) error {
						_ = d.Use("", "", readOf(path))
						_ = d.Use("", "", readOf(path))
						return d.Pause(time.Minute) // as the model takes its time
					}
					require.Equal(t, "end_turn", r.run("go"))
					if c.hangs {
						require.Zero(t, strings.Count(r.everything(), told))
						return
					}
					require.Len(t, r.requests(), c.asked*(turn+1))
					require.Equal(t, c.told*(turn+1), strings.Count(r.everything(), told))
				}
				r.does(editOf(path, "two", "four"))
				require.Equal(t, "end_turn", r.run("go"))
				require.Equal(t, "one\nfour\n", r.disk(path), "droid's edit")
			})
		})
	}
}

func (r *filesRoom) status() string {
	r.t.Helper()
	seen := len(r.everything())
	require.Equal(r.t, "end_turn", r.run("/status"))
	return r.everything()[seen:]
}

// Where droid cannot have our hooks, the session works on the disk and has its MCP servers.
func TestDroidWithoutOurHooks(t *testing.T) {
	for name, c := range map[string]struct {
		version  fakedroid.Version
		settings string
	}{
		"unknown version":         {fakedroid.Unversioned, ""},
		"user's settings, broken": {fakedroid.V099, "{"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("FACTORY_HOME_OVERRIDE", home)
			if c.settings != "" {
				require.NoError(t, os.Mkdir(filepath.Join(home, ".factory"), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(home, ".factory", "settings.json"), []byte(c.settings), 0o644))
			}
			synctest.Test(t, func(t *testing.T) {
				r := room(t, c.version, func(r *filesRoom) { r.servers = `{"name":"m","command":"mcp-files","args":[],"env":[]}` })
				require.Contains(t, r.droid().held(), "mcp-files")
				require.NotContains(t, r.droid().held(), "hooks")
				path := r.opened("a.txt", "one\ntwo\n", "")
				r.does(readOf(path), editOf(path, "two", "three"))
				require.Equal(t, "end_turn", r.run("go"))
				r.holds(path, "one\nthree\n")
				require.Empty(t, r.requests())
				require.Contains(t, r.status(), "- files on disk, since this droid cannot be held before and after its edits; the log says why")
				require.Equal(t, 1, r.logs.FilterMessage("files are read and written on the disk alone").FilterLevelExact(zap.WarnLevel).Len())
			})
		})
	}
}

// The process that continues in another session of the thread has hooks as well, and requests to the editor use the session id that it
// knows.
func TestHooksOfLaterProcesses(t *testing.T) {
	for name, change := range map[string]func(r *filesRoom){
		"compacted": func(r *filesRoom) {
			require.Equal(r.t, "end_turn", r.run("/compact"))
			r.inside(func(s *session.Session) { require.NotEqual(r.t, r.session, s.State().DroidSessionID) })
		},
		"compacted and loaded": func(r *filesRoom) {
			require.Equal(r.t, "end_turn", r.run("/compact"))
			r.inside(func(s *session.Session) { r.session = s.State().DroidSessionID })
			require.Nil(r.t, r.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, r.session, r.dir)).Error)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bothDroids(t, func(t *testing.T, v fakedroid.Version) {
				r := filesAgent(t, v)
				r.extra = append(r.extra, fakedroid.WithAnswer("droid.compact_session", func(map[string]any) (any, string) {
					return fakedroid.Fields{"newSessionId": r.store.Add(r.dir), "removedCount": 4}, ""
				}))
				r.greets(bothMethods, "zed")
				r.session = r.newSession()
				path := r.opened("a.txt", "one\ntwo\n", "unsaved ")
				r.does(readOf(path))
				require.Equal(t, "end_turn", r.run("go"))
				require.Contains(t, r.status(), "- files through the editor")
				n := len(r.processes)
				change(r)
				r.does(readOf(path), editOf(path, "two", "three"))
				require.Equal(t, "end_turn", r.run("go"))
				require.GreaterOrEqual(t, len(r.processes), n)
				require.Contains(t, r.droid().file(), stream.OwnHook)
				r.holds(path, "unsaved one\nthree\n")
				r.reviewed(path, "unsaved one\ntwo\n")
				var last struct{ SessionID string }
				for _, m := range r.received() {
					if strings.HasPrefix(m.Method, "fs/") {
						require.NoError(t, json.Unmarshal(m.Params, &last))
					}
				}
				require.Equal(t, r.session, last.SessionID, "the editor is asked for the session that it knows")
				require.Contains(t, r.status(), "- files through the editor")
			})
		})
	}
}

// An edit that an earlier agent left, and that cannot be completed, is reported once, wherever files are, and is completed when droid reads
// the file again.
func TestEditThatStays(t *testing.T) {
	for _, capabilities := range []string{bothMethods, `{}`} {
		bothDroids(t, func(t *testing.T, v fakedroid.Version) {
			r := filesAgent(t, v)
			r.agent.Config.Store = store.New(t.TempDir(), zap.NewNop())
			path := r.has("a.txt", "old\n")
			hash := func(text string) string {
				s := sha256.Sum256([]byte(text))
				return hex.EncodeToString(s[:])
			}
			id := strings.Repeat("0a", 16)
			head, err := json.Marshal(map[string]any{"path": path, "resolved": path, "temp": ".droid-acp-" + id + ".tmp", "old": hash("old\n"), "sum": hash("new\n"), "mode": 0o644})
			require.NoError(t, err)
			journal := filepath.Join(r.base, "journal")
			require.NoError(t, os.Mkdir(journal, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(journal, id+".edit"), append(append(head, '\n'), "new\n"...), 0o600))
			require.NoError(t, os.Rename(path, path+".away"))
			r.greets(capabilities, "zed")
			r.session = r.newSession()
			r.does()
			require.Equal(t, "end_turn", r.run("go"))
			require.Equal(t, 1, strings.Count(r.everything(), "could not be completed"))
			require.Contains(t, r.everything(), journal)
			require.Equal(t, "end_turn", r.run("go"))
			require.Equal(t, 1, strings.Count(r.everything(), "could not be completed"), "once")
			require.NoError(t, os.Rename(path+".away", path))
			if capabilities == bothMethods {
				r.does(readOf(path))
				require.Equal(t, "end_turn", r.run("go"))
				r.holds(path, "new\n")
				return
			}
			require.NoError(t, os.RemoveAll(journal))
		})
	}
}

// One edit needs all of these requests to the editor: before the user is asked, so that unsaved text is saved, and the diff and droid have
// it; when the user has allowed the edit, for what they have typed since; when the old text is back on the disk, since the write of an editor
// that has reloaded the new one, or in which the user has typed, would spoil the file; and after the write, for an editor that writes without
// its buffer.
func TestRequestsOfOneEdit(t *testing.T) {
	bothDroids(t, func(t *testing.T, v fakedroid.Version) {
		for mode, want := range map[string][]string{
			"normal":   {"read a.txt", "read a.txt", "read a.txt", "write a.txt", "read a.txt"},
			"auto-low": {"read a.txt", "read a.txt", "write a.txt", "read a.txt"},
		} {
			r := room(t, v)
			r.mode(mode)
			path := r.opened("a.txt", "one\ntwo\n", "")
			r.does(editOf(path, "two", "three"))
			before := len(r.requests())
			require.Equal(t, "end_turn", r.run("go"))
			require.Equal(t, want, r.requests()[before:], mode)
			r.holds(path, "one\nthree\n")
			r.close()
		}
	})
}

// TestHooksLeftOutWithTheProjects: the session says that files are read and written on the disk, so stderr, which some clients
// show, does not say it as well.
func TestHooksLeftOutWithTheProjects(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	synctest.Test(t, func(t *testing.T) {
		r := filesAgent(t, fakedroid.V0225)
		require.NoError(t, os.Mkdir(filepath.Join(r.dir, ".factory"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, ".factory", "hooks.json"),
			[]byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"evil"}]}]}}`), 0o644))
		r.agent.Config.Trust = trust.New(trust.Options{Home: home, File: filepath.Join(home, "trust.json")})
		r.greets(bothMethods, "zed")
		r.session = r.newSession()
		require.Contains(t, r.told(), "Files are read and written on the disk meanwhile, without the editor.")
		require.Empty(t, r.logs.FilterLevelExact(zap.WarnLevel).All())
	})
}
