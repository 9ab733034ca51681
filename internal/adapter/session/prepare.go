package session

import (
	"context"
	"time"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
)

// begin prepares a prompt whose turn has come: it goes to droid when that is there and all else that
// the prompt needs. It is given up when the prompt ends, or needs another droid since this one died.
func (p *userPrompt) begin() {
	s := p.s
	s.out.SetID(p.session)
	s.sendKept()
	s.proc.CancelParking()
	s.usage.due = time.Time{}
	s.commands.NotDue()
	s.lookForOthers()
	p.cancelPreparation() // a preparation before, if droid has died
	p.withdrawQuestion()
	ctx, cancel := context.WithCancel(context.Background()) // not s.Context: who waits hears of the session's end by itself
	p.cancelPreparation = cancel
	s.mu.Go(func() {
		err := p.prepare(ctx)
		for err == nil && ctx.Err() == nil && (s.proc.Client() == nil || s.proc.Ending()) { // something else has ended droid in the meantime
			err = p.prepare(ctx)
		}
		switch {
		case ctx.Err() != nil: // the prompt has ended, or is prepared again
		case err != nil:
			s.prompts.Fail(p.id, err)
		default:
			s.prompts.Ready(p.id)
		}
	})
}

// prepare returns when droid may have the prompt, or with why it cannot.
func (p *userPrompt) prepare(ctx context.Context) *jsonrpc.Error {
	s, crashed := p.s, p.s.prompts.Crashed()
	if err := p.renew(ctx); err != nil {
		return err
	}
	client, info, err := s.awaitDroid(ctx, 1)
	if err != nil || ctx.Err() != nil {
		return err
	}
	if err := p.checkModel(); err != nil {
		return err
	}
	if p.schema != nil {
		if err := client.Version().Needs(stream.TakesSchema); err != nil {
			return acperr.NotTaken(err)
		}
	}
	if info != nil && crashed {
		s.update(render.Thought("droid had ended and was started again; the session continues." + s.reportHint()))
	}
	if _, err := p.trust(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	for range mostLooks {
		if err := s.restoreMode(ctx); err != nil {
			return err
		}
		s.servers.Await(time.Now())
		if err := s.waitFor(ctx, "the prompt", needServers); err != nil {
			return err
		}
		p.lookAtLinks(ctx)
		if err := p.checkCommand(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		// The project may have changed over that. Nothing is waited for behind this look.
		if replaced, err := p.trust(ctx); err != nil || ctx.Err() != nil || !replaced {
			return err
		}
	}
	return projectChanges()
}

// renew ends the droid of a prompt that begins where it must be replaced.
func (p *userPrompt) renew(ctx context.Context) *jsonrpc.Error {
	s := p.s
	client := s.proc.Client()
	if client == nil || s.proc.Ending() || !s.mustRenew(client) {
		return nil
	}
	if err := s.waitFor(ctx, "the prompt", needCalls); err != nil {
		return err
	}
	if s.proc.Client() == client && !s.proc.Ending() {
		s.endDroid(replaced, "it does not know of a login, or has another provider")
	}
	return nil
}

// restoreMode makes sure that droid is in the mode that the session had before droid was started again, or in a stricter one. If it is not,
// droid is asked once more. The error says that it still refuses.
func (s *Session) restoreMode(ctx context.Context) *jsonrpc.Error {
	mode := s.options.Owed()
	if mode == "" {
		return nil
	}
	release, failure := s.lockRPC(ctx)
	if failure != nil {
		return failure
	}
	defer release()
	err := s.withDroid(ctx, 1, func(client *droid.Client, _ *stream.SessionInfo) error {
		return s.changeSettings(s.Context, client, stream.ModeSettings(client.Version(), mode))
	})
	_ = s.syncEvents(s.Context) // settings_updated comes before the reply
	if why := whyNoDroid(err); why != nil || s.options.Owed() == "" {
		return why
	}
	return acperr.ModeLost(mode.Title(), s.options.Mode().Title(), err)
}

// lookAtLinks finds out which of the files that a prompt links do not exist. It is called as late as possible, because the turn before
// may make or remove them.
func (p *userPrompt) lookAtLinks(ctx context.Context) {
	if len(p.content.Links()) == 0 {
		return
	}
	content, missing := p.content, map[string]bool(nil)
	p.s.unlockedAs(ctx, "the prompt", "a look at the files that it links", func(ctx context.Context) { missing = p.s.deps.missing(ctx, content) })
	if ctx.Err() == nil {
		p.missing = missing
	}
}

// checkCommand refuses a prompt that begins with a custom command which was removed. droid is asked for its commands first, as one may have
// come or gone just now.
func (p *userPrompt) checkCommand(ctx context.Context) *jsonrpc.Error {
	s := p.s
	name, _, ok := commands.Split(p.typed)
	if !ok {
		return nil
	}
	s.lookForCommands(s.Context, lookTime)
	if s.commands.Removed(name) {
		return commandGone(name)
	}
	return nil
}

// commandGone answers a prompt with a command that was removed while droid ran.
func commandGone(name string) *jsonrpc.Error {
	return acperr.InvalidParams("the command /%s was removed, and droid would fail at it. Send the prompt without the slash, or add the command again", name)
}
