package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
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
			return // the next prompt reports why
		}
	}
	s.lookForCommands(s.Context, lookTime)
}

// lookForCommands asks droid for its commands and skills, waits at most limit for the answer, and sends the editor what changed. A list
// that droid does not return stays as it was.
func (s *Session) lookForCommands(ctx context.Context, limit time.Duration) {
	client, look := s.proc.Client(), s.commands.Look()
	if client == nil || s.ended {
		return
	}
	s.proc.BeginQuery()
	defer s.proc.EndQuery()
	var found commands.Found
	_ = s.unlockedFor(ctx, limit, func(ctx context.Context) error { found = commands.Find(ctx, client); return nil })
	if s.proc.Client() == client {
		s.commands.Take(look, found)
		s.updateState()
	}
}

// RefreshCommands looks for commands and skills that have been written since droid was started, before they are listed.
func (s *Session) RefreshCommands(ctx context.Context) {
	s.refreshCommands(ctx, func() bool { return ctx.Err() == nil })
}

// Skills returns droid's skills.
func (s *Session) Skills(ctx context.Context) (skills []droid.Skill, err error) {
	err = s.askDroid(ctx, func(ctx context.Context, client *droid.Client) (err error) {
		skills, err = client.Skills(ctx)
		return err
	})
	return skills, err
}

// SwitchSkill switches a skill on or off for all projects of the user.
func (s *Session) SwitchSkill(ctx context.Context, name string, on bool) error {
	defer func() { s.commands.TurnEnded(time.Now()) }() // the menu lists what can be typed
	return s.changeDroid(ctx, func(ctx context.Context, client *droid.Client) error {
		if err := client.Version().Needs(stream.SwitchesSkills); err != nil {
			return err
		}
		skills, err := client.Skills(ctx)
		if err == nil && !slices.ContainsFunc(skills, func(s droid.Skill) bool { return s.Name == name }) {
			err = errors.New("it has none of this name; `/skills` lists them")
		}
		return err
	}, func(ctx context.Context, client *droid.Client) error { return client.SwitchSkill(ctx, name, on) })
}
