//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/testing/modelserver"
)

// commandsOf returns the names in a line with the commands; ok is false for others.
func commandsOf(l line) (names []string, ok bool) {
	var p struct {
		Update struct {
			SessionUpdate     string
			AvailableCommands []struct{ Name string }
		}
	}
	if json.Unmarshal(l.Params, &p) != nil || p.Update.SessionUpdate != "available_commands_update" {
		return nil, false
	}
	for _, c := range p.Update.AvailableCommands {
		names = append(names, c.Name)
	}
	return names, true
}

// listed waits for a list of commands, from line number from on, with these names and without those with a minus.
func (s session) listed(from int, names ...string) {
	s.t.Helper()
	s.await("the commands "+strings.Join(names, " "), from, turnLimit, func(l line) bool {
		got, ok := commandsOf(l)
		for _, name := range names {
			bare, gone := strings.CutPrefix(name, "-")
			ok = ok && slices.Contains(got, bare) != gone
		}
		return ok
	})
}

// helps sends /help until its output matches, as in listed: files are checked 1 s after the end of a prompt.
func (s session) helps(names ...string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		told := s.prompt("/help").end(turnLimit).text()
		return !slices.ContainsFunc(names, func(name string) bool {
			bare, gone := strings.CutPrefix(name, "-")
			return strings.Contains(told, "`/"+bare+"`") == gone
		})
	}, 30*time.Second, 3*time.Second)
}

// Command files and skills are added, changed and removed while a session is open: in a directory of any name, nested, and written on
// Windows. A droid that does not see them is replaced. Before 0.215 it has no commands: the typed text goes to the model unchanged, and
// /status says so.
func TestCommandsFollowTheFiles(t *testing.T) {
	ofAdapter(t)
	alsoFar(t)
	eachVersion(t, func(t *testing.T, model *modelserver.Server, h home) {
		h.work = filepath.Join(h.work, "we [ird]*? {x}.ünï")
		project, user := filepath.Join(h.work, ".factory"), filepath.Join(h.dir, ".factory")
		write := func(path, text string) {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		write(filepath.Join(project, "commands", "there.md"), "There")
		write(filepath.Join(user, "commands", "mine.md"), "The user's")
		require.NoError(t, os.MkdirAll(filepath.Join(user, "skills"), 0o755))
		model.On("Hello Bob", modelserver.Step{Text: "First."})
		model.On("Good day Bob", modelserver.Step{Text: "Second."})
		model.On("Nested for Bob", modelserver.Step{Text: "Third."})
		model.On("The user's", modelserver.Step{Text: "Fourth."})
		model.On("/mine", modelserver.Step{Text: "No such command."})
		s := startAgent(t, h).open(h)
		say := func(text string) string { return s.prompt(text).end(turnLimit).text() }
		if h.version == oldDroid {
			s.listed(0, "-mine", "-there", "help")
			require.Equal(t, "No such command.", say("/mine"))
			require.Contains(t, say("/status"), "list custom commands and skills")
			return
		}
		s.listed(0, "-greet", "mine", "there", "help")

		greet := filepath.Join(project, "commands", "greet.md")
		write(greet, "---\r\ndescription: Greets\r\n---\r\n\r\nHello $ARGUMENTS\r\n")
		write(filepath.Join(project, "commands", "sub dir", "deep.er", "Nest Ed.md"), "Nested for $ARGUMENTS")
		write(filepath.Join(user, "skills", "demo", "SKILL.md"), "---\nname: demo\ndescription: Demo\n---\nDemo\n")
		s.helps("greet", "nest-ed", "mine", "demo")
		require.Equal(t, "First.", say("/greet Bob"))
		require.Equal(t, "Third.", say("/nest-ed Bob"))
		require.Equal(t, "Fourth.", say("/mine"))

		write(greet, "Good day $ARGUMENTS")
		time.Sleep(time.Second) // it looks as it did before
		require.Equal(t, "Second.", say("/greet Bob"))

		require.NoError(t, os.Remove(greet))
		require.NoError(t, os.RemoveAll(filepath.Join(user, "skills", "demo")))
		s.helps("-greet", "-demo", "nest-ed")
		require.ErrorContains(t, s.prompt("/greet Bob").end(turnLimit).Err, "was removed") // droid would fail at it
	})
}
