package adapter

import (
	"context"
	"fmt"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/trust"
)

// A project that nobody has trusted is worked in without what it brings to run. The user
// is told once, when the session opens, and asked once, with the first prompt.

// tellLeftOut tells what the process leaves out, with the first prompt where the client would not show it before.
func (s *Session) tellLeftOut() {
	client := s.proc.Client()
	if client == nil || client.Without() == nil {
		return
	}
	others := ""
	if client.Without().HidesServers() {
		others = " No MCP server of yours or of the editor's runs meanwhile: droid cannot tell them from what this project may bring."
	}
	if s.agent.editorFiles.on() && !client.HasHooks() {
		others += " Files are read and written on the disk meanwhile, without the editor."
	}
	project := trust.Project{Layer: *client.Without()}
	switch {
	case !s.agent.client.PromptsAlone || s.prompts.RunsOne():
		s.tellNow(brought(s, project, others))
	case !s.agent.cfg.Trust.MayAsk() || !s.show.AsksTrust():
		s.out.Keep(brought(s, project, others))
	case others != "": // the question of the first prompt tells the rest
		s.out.Keep("What this project brings to run was left out." + others)
	}
}

// brought says what a project brings that was left out, which stands last.
func brought(s *Session, p trust.Project, others string) string {
	then := "Your first prompt asks whether it may run, unless you have answered already; `/trust` shows it, too."
	switch {
	case !s.agent.cfg.Trust.MayAsk():
		then = "The agent was started with `--trust never`."
	case !s.show.AsksTrust():
		then = "Type `/trust yes` to let it run."
	}
	return fmt.Sprintf("This project brings %s. Nobody has said yes to that, so it was left out. %s%s\n\n%s", p.Kinds(), then, others, p.List())
}

// trustTime bounds how long the first prompt waits for an answer.
const trustTime = 10 * time.Minute

// trust returns when the user has answered whether the project may run what the process leaves out: at
// once where it leaves nothing out or nobody is to be asked. After a yes another process has it all.
// Whatever is no clear yes changes nothing. A process that runs what is no longer trusted, as another
// session or agent took that back, is replaced first.
func (p *userPrompt) trust(ctx context.Context, t *owner.Task) *acp.RequestError {
	s := p.s
	for {
		client := s.proc.Client()
		if client == nil || !s.agent.cfg.Trust.MayAsk() {
			return nil
		}
		cwd, all := s.cwd, client.Without() == nil
		var project trust.Project
		var unknown error
		s.besideFor(ctx, t, "the prompt", "a look at the project", func(ctx context.Context) { project, unknown = s.agent.opener.Project(ctx, cwd) })
		if unknown != nil || ctx.Err() != nil {
			return nil // what could not be looked at counts as neither yes nor no
		}
		nothing := len(client.Takes(project.Layer).Items) == 0
		switch {
		case all && (project.Trusted || nothing), !all && !project.Trusted && !project.Asks:
			return nil
		case all:
			if err := p.takeLayer(ctx, t); err != nil {
				return err
			}
			if client := s.proc.Client(); client == nil || client.Without() == nil {
				return nil // it was trusted again meanwhile
			}
			continue
		}
		switch {
		case project.Trusted:
			s.tellNow("This project was trusted meanwhile, in another window or a terminal: what it brings runs from this prompt on. `/trust no` takes that back.")
		case !p.asksTrust(ctx, t, project):
			return nil
		}
		return p.takeLayer(ctx, t)
	}
}

// notTrusted ends the entry of the question where the answer was no yes.
const notTrusted = "Not trusted: /trust yes lets it run"

// asksTrust asks the user, or tells them what to type where they cannot be asked. It reports whether
// they said yes, and that is kept.
func (p *userPrompt) asksTrust(ctx context.Context, t *owner.Task, project trust.Project) (yes bool) {
	s := p.s
	decline := func(why string) {
		s.agent.cfg.Trust.Decline(project)
		if why != "" {
			s.tellNow(why + " What it brings stays left out. `/trust` shows it, and `/trust yes` lets it run.")
		}
	}
	client := s.proc.Client()
	switch {
	case !s.show.AsksTrust():
		s.agent.cfg.Trust.Decline(project)
		if client == nil || client.Without() == nil || !slices.Equal(client.Takes(project.Layer).Items, client.Takes(*client.Without()).Items) {
			s.tellNow(brought(s, project, "")) // else it was told as the session was opened
		}
		return false
	case len(project.Items) > trust.MostAsked:
		decline(fmt.Sprintf("The project brings %d things that would run, too many to ask about.", len(project.Items)))
		return false
	}
	q := s.show.Trust("Trust this project? It brings "+project.Kinds(),
		"With a yes this runs in "+project.Place()+" without a question, or lets commands run without one:\n\n"+project.List())
	end := func(how string) { s.tell(q.After(how)...) }
	asking, cancel := context.WithTimeout(ctx, trustTime)
	defer cancel()
	switch answered := p.asks(asking, t, q, notTrusted); {
	case !answered && ctx.Err() == nil && asking.Err() != nil:
		decline("The project was not trusted: nobody answered within ten minutes.")
		return false
	case !answered: // it was taken back, which is no answer
		return false
	case q.Cancels(): // the next prompt asks again
		end(notTrusted)
		s.prompts.CancelOne(time.Now(), p.id)
		return false
	case !q.Yes():
		end(notTrusted)
		if q.Dismissed() {
			s.besideFor(ctx, t, "the prompt", "a cancel behind the question that was dismissed", awaitCancel)
		}
		if ctx.Err() == nil {
			decline(s.show.NotTrusted())
		}
		return false
	}
	var err error
	t.Beside(func(ctx context.Context) {
		_, err = files.Within(ctx, s.agent.calls, "Trust.Trust", project.Root, files.Done(func() error { return s.agent.cfg.Trust.Trust(project) }))
	})
	if err != nil {
		s.log.Warn("the answer was not kept", zap.Error(err))
		end(notTrusted)
		decline("Your yes could not be kept: " + err.Error() + ".")
		return false
	}
	end("Trusted")
	return true
}

// cancelTime is how long a cancel of the prompt may come behind the dismissal of a question: agent-shell sends that first, up to 30 ms
// before (seen). Then it was no answer.
const cancelTime = 250 * time.Millisecond

func awaitCancel(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	<-ctx.Done()
}

// takeLayer has the session go on in a process that runs what the project brings.
func (p *userPrompt) takeLayer(ctx context.Context, t *owner.Task) *acp.RequestError {
	if ctx.Err() != nil {
		return problem.Cancelled() // also where a yes was stored: the droid of now is another preparation's
	}
	s := p.s
	if err := s.until(ctx, t, "the prompt", needCalls); err != nil { // what a mode that is being set comes to is heard
		return err
	}
	s.endDroid(replaced, "what the project brings is to run, or no more")
	_, _, err := s.awaitDroid(ctx, t, 1)
	return err
}
