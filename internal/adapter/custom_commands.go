package adapter

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/bounded"
	"droid-acp/internal/commands"
	"droid-acp/internal/problem"
)

// lookTime bounds how long droid may take for its list of commands before a prompt, or
// behind one: before 0.215 the next prompt waits for that answer.
const lookTime = 2 * time.Second

// lookForCommands asks droid for its commands and skills and reads the command files,
// beside the owner, tells the editor what is new, and calls then. droid has so long for
// its answer; what it does not tell is as before.
func (s *Session) lookForCommands(limit time.Duration, then func()) {
	client, cwd := s.proc.Client(), s.cwd
	if client == nil || s.ended {
		then()
		return
	}
	look := s.commands.Look()
	answered := s.proc.Asking()
	over := func() { answered(); then() }
	s.Do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		found := commands.Find(ctx, client, s.agent.commandsDisk(cwd))
		s.Post(func() {
			if s.proc.Client() == client {
				s.commands.Take(look, found)
				s.tellState()
			}
			over()
		})
	}, over)
}

// commandsDisk reads the disk for a look for commands in cwd. Its bound is one of its own,
// since droid may have taken all the time that the look has.
func (a *Agent) commandsDisk(cwd string) commands.Disk {
	return commands.Disk{
		Files: func() (commands.Files, error) {
			ctx, cancel := context.WithTimeout(a.ctx, lookTime)
			defer cancel()
			return bounded.Do(ctx, a.calls, "commandFiles", cwd, func(cwd string) (commands.Files, error) { return commands.ReadFiles(cwd), nil })
		},
		Missing: func(path string) bool {
			ctx, cancel := context.WithTimeout(a.ctx, lookTime)
			defer cancel()
			_, err := bounded.Do(ctx, a.calls, "stat of a skill", path, os.Stat)
			return errors.Is(err, fs.ErrNotExist)
		},
	}
}

// whenExpanded calls then when a prompt that begins with "/name" has the text which is
// to go to droid. The command may have come, changed or gone just now, so it is looked for.
func (p *userPrompt) whenExpanded(then func()) {
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
