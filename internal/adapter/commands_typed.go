package adapter

import (
	"context"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
)

// typedTime bounds how long a prompt waits for droid's list of commands.
const typedTime = 2 * time.Second

// whenExpanded calls then when a prompt that begins with "/name" has the text which is
// to go to droid. A command that nobody listed yet may have come just now, and where
// droid does not expand commands itself, the file may have changed: so the files are
// read once more, beside the owner.
func (s *Session) whenExpanded(p *userPrompt, then func()) {
	name, _, ok := splitCommand(p.typed)
	client, cwd := s.proc.client(), s.cwd
	if !ok || client == nil || client.Version().Has(stream.ExpandsCommands) && s.commands.isDroids(name) {
		then()
		return
	}
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, typedTime)
		defer cancel()
		found := s.agent.findCommands(ctx, client, cwd)
		s.post(func() {
			if s.proc.client() == client {
				s.commandsFound(found)
			}
			switch {
			case !s.prompts.runs(p): // it was cancelled meanwhile
			case s.commands.isGone(name):
				s.failPrompt(p, commandGone(name))
				return
			}
			then()
		})
	}, then)
}

// commandGone answers a prompt with a command that was removed while droid ran.
func commandGone(name string) *acp.RequestError {
	return invalidParams("the command /%s was removed, and droid would fail at it. Send the prompt without the slash, or add the command again", name)
}
