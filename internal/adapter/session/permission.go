package session

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/updates"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// permissionRequest is a request of droid's that the user decides about.
type permissionRequest struct {
	s     *Session
	ev    quirks.PermissionRequested
	files render.Files // as the user is shown them
}

// askPermission shows what droid wants to do and gives droid the user's answer. Whatever is not a
// clear choice of an offered option is "cancel", and a request that droid has stopped waiting for
// gets none.
func (s *Session) askPermission(ctx context.Context, ev quirks.PermissionRequested, files render.Files) {
	r := &permissionRequest{s, ev, files}
	if s.proc.Client() == nil {
		return // it has died in the meantime
	}
	if s.ended || s.prompts.RefusesQuestions() {
		r.answer(stream.OptionCancel)
		return
	}
	var p *render.Permission
	session, view := s.asker(ev)
	decision := render.Decision{Option: stream.OptionCancel}
	answered := func() {
		if p == nil {
			return
		}
		s.updateIn(session, p.After...)
		if !p.Refused {
			s.subagentAsks(session, -1)
		}
		p = nil
	}
	q := s.questions.Open(ev.RequestID, func(outcome updates.Outcome) {
		answered()
		switch outcome {
		case updates.NotWithdrawn:
			r.give(decision)
		case updates.Refused:
			r.answer(stream.OptionCancel)
		}
	})
	defer q.Close()
	q.Concurrent, q.Session = ev.Subagent != "", session
	if s.awaitAskable(ctx, q) != updates.NotWithdrawn {
		return
	}
	if session != "" {
		ev.Subagent = "" // its session says it
	}
	p = view.Permission(ev, files, render.PermissionContext{Directories: s.directories(), Mode: s.options.Mode(), EditedPlan: s.proc.Supports(stream.TakesEditedPlan),
		Words: s.prompts.Joinable()})
	if !p.Refused {
		s.subagentAsks(session, +1)
	}
	s.updateIn(session, p.Before...)
	if !p.Refused && q.Run(ctx, s.out, p) == updates.NotWithdrawn {
		chosen := p.Decision()
		modes := s.modeOrder.chosen
		answered()                      // a cancel ends the turn during what follows
		d := r.prepared(ctx, q, chosen) // the request stays open in the meantime, so that a cancel, or a panic, still refuses it
		if s.modeOrder.chosen != modes && r.changesMode(d) && !q.IsWithdrawn() {
			s.update(render.Notice("You chose a mode before your answer reached droid, and the answer might have replaced it, so this was not allowed. Ask for it again if you still want it."))
			return
		}
		decision = d
	}
}

// changesMode reports whether droid may change its mode for a decision: for one that holds longer, and for the approval of a plan.
func (r *permissionRequest) changesMode(d render.Decision) bool {
	return d.Option != stream.OptionCancel && (d.Option != stream.OptionOnce || render.IsPlan(r.ev))
}

// awaitAskable waits until the client can show a question: a client that shows updates in prompts only can while a prompt runs or waits. It
// returns the outcome of the question, which is NotWithdrawn unless that happened during the wait.
func (s *Session) awaitAskable(ctx context.Context, q *updates.Question) (was updates.Outcome) {
	if s.deps.Client.UpdatesInPromptsOnly() {
		was = q.WaitUntil(ctx, s.out, s.prompts.Busy)
	}
	return was
}

// planTime bounds the wait for droid to take the message that names the plan.
const planTime = 2 * time.Second

// prepared does what must be done before droid gets a decision, and returns it. If the user picked one of several plans, a message names it
// to droid: one that arrives while a permission waits becomes part of the running turn. If the question is withdrawn in the meantime, nothing is
// shown, since its turn may have ended.
func (r *permissionRequest) prepared(ctx context.Context, q *updates.Question, d render.Decision) render.Decision {
	s, client := r.s, r.s.proc.Client()
	refused := render.Decision{Option: stream.OptionCancel}
	if d.Option == stream.OptionCancel || client == nil {
		return d
	}
	s.doJobs(ctx, s.fileCalls.BeforeAnswer(r.ev.Tools)...)
	if d.Option != stream.OptionOnce || d.Plan != "" {
		// droid writes its settings for such an answer, and then reads those of the project again (0.225). The name of a plan is a message.
		ended, _, err := s.killIfChanged(ctx)
		switch {
		case ended || q.IsWithdrawn():
			return refused
		case err != nil:
			s.log.Warn("nobody could look at the project; the permission is withheld", zap.Error(err))
			s.update(render.Notice("The project's files could not be read, so this was not allowed. Answer again with a choice that holds once."))
			return refused
		}
	}
	switch moved := r.moved(ctx); {
	case q.IsWithdrawn():
		return refused
	case moved != "":
		s.log.Warn("a path of a permission request leads elsewhere than the user was shown; the permission is withheld")
		s.refuseFor(moved)
		return refused
	}
	if d.Plan == "" {
		return d
	}
	asking, cancel := q.Context(ctx) // behind an interrupt the message would begin a turn
	defer cancel()
	chosen := stream.UserMessage{RequestID: uuid.NewString(), Text: "I choose this option of the plan: " + d.Plan}
	if err := s.unlockedFor(asking, planTime, func(ctx context.Context) error { return client.AddUserMessage(ctx, chosen) }); err != nil {
		if q.IsWithdrawn() {
			return refused
		}
		s.log.Warn("droid did not take the chosen plan; the approval is withheld", zap.Error(err))
		s.update(render.Notice("droid did not take your choice of plan, so it was not approved."))
		return refused
	}
	return d
}

// moved resolves the paths of the request again, and says which leads elsewhere than the user was shown, "" when none does.
func (r *permissionRequest) moved(ctx context.Context) string {
	requested := r.s.show.RequestedPaths(r.ev)
	if len(requested) == 0 {
		return ""
	}
	real := make(map[string]string)
	r.s.unlocked(ctx, func(ctx context.Context) { real = r.s.deps.Texts.Resolve(ctx, requested) })
	for _, path := range requested {
		if real[path] != r.files[path].Real {
			return render.TargetMoved(path, r.files[path].Real, real[path])
		}
	}
	return ""
}

// give gives droid a decision, which may be an edited plan, or a refusal with words.
func (r *permissionRequest) give(d render.Decision) {
	if r.changesMode(d) {
		r.s.modeOrder.answered(time.Now())
	}
	if d.Words != "" {
		r.s.queueRefusal(d.Words)
	}
	if d.Option == stream.OptionEdit {
		r.approveEdited(d.Edited)
		return
	}
	r.answer(d.Option)
}

// answer gives droid an option that it offered.
func (r *permissionRequest) answer(option string) {
	s, requestID := r.s, r.ev.RequestID
	if client := s.proc.Client(); client != nil {
		if err := client.AnswerPermission(requestID, option); err != nil {
			s.log.Warn("droid did not take the answer to a permission request", zap.Error(err))
		}
	}
	s.droidHasAnswer(requestID, option == stream.OptionCancel)
}

// approveEdited gives droid the edited plan and shows it in place of the one that
// the model wrote.
func (r *permissionRequest) approveEdited(text string) {
	s, ev, client := r.s, r.ev, r.s.proc.Client()
	if client == nil {
		r.answer(stream.OptionCancel)
		return
	}
	if err := client.ApproveEditedPlan(ev.RequestID, text); err != nil {
		s.log.Warn("droid did not take the edited plan", zap.Error(err))
		r.answer(stream.OptionCancel)
		return
	}
	s.update(s.show.PlanEdited(ev.Tools[0].ToolUse.ID, text)...)
	s.droidHasAnswer(ev.RequestID, false)
}

// droidHasAnswer reports to the normalizer that droid has the answer to a permission or a question, and applies the events that waited for
// it.
func (s *Session) droidHasAnswer(requestID string, refused bool) {
	s.apply(s.proc.Normalizer().RequestAnswered(time.Now(), requestID, refused))
}
