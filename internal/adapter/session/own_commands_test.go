package session

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShellIsAllowed: the shell is a command if the configuration allows it.
func TestShellIsAllowed(t *testing.T) {
	d := &Deps{Config: new(Config), Commands: []Command{{Name: "help"}, {Name: ShellCommand}}}
	require.Len(t, d.ownCommands(), 1)
	d.Config.Shell = true
	require.Len(t, d.ownCommands(), 2)
}
