package adapter

import (
	"context"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/problem"
)

// lookTime bounds how long droid may take for its list of commands before a prompt, or
// behind one.
const lookTime = 2 * time.Second

// lookForCommands asks droid for its commands and skills, beside the owner, tells the
// editor what is new, and calls then. droid has so long for its answer; what it does not
// tell is as before.
func (s *Session) lookForCommands(limit time.Duration, then func()) {
	client, look := s.proc.Client(), s.commands.Look()
	if client == nil || s.ended {
		then()
		return
	}
	answered := s.proc.Asking()
	over := func() { answered(); then() }
	s.Do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		found := commands.Find(ctx, client)
		s.Post(func() {
			if s.proc.Client() == client {
				s.commands.Take(look, found)
				s.tellState()
			}
			over()
		})
	}, over)
}

// whenKnown calls then when a prompt that begins with "/name" may go to droid. The
// command may have come or gone just now, so it is looked for.
func (p *userPrompt) whenKnown(then func()) {
	s := p.s
	name, _, ok := commands.Split(p.typed)
	if !ok {
		then()
		return
	}
	s.lookForCommands(lookTime, func() {
		if s.prompts.Runs(p.id) && s.commands.Removed(name) { // else it was cancelled meanwhile
			s.prompts.Do(s.prompts.Fail(p.id, commandGone(name)))
			return
		}
		then()
	})
}

// commandGone answers a prompt with a command that was removed while droid ran.
func commandGone(name string) *acp.RequestError {
	return problem.InvalidParams("the command /%s was removed, and droid would fail at it. Send the prompt without the slash, or add the command again", name)
}
