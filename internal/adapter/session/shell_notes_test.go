package session

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/droid"
	"droid-acp/internal/testing/fakedroid"
)

// listCustom has the session know a custom command of this name.
func (s *Session) listCustom(t *testing.T, name string) {
	stdout, stdin := fakedroid.Start(func(*fakedroid.Droid) error { return nil }, fakedroid.WithVersion(fakedroid.V0225),
		fakedroid.WithAnswer("droid.list_commands", func(map[string]any) (any, string) {
			return fakedroid.Fields{"commands": []any{fakedroid.Fields{"name": name}}}, ""
		}))
	client := droid.NewClient(stdout, stdin, zap.NewNop())
	defer func() { client.Kill(); <-client.Exited() }()
	_, err := client.Initialize(t.Context(), droid.InitializeParams{CWD: "/w"})
	require.NoError(t, err)
	s.commands.Take(s.commands.Look(), commands.Find(t.Context(), client))
}

// The notes of a prompt that droid did not take go with the next one, in order.
func TestShellNotesAreKept(t *testing.T) {
	s := &Session{shellNotes: []string{"one "}}
	s.listCustom(t, "usage")
	usage := &userPrompt{s: s}
	usage.message.Text = "/usage now"
	usage.addShellNotes()
	require.Equal(t, "/usage now", usage.message.Text, "droid expands it")
	lost := &userPrompt{s: s}
	lost.addShellNotes()
	s.shellNotes = append(s.shellNotes, "two ")
	lost.keepShellNotes()
	lost.keepShellNotes()
	next := &userPrompt{s: s}
	next.message.Text = "/tmp is full"
	next.addShellNotes()
	require.Equal(t, "one two /tmp is full", next.message.Text)
	require.Empty(t, s.shellNotes)
}
