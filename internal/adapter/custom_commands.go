package adapter

import (
	"context"
	"time"

	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/internal/owner"
)

// lookTime bounds how long droid may take for its list of commands before a prompt, or
// behind one.
const lookTime = 2 * time.Second

// lookForCommands asks droid for its commands and skills, and tells the editor what is new. droid has
// so long for its answer; what it does not tell is as before. droid notices a change of the files within 0.8 s and
// tells nobody; a directory of commands that was not there when the session was opened it sees some turns later.
func (s *Session) lookForCommands(t *owner.Task, limit time.Duration) {
	client, look := s.proc.Client(), s.commands.Look()
	if client == nil || s.ended {
		return
	}
	s.proc.Ask()
	defer s.proc.Answered()
	var found commands.Found
	_ = t.BesideFor(limit, func(ctx context.Context) error { found = commands.Find(ctx, client); return nil })
	if s.proc.Client() == client {
		s.commands.Take(look, found)
		s.tellState()
	}
}
