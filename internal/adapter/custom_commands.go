package adapter

import (
	"context"
	"time"

	"droid-acp/internal/adapter/internal/commands"
)

// lookTime bounds how long droid may take for its list of commands before a prompt, or
// behind one.
const lookTime = 2 * time.Second

// refreshCommands looks for commands and skills that have been written since droid was started. A droid that does not
// see them is replaced, where droid has no prompt and nothing would be lost with it.
func (s *Session) refreshCommands(ctx context.Context, noPrompt func() bool) {
	client, _, facts, err := s.lookAtProject(ctx)
	stale := err == nil && client != nil && facts.MissesTexts && facts.Rests
	if stale && noPrompt() && s.load == nil && s.prompts.RPC.Holder() == nil && !s.questions.IsOpen() {
		s.endDroid(replaced, "a command or a skill has changed")
		if _, _, err := s.awaitDroid(ctx, 1); err != nil {
			return // the next prompt tells why
		}
	}
	s.lookForCommands(s.Context, lookTime)
}

// lookForCommands asks droid for its commands and skills, and tells the editor what is new. droid has
// so long for its answer; what it does not tell is as before.
func (s *Session) lookForCommands(ctx context.Context, limit time.Duration) {
	client, look := s.proc.Client(), s.commands.Look()
	if client == nil || s.ended {
		return
	}
	s.proc.Ask()
	defer s.proc.Answered()
	var found commands.Found
	_ = s.unlockedFor(ctx, limit, func(ctx context.Context) error { found = commands.Find(ctx, client); return nil })
	if s.proc.Client() == client {
		s.commands.Take(look, found)
		s.updateState()
	}
}
