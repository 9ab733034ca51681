package adapter

import (
	"context"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/problem"
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

// known returns when a prompt that begins with "/name" may go to droid: the command may have come or
// gone just now, so it is looked for.
func (p *userPrompt) known(ctx context.Context, t *owner.Task) *acp.RequestError {
	s := p.s
	name, _, ok := commands.Split(p.typed)
	if !ok {
		return nil
	}
	s.lookForCommands(t, lookTime)
	if s.commands.Removed(name) {
		return commandGone(name)
	}
	return nil
}

// commandGone answers a prompt with a command that was removed while droid ran.
func commandGone(name string) *acp.RequestError {
	return problem.InvalidParams("the command /%s was removed, and droid would fail at it. Send the prompt without the slash, or add the command again", name)
}
