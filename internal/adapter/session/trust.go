package session

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/projectconfig"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/workspace/trust"
)

// In an untrusted project droid works without what the project would run. The user is notified once, when the session opens, and asked
// once, with the first prompt.

// shownProject is the list of a project's items that a session displayed last. "/trust yes" covers that list alone.
type shownProject struct {
	sums []string // of the items
	to   turns.ID // the newest prompt at that time; it was sent before the list could be read
}

// showed records that the items of p are displayed to the user.
func (s *Session) showed(p trust.Project) { s.shown = shownProject{p.Sums(), s.prompts.Newest()} }

// notifyExcluded shows what the process leaves out, with the first prompt if the client would not show it before. If that prompt asks a
// question, only the question has the list.
func (s *Session) notifyExcluded() {
	client := s.proc.Client()
	if client == nil || client.Excluded() == nil {
		return
	}
	project := trust.Project{Layer: *client.Excluded()}
	then, asks := "", false
	switch {
	case project.HasUnread():
		then = trust.NotReadable
	case !s.deps.Config.Trust.MayAsk():
		then = "The agent was started with `--trust never`."
	case !project.Fits():
		then = "That is too much to ask about: `/trust` lists it, and then `/trust yes` lets it run."
	case !s.show.CanAskTrust():
		then = "`/trust yes` lets it run."
	default:
		then, asks = "Your first prompt asks, unless you have answered; `/trust` lists it.", true
	}
	others := ""
	if client.Excluded().HidesServers() {
		others = " Meanwhile no MCP server of yours or of the editor's runs either: droid cannot tell them apart."
	}
	if s.deps.EditorFiles != nil && !client.HasHooks() {
		others += " Files are read and written on the disk meanwhile, without the editor."
	}
	text := project.ExcludedText(then + others)
	if !asks {
		if project.Fits() {
			s.showed(project)
		}
		text += "\n\n" + project.Screen("`/trust`")
	}
	switch {
	case !s.deps.Client.HidesUpdatesOutsidePrompt || s.prompts.RunsOne():
		s.notify(text)
	case !asks || others != "": // else the question of the first prompt says it
		s.out.AddNotices(text)
	}
}

// trustTime bounds how long the first prompt waits for an answer.
const trustTime = 10 * time.Minute

// mostLooks bounds how often the project is looked at before a prompt: each look after the
// first follows an answer, or another droid.
const mostLooks = 8

// trust returns when droid was started with exactly what the project brings now, as the user
// wants it: at once where it was. Else the user is asked, or another droid takes its place, and
// another is true. Whatever is no clear yes allows nothing.
func (p *userPrompt) trust(ctx context.Context) (another bool, err *jsonrpc.Error) {
	s := p.s
	if s.deps.Config.Trust.TrustsAll() {
		return false, nil
	}
	said := false // yes, to this prompt's question
	for range mostLooks {
		client, project, facts, unknown := s.lookAtProject(ctx)
		switch {
		case client == nil || ctx.Err() != nil:
			return another, nil // begin prepares the prompt again, or it has ended
		case unknown != nil:
			return another, acperr.NotLooked(s.cwd, unknown)
		}
		facts.Replaced = another
		switch facts.Next() {
		case trust.StepSend:
			return another, nil
		case trust.StepDecline: // notifyExcluded says what to type
			s.declined.Add(project)
		case trust.StepAsk:
			answered, yes := p.asksTrust(ctx, project)
			if said = said || yes; !answered {
				return another, nil // the prompt has ended
			}
		case trust.StepRefresh:
			if err := p.replaceDroid(ctx, "a command or a skill has changed"); err != nil {
				return true, err
			}
			another = true
		case trust.StepReplace:
			if !facts.All && facts.Allowed && !said {
				s.notify("This project was trusted meanwhile, in another window or a terminal: what it brings runs from this prompt on. `/trust no` takes that back.")
			}
			if err := p.replaceDroid(ctx, "what the project brings is to run, or no more"); err != nil {
				return true, err
			}
			another = true
			if !project.CoveredBy(s.shown.sums) {
				s.notifyExcluded()
			}
		}
	}
	return another, projectChanges()
}

// projectChanges answers a prompt before which no two looks at the project came to the same.
func projectChanges() *jsonrpc.Error {
	return acperr.Internal("project_not_trusted", "What this project brings to run changes all the time, so the prompt was not sent. Send it again when its files rest.")
}

// lookAtProject looks at the project for the droid that runs, which is nil where none does.
func (s *Session) lookAtProject(ctx context.Context) (client *droid.Client, project trust.Project, facts trust.Facts, err error) {
	cwd := s.cwd
	for {
		client = s.proc.Client()
		s.unlockedAs(ctx, "the prompt", "a look at the project", func(ctx context.Context) { project, err = s.deps.Launcher.Project(ctx, cwd, client) })
		project.Asks = project.Asks && !s.declined.Has(project)
		switch now := s.proc.Client(); {
		case now == nil, ctx.Err() != nil:
			return now, project, facts, err
		case now == client:
			facts = project.Facts(client.Given(), client.Excluded() == nil, client.Relevant)
			facts.CanAsk = project.Asks && s.show.CanAskTrust() && project.Fits()
			facts.MissesTexts = client.HasStaleTexts(project.Layer)
			facts.Rests = (facts.MissesTexts || facts.Stale()) && s.droidRests() // else it makes no difference, and droidRests may be slow
			return client, project, facts, err
		}
	}
}

// renewStale ends a droid that was not started with the current files of the project, before a call that may make it read the project again
// or send the conversation. droid must have no prompt: its callers are commands, and requests that are refused while one runs or wait for its
// end. The error says that the files could not be checked.
func (s *Session) renewStale(ctx context.Context) *jsonrpc.Error {
	before := s.proc.Client()
	if s.deps.Config.Trust.TrustsAll() || before == nil {
		return nil
	}
	client, _, facts, err := s.lookAtProject(ctx)
	switch {
	case client != before || s.proc.Ending():
	case err != nil:
		return acperr.NotLooked(s.cwd, err)
	case facts.MustEnd():
		s.endDroid(replaced, "the project brings something else now")
	}
	return nil
}

// lookInTurn looks at the project while a turn runs, as a command may have checked something out. Where this is called
// during a look, another one follows.
func (s *Session) lookInTurn() {
	if s.deps.Config.Trust.TrustsAll() || s.proc.Client() == nil {
		return
	}
	if s.refreshes++; s.refreshes > 1 {
		return
	}
	s.mu.Go(func() {
		defer func() { s.refreshes = 0 }()
		for done := 0; done < s.refreshes; {
			wanted := s.refreshes
			_, _, _ = s.killIfChanged(s.Context) // the next prompt does not go without a look
			done = wanted
		}
	})
}

// killIfChanged kills a droid that was not started with the current files of the project: the turn fails, and the next prompt asks. The
// error says that the files could not be checked. Only the end of the session ends the look.
func (s *Session) killIfChanged(_ context.Context) (ended, revoked bool, err error) {
	before := s.proc.Client()
	if s.deps.Config.Trust.TrustsAll() || before == nil {
		return false, false, nil
	}
	client, project, facts, err := s.lookAtProject(s.Context)
	if err != nil || client != before || s.proc.Ending() || !facts.Adds() {
		return false, facts.Revoked(), err
	}
	s.endDroid(killed, "the project now brings "+project.Kinds()+", which nobody has allowed")
	return true, false, nil
}

// notTrusted ends the entry of the question where the answer was no yes.
const notTrusted = "Not trusted: /trust yes lets it run"

// asksTrust asks the user. answered says that their answer counts, also as a no, and yes that it was one and is stored.
func (p *userPrompt) asksTrust(ctx context.Context, project trust.Project) (answered, yes bool) {
	s := p.s
	decline := func(why string) {
		s.declined.Add(project)
		if why != "" {
			s.notify(why + " What it brings stays left out. `/trust` shows it, and `/trust yes` lets it run.")
		}
	}
	s.showed(project)
	q := s.show.AskTrust(project.Question())
	end := func(how string) { s.update(q.End(how)...) }
	switch answered, late := p.asks(ctx, q, notTrusted, trustTime); {
	case late && ctx.Err() == nil:
		decline("The project was not trusted: nobody answered within ten minutes.")
		return true, false
	case !answered: // it was taken back, which is no answer
		return false, false
	case q.Cancels(): // the next prompt asks again
		end(notTrusted)
		s.prompts.CancelOne(time.Now(), p.id)
		return false, false
	case !q.Yes():
		end(notTrusted)
		if q.Dismissed() {
			s.unlockedAs(ctx, "the prompt", "a cancel behind the question that was dismissed", awaitCancel)
		}
		if ctx.Err() != nil {
			return false, false
		}
		decline(s.show.NotTrustedText())
		return true, false
	}
	end("Trusted") // a cancel ends the prompt during what follows, which continues
	var err error
	s.unlocked(s.Context, func(ctx context.Context) {
		_, err = files.CallBounded(ctx, s.deps.Calls, "Trust.Trust", project.Root, files.NoResult(func() error { return s.deps.Config.Trust.Trust(project) }))
	})
	if err != nil {
		s.log.Warn("the answer was not kept", zap.Error(err))
		if ctx.Err() != nil {
			return false, false // the next prompt asks again
		}
		end(notTrusted)
		decline("Your yes could not be kept: " + err.Error() + ".")
		return true, false
	}
	return true, true
}

// cancelTime is how long a cancel of the prompt may come behind the dismissal of a question: agent-shell sends that first, up to 30 ms
// before (seen). Then it was no answer.
const cancelTime = 250 * time.Millisecond

func awaitCancel(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	<-ctx.Done()
}

// replaceDroid ends the droid of the session and starts another one, which reads the project as it is now.
func (p *userPrompt) replaceDroid(ctx context.Context, why string) *jsonrpc.Error {
	s := p.s
	if err := s.waitFor(ctx, "the prompt", needCalls); err != nil { // the outcome of a mode change comes first
		return err
	}
	s.endDroid(replaced, why)
	_, _, err := s.awaitDroid(ctx, 1)
	return err
}

// AnswerTrust lets what the project brings run ("yes"), takes that back ("no"), or shows it (""), and returns the text for the user.
// "yes" covers what the user had been shown when they sent it.
func (s *Session) AnswerTrust(ctx context.Context, word string) (text string, err error) {
	keeper, cwd := s.deps.Config.Trust, s.cwd
	shown := s.shown.sums
	if r := commandFrom(ctx); r != nil && s.shown.to >= r.prompt.id {
		shown = nil
	}
	acting := ctx
	if word != "" {
		acting = s.uncancellable(ctx) // what is being stored is not taken back by a cancel
	}
	var answer trust.Answer
	var takes func(projectconfig.Layer) projectconfig.Layer
	if client := s.proc.Client(); client != nil {
		takes = client.Relevant
	}
	err = s.callBounded(acting, func(ctx context.Context) (err error) {
		answer, err = files.CallBounded(ctx, s.deps.Calls, "Trust", cwd, func(cwd string) (trust.Answer, error) { return keeper.Answer(cwd, word, shown, takes) })
		return err
	})
	switch {
	case err != nil:
		return "", Failed("It was not kept", err)
	case word == "no" && keeper.TrustsAll():
		return "", message(answer.Text)
	case word == "no":
		s.declined = nil // a user who takes the answer back is asked again
	}
	if answer.Shows && acting.Err() == nil {
		s.showed(answer.Project)
	}
	if answer.Changed {
		s.async(func(context.Context) { s.deps.Launcher.Spare.Renew() })
		s.endAfterStart(acting, "the user has answered whether the project is trusted")
	}
	return answer.Text, nil
}
