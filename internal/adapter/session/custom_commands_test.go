package session_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/session"
	"droid-acp/internal/testing/fakedroid"
)

// commandsTold returns the commands that the editor was sent last.
func (e *editor) commandsTold() (names []string) {
	var u struct{ AvailableCommands []protocol.AvailableCommand }
	require.NoError(e.t, json.Unmarshal(e.lastUpdate("available_commands_update"), &u))
	for _, c := range u.AvailableCommands {
		names = append(names, string(c.Name))
	}
	return names
}

// sayAgain answers each prompt with its text.
func sayAgain() fakedroid.Script {
	return eachPrompt(func(d *fakedroid.Droid, p fakedroid.Prompt) error { return d.Say("", "droid: "+p.Text) })
}

// lister is a droid that expands commands and skills, and lists the given names.
type lister struct{ names atomic.Pointer[[]any] }

func (l *lister) has(names ...string) {
	var all []any
	for _, name := range names {
		all = append(all, fakedroid.Fields{"name": name})
	}
	l.names.Store(&all)
}

func (l *lister) option() fakedroid.Option {
	return fakedroid.WithAnswer("droid.list_commands", func(map[string]any) (any, string) {
		return fakedroid.Fields{"commands": *l.names.Load()}, ""
	})
}

// Commands that come and go while a session is open do so for its editor: a second after
// a turn, a prompt that begins with "/", and /help.
func TestCommandsFollowDroidsList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var droid lister
		droid.has("greet")
		e := begin(t, playing(sayAgain(), droid.option()))
		synctest.Wait()
		require.Contains(t, e.commandsTold(), "greet")
		droid.has("greet", "later")
		time.Sleep(time.Hour)
		require.NotContains(t, e.commandsTold(), "later", "nobody looks while nothing happens")
		require.Equal(t, "end_turn", e.run("hello"))
		time.Sleep(900 * time.Millisecond)
		require.NotContains(t, e.commandsTold(), "later", "a prompt right behind the turn does not wait for droid's list")
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		require.Contains(t, e.commandsTold(), "later", "a second after a turn")
		require.Equal(t, "end_turn", e.run("/greet Bob"))
		require.Contains(t, e.updates(), "agent: droid: /greet Bob", "it is droid's")
		droid.has("greet", "shown")
		require.Equal(t, "end_turn", e.run("/help"))
		require.Contains(t, strings.Join(e.updates(), "\n"), "`/shown`")
		require.NotContains(t, e.commandsTold(), "later")
	})
}

// A list that droid does not give again is not taken for an empty one.
func TestCommandsStayWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		e := begin(t, playing(sayAgain(), fakedroid.WithAnswer("droid.list_commands", func(map[string]any) (any, string) {
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
		require.Less(t, time.Since(began), 2*session.LookTime, "the prompt does not wait for it")
	})
}
