package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/session"
	"droid-acp/internal/droid"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/testing/fakedroid"
)

// ruled is an editor whose user has these settings.
func ruled(t *testing.T, settings string) (e *editor, path string) {
	t.Helper()
	path = filepath.Join(os.Getenv("HOME"), ".factory", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(settings), 0o600))
	f := newFleet(t, fakedroid.WithVersion(fakedroid.V0225), repeats())
	return begin(t, f.start), path
}

// answerTo runs a slash command and returns its answer.
func (e *editor) answerTo(command string) string {
	e.t.Helper()
	n := len(e.updates())
	require.Equal(e.t, "end_turn", e.run(command))
	return strings.Join(e.updates()[n:], "\n")
}

// Allowed and blocked commands, and those that need a permission, are listed by file, with the effect of each entry.
func TestPermissionsAreListed(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		e, path := ruled(t, `{"commandAllowlist":["touch zz1","make"],"commandDenylist":["curl"],"commandBlocklist":["dd"]}`)
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "mcp.json"), []byte(`{"persistentPermissions":{"tools":{"tiny":{"t":{}}}}}`), 0o600))
		list := e.answerTo("/permissions")
		for _, line := range []string{
			"Yours, in `" + path + "`:", "- allowed: `touch zz1`, which lets **every** `touch` run\n", "- allowed: `make`\n", "- asked about: `curl`\n", "- never run: `dd`\n",
			"mcp.json`:", "- allowed, MCP: `tiny: t`\n",
		} {
			require.Contains(t, list, line)
		}
		why := e.answerTo("/permissions why touch a b")
		require.Contains(t, why, "As droid-acp reads the lists", "this droid is no program that could be asked")
		require.Contains(t, why, "it runs without a question, by `touch zz1`")
		require.Contains(t, e.answerTo("/permissions why make; ls"), "no entry lets `ls` run, but droid has lists of its own")
		require.Contains(t, e.answerTo("/permissions why make $(ls)"), "whether an entry lets it run is not known")
		require.Contains(t, e.answerTo("/permissions why make && curl x"), "droid asks before it, whatever the mode, by `curl`")
		require.Contains(t, e.answerTo("/permissions why X=1 dd"), "it never runs, by `dd`")
		require.Contains(t, e.answerTo("/permissions why ls"), "no entry lets `ls` run, but droid has lists of its own. "+
			"Else the mode decides, here Auto (Off): ask before file edits and commands.")
		for mode, means := range map[string]string{"auto-high": "Auto (High): allow all commands.", "spec": "Spec: research and plan first;"} {
			e.answerTo("/mode " + mode)
			require.Contains(t, e.answerTo("/permissions why ls"), "the mode decides, here "+means)
		}
	})
}

// An entry can be revoked by its text in the list, even if it has several lines.
func TestPermissionIsTakenBackAsItIsListed(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		e, path := ruled(t, `{"commandAllowlist":["touch a\n  mkdir b","make","make "]}`)
		require.Contains(t, e.answerTo("/permissions"), "- allowed: `touch a ⏎ mkdir b`")
		require.Contains(t, e.answerTo("/permissions forget touch a ⏎ mkdir b"), "Taken back: `touch a ⏎ mkdir b`")
		require.Contains(t, e.answerTo("/permissions forget make"), "Taken back: `make`")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.JSONEq(t, `{"commandAllowlist":[]}`, string(text))
	})
}

// After a permission was withdrawn, the project is checked again: droid, which has read the file before, may write it again.
func TestPermissionIsTakenBack(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const settings, without = `{"commandAllowlist":["touch","make"],"commandDenylist":["curl"]}`, `{"commandAllowlist":["make"],"commandDenylist":["curl"]}`
	for name, writes := range map[string]int{"nobody writes": 0, "droid writes it once more": 1, "droid always writes it": 100} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, path := ruled(t, settings)
				read := func() string {
					text, err := os.ReadFile(path)
					require.NoError(t, err)
					return string(text)
				}
				id := e.prompt("/permissions forget touch")
				for range writes {
					time.Sleep(session.RulesSettle - time.Millisecond)
					if _, over := e.answered(id); over {
						break
					}
					require.Equal(t, without, read())
					require.NoError(t, os.WriteFile(path, []byte(settings), 0o600))
					time.Sleep(time.Millisecond)
				}
				require.Equal(t, "end_turn", ended(e.await(id)))
				said := strings.Join(e.updates(), "\n")
				if writes == 100 {
					require.Contains(t, said, "droid writes `touch` again each time")
					return
				}
				require.Contains(t, said, "Taken back: `touch`")
				require.Equal(t, without, read())
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		e, path := ruled(t, settings)
		require.Contains(t, e.answerTo("/permissions forget curl"), "is no permission")
		e.hanging.begin("Rules.TakeBack")
		require.Contains(t, e.answerTo("/permissions forget touch"), "It was not taken back: "+path)
		require.True(t, e.hanging.wasReached())
		e.hanging.revive() // which does not do it now: the droid of this session has read the permission
		time.Sleep(time.Minute)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, settings, string(text))
	})
}

// A prompt that was sent behind "/permissions forget" does not go to droid if the permission stays, also where droid dies meanwhile.
func TestPromptBehindAPermissionThatStays(t *testing.T) {
	const settings = `{"commandAllowlist":["touch"]}`
	for name, tc := range map[string]struct {
		hangs   files.CallName
		disturb func(e *editor, path string)
	}{
		"it cannot be removed": {"Rules.TakeBack", func(*editor, string) {}},
		"it cannot be read":    {"Rules.Read", func(*editor, string) {}},
		"droid dies": {"Rules.Read", func(e *editor, _ string) {
			e.inside(func(s *session.Session) { s.Process().Client().Kill() })
		}},
		"it is another's": {"Rules.Read", func(e *editor, path string) {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			path = filepath.Join(os.Getenv("HOME"), "other.json")
			require.NoError(t, os.WriteFile(path, []byte(settings), 0o600))
			t.Setenv("FACTORY_SETTINGS", path)
			e.hanging.revive()
		}},
		"droid always writes it": {"", func(e *editor, path string) {
			for range 3 {
				time.Sleep(session.RulesSettle - time.Millisecond)
				require.NoError(t, os.WriteFile(path, []byte(settings), 0o600))
				time.Sleep(time.Millisecond)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				e, path := ruled(t, settings)
				require.Equal(t, "end_turn", e.run("hello"))
				e.hanging.begin(tc.hangs)
				id, behind := e.prompt("/permissions forget touch"), e.prompt("hello")
				e.settle()
				tc.disturb(e, path)
				require.Equal(t, "end_turn", ended(e.await(id)))
				require.Contains(t, ended(e.await(behind)), "The prompt was not sent, because `/permissions forget touch` before it failed: ")
				e.hanging.revive()
				e.settle()
				require.Equal(t, "end_turn", e.run("I know it stays"))
			})
		})
	}
}

// Nor does a droid that has read it and is still being started, see TestDroidEndsWithAPermission.
func TestStartingDroidEndsWithAPermission(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		ruled(t, `{"commandAllowlist":["touch"]}`)
		var store fakedroid.Sessions
		e := begin(t, func(n int) (*droid.Client, error) {
			return tappedDroid(func(line []byte) {
				if n == 2 && strings.Contains(string(line), "load_session") {
					time.Sleep(10 * time.Second)
				}
			}, repeats(), fakedroid.WithVersion(fakedroid.V0225), fakedroid.WithSessions(&store)), nil
		})
		require.Equal(t, "end_turn", e.run("hello"))
		e.inside(func(s *session.Session) { s.ReplaceDroid() })
		id := e.prompt("hello")
		e.settle()
		e.cancel()
		require.Equal(t, "cancelled", ended(e.await(id)))
		require.Contains(t, e.answerTo("/permissions forget touch"), "Taken back")
		require.Equal(t, "end_turn", e.run("again"))
		require.Equal(t, 3, e.starts)
	})
}

// A droid that has read a permission does not outlive its removal, whether that is cancelled or what follows fails.
func TestDroidEndsWithAPermission(t *testing.T) {
	for name, disturb := range map[string]func(e *editor){
		"cancelled":           (*editor).cancel,
		"the lists hang then": func(e *editor) { e.hanging.begin("Rules.Read") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				e, path := ruled(t, `{"commandAllowlist":["touch","make"]}`)
				require.Equal(t, "end_turn", e.run("hello"))
				starts := e.starts
				id := e.prompt("/permissions forget touch")
				time.Sleep(session.RulesSettle / 2)
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				require.JSONEq(t, `{"commandAllowlist":["make"]}`, string(text))
				disturb(e)
				e.await(id)
				e.hanging.revive()
				synctest.Wait()
				require.Equal(t, "end_turn", e.run("again"))
				require.Equal(t, starts+1, e.starts)
			})
		})
	}
}
