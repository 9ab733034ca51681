package adapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/acptest"
	"droid-acp/internal/testing/fakedroid"
)

// shared starts fakes that have their sessions in common, as processes with one
// HOME do. script may differ by process.
func shared(v fakedroid.Option, script func(n int) fakedroid.Script) starter {
	sessions := fakedroid.WithSessions(new(fakedroid.Sessions))
	return func(n int) (*droid.Client, error) { return fakeDroid(script(n), v, sessions), nil }
}

func always(script fakedroid.Script) func(int) fakedroid.Script {
	return func(int) fakedroid.Script { return script }
}

func sessionParamsOf(id string) string {
	return fmt.Sprintf(`{"sessionId":%q,"cwd":"/workspace","mcpServers":[]}`, id)
}

// TestReplayReadsNoFiles: what a file holds today says nothing about an edit of
// the past.
func TestReplayReadsNoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "n.txt")
		edit := fakedroid.Tool{ID: "e", Name: "Create", Input: fakedroid.Fields{"file_path": path, "content": "then"}, Result: "ok"}
		start := shared(fakedroid.WithVersion(fakedroid.V0225), always(uses(edit)))
		live := begin(t, start)
		require.Equal(t, "end_turn", live.run("write"))
		live.close()
		require.NoError(t, os.WriteFile(path, []byte("today"), 0o644))
		again := connect(t, start)
		require.Nil(t, again.call("session/load", sessionParamsOf(live.session)).Error)
		all, err := json.Marshal(again.received())
		require.NoError(t, err)
		require.Contains(t, string(all), "then")
		require.NotContains(t, string(all), "today")
	})
}

func TestLoadOfWhatIsOpenHere(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, shared(v, always(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if p.Text == "wait" {
				return d.Silence()
			}
			return d.Say("", "re: "+p.Text)
		}))))
		require.Equal(t, "end_turn", e.run("one"))
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
		require.Equal(t, 1, e.starts, "in the process it has")
		require.Equal(t, 2, strings.Count(strings.Join(e.updates(), "\n"), "agent: re: one"))
		id := e.prompt("wait")
		synctest.Wait()
		answer := e.call("session/load", sessionParamsOf(e.session))
		require.Equal(t, -32600, answer.Error.Code)
		require.Contains(t, answer.Error.Message, "works on a prompt")
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
	})
}

func TestClose(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := begin(t, shared(v, always(eachPrompt(func(d *fakedroid.Droid, _ fakedroid.Prompt) error { return d.Silence() }))))
		first, second := e.prompt("one"), e.prompt("two")
		synctest.Wait()
		require.Nil(t, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error)
		require.Equal(t, "cancelled", ended(e.await(first)))
		require.Equal(t, "cancelled", ended(e.await(second)))
		require.Equal(t, -32002, e.call("session/prompt", e.promptParams("three")).Error.Code)
		require.Equal(t, -32002, e.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, e.session)).Error.Code)
		require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error, "it can be loaded again")
	})
}

// TestThreeCrashesAreEnough: droid is not started for ever.
func TestThreeCrashesAreEnough(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		good := false
		e := begin(t, shared(v, always(eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if good {
				return d.Say("", "fine")
			}
			return d.Die(137, "")
		}))))
		require.Contains(t, e.run("1"), "-32603 droid ")
		require.Contains(t, e.run("2"), "-32603 droid ")
		good = true
		require.Equal(t, "end_turn", e.run("a good turn in between"))
		good = false
		for i := range turns.MaxCrashes {
			require.Contains(t, e.run(fmt.Sprint(i)), "-32603 droid ")
		}
		starts := e.starts
		require.Contains(t, e.run("once more"), "droid died 3 times in a row")
		require.Equal(t, starts, e.starts)
	})
}

// TestParking: a session that rests has no process; the next prompt starts one,
// and the mode is as it was.
func TestParking(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := open(t, shared(v, always(says("hello"))))
		e.agent.cfg.ParkAfter = 15 * time.Minute
		require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
		e.beginSession()
		require.Nil(t, e.call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"auto-low"}`, e.session)).Error)
		require.Equal(t, "end_turn", e.run("one"))
		time.Sleep(14 * time.Minute)
		require.False(t, e.parked())
		require.Equal(t, "end_turn", e.run("two"), "this begins the time anew")
		time.Sleep(14 * time.Minute)
		require.False(t, e.parked())
		time.Sleep(2 * time.Minute)
		require.True(t, e.parked())
		require.Equal(t, 1, e.starts)
		require.Equal(t, "end_turn", e.run("three"))
		require.Equal(t, 2, e.starts)
		require.NotContains(t, strings.Join(e.updates(), "\n"), "started again", "nothing went wrong")
		var mode string
		e.inside(func(s *Session) { mode = string(s.options.Mode()) })
		require.Equal(t, "auto-low", mode)
		time.Sleep(time.Hour)
		require.True(t, e.parked())
		require.Nil(t, e.call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"spec"}`, e.session)).Error, "a parked session changes its mode")
	})
}

// TestNoParkingAtWork: neither while a prompt runs nor while the user decides.
func TestNoParkingAtWork(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		e := open(t, shared(v, always(uses(touch))))
		e.agent.cfg.ParkAfter = time.Minute
		require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
		e.beginSession()
		e.ask = nil
		id := e.prompt("go")
		time.Sleep(time.Hour)
		require.False(t, e.parked())
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		time.Sleep(2 * time.Minute)
		require.True(t, e.parked())
	})
}

func TestListAndDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "sessions")
		dir := filepath.Join(root, "-workspace")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		ids := []string{"11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"}
		for _, id := range ids {
			first := fmt.Sprintf(`{"type":"session_start","id":%q,"title":"About %s","cwd":"/workspace"}`, id, id[35:])
			message := `{"type":"message","id":"m","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}`
			require.NoError(t, os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(first+"\n"+message+"\n"), 0o644))
		}
		e := open(t, playing(says("hi")))
		e.agent.cfg.Store = store.New(root, nil)
		require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)

		list := func(params string) (result protocol.ListResult) {
			answer := e.call("session/list", params)
			require.Nil(t, answer.Error)
			require.NoError(t, json.Unmarshal(answer.Result, &result))
			return result
		}
		got := list(`{}`)
		require.Len(t, got.Sessions, 2)
		require.Equal(t, "/workspace", got.Sessions[0].CWD)
		require.Contains(t, got.Sessions[0].Title, "About")
		_, err := time.Parse(time.RFC3339, got.Sessions[0].UpdatedAt)
		require.NoError(t, err)
		require.Len(t, list(`{"cwd":"/workspace"}`).Sessions, 2)
		require.Empty(t, list(`{"cwd":"/elsewhere"}`).Sessions)
		require.Contains(t, string(e.call("session/list", `{"cwd":"/elsewhere"}`).Result), `"sessions":[]`)
		require.Equal(t, -32602, e.call("session/list", `{"cwd":"here"}`).Error.Code)
		require.Equal(t, -32602, e.call("session/list", `{"cursor":"bogus"}`).Error.Code)

		require.Nil(t, e.call("session/delete", fmt.Sprintf(`{"sessionId":%q}`, ids[0])).Error)
		require.Len(t, list(`{}`).Sessions, 1)
		require.Nil(t, e.call("session/delete", fmt.Sprintf(`{"sessionId":%q}`, ids[0])).Error, "unknown ids are deleted already")
	})
}

// A session can be deleted while it is still being noted that it is open. The note does not outlive the
// session, also where the disk takes so long that nobody waits for it.
func TestDeleteWhileItIsNoted(t *testing.T) {
	for _, disk := range []time.Duration{files.ReleaseTime / 2, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "sessions")
			e := open(t, playing(says("hi"), fakedroid.WithSessions(new(fakedroid.Sessions))))
			e.agent.cfg.Store = store.New(root, zap.NewNop())
			require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
			e.hanging.begin("Store.MarkOpen")
			e.beginSession()
			path := filepath.Join(root, "-workspace", e.session+".jsonl")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o644))
			e.settle()
			require.True(t, e.hanging.wasReached())
			deleted := e.request("session/delete", fmt.Sprintf(`{"sessionId":%q}`, e.session))
			time.Sleep(disk)
			e.hanging.revive()
			require.Nil(t, e.await(deleted).Error)
			require.NoFileExists(t, path)
			e.settle()
			require.False(t, e.agent.cfg.Store.IsOpen(e.session))
		})
	}
}

// One agent does not delete what another one has open, whichever session droid
// works on there.
func TestDeleteWhatAnotherAgentHasOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "sessions")
		stored := new(fakedroid.Sessions)
		var compacted string
		compact := fakedroid.WithAnswer("droid.compact_session", func(map[string]any) (any, string) {
			compacted = stored.Add("/workspace")
			return fakedroid.Fields{"newSessionId": compacted, "removedCount": 4}, ""
		})
		agent := func() *editor {
			e := open(t, playing(says("hi"), fakedroid.WithSessions(stored), compact))
			e.agent.cfg.Store = store.New(root, zap.NewNop())
			require.Nil(t, e.call("initialize", `{"protocolVersion":1}`).Error)
			return e
		}
		write := func(id string) string {
			path := filepath.Join(root, "-workspace", id+".jsonl")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o644))
			return path
		}
		one, other := agent(), agent()
		one.beginSession()
		path := write(one.session)
		remove := func(e *editor, id string) *acptest.Error {
			synctest.Wait()
			return e.call("session/delete", fmt.Sprintf(`{"sessionId":%q}`, id)).Error
		}
		refused := remove(other, one.session)
		require.NotNil(t, refused)
		require.Contains(t, refused.Message, "close it there first")
		require.FileExists(t, path)

		require.Equal(t, "end_turn", one.run("/compact"))
		write(compacted)
		refused = remove(other, compacted)
		require.NotNil(t, refused)
		refused = remove(other, one.session)
		require.NotNil(t, refused, "the whole thread goes or none of it")
		require.FileExists(t, path)

		require.Nil(t, one.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, one.session)).Error)
		time.Sleep(time.Minute) // droid has left
		require.Nil(t, remove(other, compacted))
		require.NoFileExists(t, path)
		other.beginSession()
		path = write(other.session)
		require.Nil(t, remove(other, other.session), "its own it ends before")
		require.NoFileExists(t, path)
	})
}

// TestQuirk32_HungLoadBesideAPrompt: the load alone goes unanswered, and a prompt comes
// meanwhile. It waits for the load, and the process that takes the session up answers both.
func TestQuirk32_HungLoadBesideAPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fakedroid.WithSessions(new(fakedroid.Sessions))
		nothing := []byte(`{"jsonrpc":"2.0","factoryApiVersion":"1.0.0","type":"notification","method":"none"}`)
		e := begin(t, func(n int) (*droid.Client, error) {
			if n > 1 {
				return fakeDroid(says("I am back"), store), nil
			}
			return tappedDroid(func(line []byte) {
				if bytes.Contains(line, []byte("droid.load_session")) {
					rest := line[copy(line, nothing) : len(line)-1]
					copy(rest, bytes.Repeat([]byte(" "), len(rest)))
				}
			}, says("I was there"), store), nil
		})
		require.Equal(t, "end_turn", e.run("hello"))
		load := e.request("_droid/messages", sessionParamsOf(e.session))
		synctest.Wait()
		require.Equal(t, "end_turn", e.run("meanwhile"))
		require.Nil(t, e.await(load).Error)
		require.Contains(t, e.updates(), "agent: I am back")
	})
}

// TestQuirk32_HungLoad: a droid that hangs while it loads the session once more is
// replaced, and what wanted the history gets it.
func TestQuirk32_HungLoad(t *testing.T) {
	for name, ask := range map[string]func(e *editor) string{
		"session/load": func(e *editor) string {
			require.Nil(t, e.call("session/load", sessionParamsOf(e.session)).Error)
			return strings.Join(e.updates(), "\n")
		},
		"/rewind": func(e *editor) string {
			require.Equal(t, "end_turn", e.run("/rewind"))
			return strings.Join(e.updates(), "\n")
		},
		"/export": func(e *editor) string {
			file := filepath.Join(t.TempDir(), "out.html")
			require.Equal(t, "end_turn", e.run("/export "+file))
			page, err := os.ReadFile(file)
			require.NoError(t, err)
			return string(page)
		},
		"messages": func(e *editor) string { return string(e.call("_droid/messages", sessionParamsOf(e.session)).Result) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := fakedroid.WithSessions(new(fakedroid.Sessions))
				wake := make(chan struct{})
				hang := fakedroid.WithAnswer("droid.load_session", func(map[string]any) (any, string) {
					<-wake
					return nil, ""
				})
				e := begin(t, func(n int) (*droid.Client, error) {
					if n == 1 {
						return fakeDroid(says("I was there"), fakedroid.WithVersion(fakedroid.V099), store, hang), nil
					}
					return fakeDroid(says("I am back"), fakedroid.WithVersion(fakedroid.V099), store), nil
				})
				require.Equal(t, "end_turn", e.run("hello there"))
				began := time.Now()
				require.Contains(t, ask(e), "hello there")
				require.Less(t, time.Since(began), loadAgainTime+time.Second)
				require.Equal(t, "end_turn", e.run("go on"))
				require.Contains(t, e.updates(), "agent: I am back")
				close(wake)
			})
		})
	}
}

// TestCrashWhileSettingsAreRestored: a droid that dies when it is to take its settings back fails no prompt, as it did
// not have one; the next droid gets it, in the mode that the session had.
func TestCrashWhileSettingsAreRestored(t *testing.T) {
	versions(t, func(t *testing.T, v fakedroid.Option) {
		for range 20 { // whether droid's end or the failed call is heard first
			crashWhileSettingsAreRestored(t, v, "auto-low", "auto-high")
			crashWhileSettingsAreRestored(t, v, "auto-high", "auto-low") // a freer one than another window's is theirs, too
		}
	})
}

func crashWhileSettingsAreRestored(t *testing.T, v fakedroid.Option, mode, elsewhere string) {
	sessions := new(fakedroid.Sessions)
	e := begin(t, func(n int) (client *droid.Client, err error) {
		client = tappedDroid(func(line []byte) {
			if n == 2 && strings.Contains(string(line), "update_session_settings") {
				client.Kill()
			}
		}, eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error {
			if p.Text == "die" {
				return d.Die(137, "")
			}
			return d.Say("", "in "+d.Mode())
		}), v, fakedroid.WithSessions(sessions))
		return client, nil
	})
	require.Nil(t, e.call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, e.session, mode)).Error)
	require.Contains(t, e.run("die"), "-32603 ")
	sessions.SetMode(e.session, elsewhere)
	require.Equal(t, "end_turn", e.run("hello"))
	require.Equal(t, 3, e.starts, "the second one died when it was to take the mode back")
	require.Contains(t, strings.Join(e.updates(), "\n"), "agent: in "+mode)
}
