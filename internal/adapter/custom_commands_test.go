package adapter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/fakedroid"
	"droid-acp/internal/protocol"
)

// commandRoom is a home and a project of a test's own.
type commandRoom struct {
	t           testing.TB
	home, works string
}

func newCommandRoom(t *testing.T) commandRoom {
	root := t.TempDir()
	r := commandRoom{t, filepath.Join(root, "me"), filepath.Join(root, "we [ird]*? {x}.ünï")}
	require.NoError(t, os.MkdirAll(r.home, 0o755))
	require.NoError(t, os.MkdirAll(r.works, 0o755))
	t.Setenv("HOME", r.home)
	t.Setenv("USERPROFILE", r.home)
	return r
}

func (r commandRoom) write(path, text string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
}

func (r commandRoom) project(name, text string) {
	r.t.Helper()
	r.write(filepath.Join(r.works, ".factory", "commands", name), text)
}

// commandsTold are the commands that the editor was told last.
func (e *editor) commandsTold() (names []string) {
	var u struct{ AvailableCommands []protocol.AvailableCommand }
	require.NoError(e.t, json.Unmarshal(e.lastUpdate("available_commands_update"), &u))
	for _, c := range u.AvailableCommands {
		names = append(names, string(c.Name))
	}
	return names
}

// beginIn connects and makes a session in a directory.
func beginIn(t *testing.T, cwd string, start starter) *editor {
	t.Helper()
	e := connect(t, start)
	var result struct{ SessionID string }
	require.NoError(t, json.Unmarshal(e.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, cwd)).Result, &result))
	e.session = result.SessionID
	return e
}

// sayAgain answers each prompt with its text.
func sayAgain() fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error { return d.Say("", "droid: "+p.Text) })
}

// Commands that come, change and go while a session is open do so for its editor, also
// where droid does not list them (yet).
func TestCommandsFollowTheFiles(t *testing.T) {
	for _, v := range []fakedroid.Version{fakedroid.V099, fakedroid.V0225} {
		t.Run(string(v), func(t *testing.T) {
			r := newCommandRoom(t)
			synctest.Test(t, func(t *testing.T) {
				e := beginIn(t, r.works, playing(sayAgain(), fakedroid.WithVersion(v)))
				synctest.Wait()
				require.NotContains(t, e.commandsTold(), "greet")

				r.project("sub/greet.md", "---\r\ndescription: Greets\r\n---\r\n\r\nHello $ARGUMENTS\r\n")
				require.Equal(t, "end_turn", e.run("/greet Bob"), "at once")
				require.Contains(t, e.updates(), "agent: droid: Hello Bob\n")
				require.Contains(t, e.commandsTold(), "greet")

				r.project("later.md", "Later")
				time.Sleep(time.Hour)
				require.NotContains(t, e.commandsTold(), "later", "nobody looks while nothing happens")
				require.Equal(t, "end_turn", e.run("hello"))
				synctest.Wait()
				require.Contains(t, e.commandsTold(), "later", "the end of a turn")

				r.project("sub/greet.md", "Good day $ARGUMENTS")
				require.Equal(t, "end_turn", e.run("/GREET Eve"))
				require.Contains(t, e.updates(), "agent: droid: Good day Eve")

				require.NoError(t, os.Remove(filepath.Join(r.works, ".factory", "commands", "later.md")))
				require.Equal(t, "end_turn", e.run("/later"))
				require.Contains(t, e.updates(), "agent: droid: /later")
				require.NotContains(t, e.commandsTold(), "later")
				require.Contains(t, e.commandsTold(), "greet")

				r.project("shown.md", "Shown")
				require.Equal(t, "end_turn", e.run("/help"))
				require.Contains(t, strings.Join(e.updates(), "\n"), "`/shown ")
			})
		})
	}
}

// A list that droid does not give again is not taken for an empty one.
func TestCommandsStayWithoutAnAnswer(t *testing.T) {
	r := newCommandRoom(t)
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		e := beginIn(t, r.works, playing(sayAgain(), fakedroid.WithAnswer("droid.list_commands", func(map[string]any) (any, string) {
			if asked++; asked > 1 {
				return fakedroid.NoAnswer{}, ""
			}
			return fakedroid.Fields{"commands": []any{fakedroid.Fields{"name": "mine", "description": "d"}}}, ""
		})))
		synctest.Wait()
		require.Contains(t, e.commandsTold(), "mine")
		require.Equal(t, "end_turn", e.run("hello"))
		time.Sleep(time.Minute)
		require.Contains(t, e.commandsTold(), "mine")
		require.Equal(t, 2, asked)
		began := time.Now()
		require.Equal(t, "end_turn", e.run("/nobody"))
		require.Less(t, time.Since(began), 2*lookTime, "the prompt does not wait for it")
	})
}

// droid fails at a command that was removed while it ran (0.225). The user is told why.
func TestRemovedCommandSaysSo(t *testing.T) {
	r := newCommandRoom(t)
	synctest.Test(t, func(t *testing.T) {
		var names atomic.Pointer[[]any]
		names.Store(&[]any{fakedroid.Fields{"name": "mine"}, fakedroid.Fields{"name": "other"}})
		e := beginIn(t, r.works, playing(sayAgain(), fakedroid.WithAnswer("droid.list_commands", func(map[string]any) (any, string) {
			return fakedroid.Fields{"commands": *names.Load()}, ""
		})))
		require.Equal(t, "end_turn", e.run("/mine now"))
		names.Store(&[]any{fakedroid.Fields{"name": "other"}})
		require.Contains(t, e.run("/Mine now"), "was removed")
		require.NotContains(t, e.commandsTold(), "mine")
		require.Equal(t, "end_turn", e.run("/other"))
		require.Equal(t, "end_turn", e.run("/nothing"))

		r.project("mine.md", "Again $ARGUMENTS")
		require.Equal(t, "end_turn", e.run("/mine now"))
		require.Contains(t, e.updates(), "agent: droid: Again now")
	})
}

// A skill whose file is gone is not offered, though 0.117 goes on listing it.
func TestRemovedSkillIsNotOffered(t *testing.T) {
	r := newCommandRoom(t)
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(r.works, ".factory", "skills", "demo", "SKILL.md")
		r.write(file, "demo")
		e := beginIn(t, r.works, playing(sayAgain(), fakedroid.WithVersion(fakedroid.V099), fakedroid.WithAnswer("droid.list_skills", func(map[string]any) (any, string) {
			return fakedroid.Fields{"skills": []any{
				fakedroid.Fields{"name": "demo", "description": "d", "location": "project", "filePath": file},
				fakedroid.Fields{"name": "unknown", "description": "d", "location": "personal"},
			}}, ""
		})))
		synctest.Wait()
		require.Subset(t, e.commandsTold(), []string{"demo", "unknown"})
		require.NoError(t, os.Remove(file))
		require.Equal(t, "end_turn", e.run("hello"))
		synctest.Wait()
		require.NotContains(t, e.commandsTold(), "demo")
		require.Contains(t, e.commandsTold(), "unknown")
	})
}
