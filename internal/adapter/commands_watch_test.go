package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/fakedroid"
	"droid-acp/internal/protocol"
)

// A change is told at once, and 2 and 6 s later; nothing is told without one. The
// goroutine ends when nobody follows.
func TestCommandWatch(t *testing.T) {
	r := newCommandRoom(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w, began, a, b := newCommandWatch(func(cwd string) (uint64, error) { return commandsStamp(cwd), nil }), time.Now(), new(Session), new(Session)
		var mu sync.Mutex
		told := map[*Session][]time.Duration{}
		follow := func(s *Session) {
			w.follow(ctx, zap.NewNop(), s, r.works, func() {
				mu.Lock()
				defer mu.Unlock()
				told[s] = append(told[s], time.Since(began).Round(time.Second))
			})
		}
		follow(a)
		time.Sleep(time.Minute + time.Second)
		mu.Lock()
		require.Empty(t, told)
		mu.Unlock()
		follow(b)
		synctest.Wait()
		r.project("new.md", "new")
		time.Sleep(20 * time.Second)
		want := []time.Duration{62 * time.Second, 64 * time.Second, 68 * time.Second}
		mu.Lock()
		require.Equal(t, map[*Session][]time.Duration{a: want, b: want}, told)
		mu.Unlock()
		w.unfollow(a)
		r.project("new.md", "changed")
		time.Sleep(20 * time.Second)
		w.unfollow(b)
		w.wait()
		require.Len(t, told[a], 3)
		require.Len(t, told[b], 6)
		follow(a) // once more
		cancel()
		w.wait()
	})
}

// commandsTold are the commands that the editor was told last.
func (e *editor) commandsTold() (names []string) {
	var u struct{ AvailableCommands []protocol.AvailableCommand }
	require.NoError(e.t, json.Unmarshal(e.lastUpdate("available_commands_update"), &u))
	for _, c := range u.AvailableCommands {
		names = append(names, c.Name)
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
				time.Sleep(2 * watchEvery)
				require.Contains(t, e.commandsTold(), "later", "without a prompt")

				r.project("sub/greet.md", "Good day $ARGUMENTS")
				require.Equal(t, "end_turn", e.run("/GREET Eve"))
				require.Contains(t, e.updates(), "agent: droid: Good day Eve")

				require.NoError(t, os.Remove(filepath.Join(r.works, ".factory", "commands", "later.md")))
				time.Sleep(2 * watchEvery)
				require.NotContains(t, e.commandsTold(), "later")
				require.Contains(t, e.commandsTold(), "greet")
				require.Equal(t, "end_turn", e.run("/later"))
				require.Contains(t, e.updates(), "agent: droid: /later")
			})
		})
	}
}

// Each name is told once, and only what can be typed.
func TestCommandsHaveOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := func(name, description string) any { return fakedroid.Fields{"name": name, "description": description} }
		e := begin(t, playing(sayAgain(), fakedroid.WithAnswer("droid.list_commands", func(map[string]any) (any, string) {
			return fakedroid.Fields{"commands": []any{row("a-b", "First"), row("-", "None"), row("c", "C"), row("a-b", "Last")}}, ""
		}), fakedroid.WithAnswer("droid.list_skills", func(map[string]any) (any, string) {
			return fakedroid.Fields{"skills": []any{fakedroid.Fields{"name": "My Skill", "description": "Mine", "userInvocable": true}}}, ""
		})))
		synctest.Wait()
		require.Equal(t, []string{"c", "a-b", "my-skill"}, e.commandsTold()[:3])
		require.Contains(t, string(e.lastUpdate("available_commands_update")), "Last", "that is what droid runs")
		require.Equal(t, "end_turn", e.run("/my-skill now"))
		require.Contains(t, e.updates(), `agent: droid: Use your skill "My Skill" now. now`)
	})
}

// A list that droid does not give again is not taken for an empty one, and looks do not
// overtake each other.
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
		r.project("new.md", "New")
		time.Sleep(5 * time.Minute)
		require.Contains(t, e.commandsTold(), "mine")
		require.LessOrEqual(t, asked, 4)
		began := time.Now()
		require.Equal(t, "end_turn", e.run("/nobody"))
		require.Less(t, time.Since(began), 2*typedTime, "the prompt does not wait for it")
	})
}

// A parked session costs nothing: nobody looks at its files.
func TestParkedSessionsAreNotWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := begin(t, playing(sayAgain(), fakedroid.WithSessions(new(fakedroid.Sessions))))
		synctest.Wait()
		e.inside(func(s *Session) { s.leave() })
		time.Sleep(watchEvery)
		require.True(t, e.parked())
		e.agent.watch.wait()
		require.Equal(t, "end_turn", e.run("hello"))
		synctest.Wait()
		e.agent.watch.mu.Lock()
		defer e.agent.watch.mu.Unlock()
		require.True(t, e.agent.watch.running)
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
		r.project("stamp.md", "a change to look at")
		names.Store(&[]any{fakedroid.Fields{"name": "other"}})
		time.Sleep(2 * watchEvery)
		require.NotContains(t, e.commandsTold(), "mine")
		require.Contains(t, e.run("/Mine now"), "was removed")
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
		time.Sleep(2 * watchEvery)
		require.NotContains(t, e.commandsTold(), "demo")
		require.Contains(t, e.commandsTold(), "unknown")
	})
}
