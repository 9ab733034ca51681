package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/adapter/internal/prompt"
)

// TestShellIsAllowed: the shell is a command if the configuration allows it.
func TestShellIsAllowed(t *testing.T) {
	d := &Deps{Config: new(Config), Commands: []Command{{Name: "help"}, {Name: ShellCommand}}}
	require.Len(t, d.ownCommands(), 1)
	d.Config.Shell = true
	require.Len(t, d.ownCommands(), 2)
}

// TestBangIsTheShell checks that a custom command takes the place of /shell, and not of !.
func TestBangIsTheShell(t *testing.T) {
	s := &Session{deps: &Deps{Config: &Config{Shell: true}, Commands: []Command{{Name: ShellCommand}}}}
	s.listCustom(t, ShellCommand)
	typed := func(text string) *commandRun {
		content, err := prompt.Parse([]byte(`[{"type":"text","text":"` + text + `"}]`))
		require.NoError(t, err)
		return s.commandOf(content)
	}
	require.Nil(t, typed("/shell ls"))
	require.NotNil(t, typed("!ls"))
}
