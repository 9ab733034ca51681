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
	s        *Session
	ev       quirks.PermissionRequested
	files    render.Files       // as the user is shown them
	session  string             // the user sees it in: that of a subagent, "" for this one
	shown    *render.Permission // nil before, and when its outcome was shown
	decision render.Decision    // that droid gets when the question closes: a refusal until the user's answer is prepared
}

// askPermission shows what droid wants to do and gives droid the user's answer. Whatever is not a
// clear choice of an offered option is "cancel", and a request that droid has stopped waiting for
// gets none.
func (s *Session) askPermission(ctx context.Context, ev quirks.PermissionRequested, files render.Files) {
	r := &permissionRequest{s: s, ev: ev, files: files, decision: render.Refusal()}
	if s.proc.Client() == nil || s.proc.Ending() {
		return // nobody waits for the answer any more
	}
	if s.ended || s.prompts.RefusesQuestions() {
		r.tellDroid(stream.OptionCancel)
		return
	}
	session, view := s.asker(ev)
	q := s.questions.Open(ev.RequestID, r.close)
	defer q.Close() // also after a panic: that is a refusal
	q.Concurrent, q.Session, r.session = ev.Subagent != "", session, session
	if s.awaitAskable(ctx, q) != updates.NotWithdrawn {
		return
	}
	p := r.show(view)
	if !p.Refused && q.Run(ctx, s.out, p) == updates.NotWithdrawn {
		r.decision = r.decide(ctx, q, p.Decision())
	}
}

// show shows the request to the user, who is then asked.
func (r *permissionRequest) show(view *render.View) *render.Permission {
	s, ev := r.s, r.ev
	if r.session != "" {
		ev.Subagent = "" // its session says it
	}
	r.shown = view.Permission(ev, r.files, render.PermissionContext{Directories: s.directories(), Mode: s.options.Mode(), EditedPlan: s.proc.Supports(stream.TakesEditedPlan),
		Words: s.prompts.Joinable()})
	if !r.shown.Refused {
		s.subagentAsks(r.session, +1)
	}
	s.updateIn(r.session, r.shown.Before...)
	return r.shown
}

// showOutcome shows the user's answer, or that there is none, once.
func (r *permissionRequest) showOutcome() {
	p := r.shown
	if p == nil {
		return
	}
	r.shown = nil
	r.s.updateIn(r.session, p.After...)
	if !p.Refused {
		r.s.subagentAsks(r.session, -1)
	}
}

// decide returns what droid gets for the user's answer, unless the question is withdrawn in the meantime, see close. The question stays open
// until then, so that a cancel, or a panic, still refuses the request.
func (r *permissionRequest) decide(ctx context.Context, q *updates.Question, answer render.Decision) render.Decision {
	modes := r.s.modeOrder.chosen
	r.showOutcome() // a cancel ends the turn during what follows
	d := r.prepare(ctx, q, answer)
	if r.s.modeOrder.chosen != modes && r.changesMode(d) {
		return r.withhold(q, "You chose a mode before your answer reached droid, and the answer might have replaced it, so this was not allowed. Ask for it again if you still want it.", nil)
	}
	return d
}

// withhold returns a refusal in place of the decision, and tells the user why. If the question was withdrawn it only logs that, since its turn
// may have ended.
func (r *permissionRequest) withhold(q *updates.Question, why string, err error) render.Decision {
	r.s.log.Warn("a permission is withheld", zap.String("why", why), zap.Error(err))
	if !q.IsWithdrawn() {
		r.s.update(render.Notice(why))
	}
	return render.Refusal()
}

// close ends the request as its question ends, see Questions.Open. droid gets the decision, a refusal, or nothing if it no longer waits.
func (r *permissionRequest) close(outcome updates.Outcome) {
	r.showOutcome()
	switch outcome {
	case updates.Refused:
		r.decision = render.Refusal()
	case updates.Unanswered:
		return
	}
	d := r.decision
	if r.changesMode(d) {
		r.s.modeOrder.answered(time.Now())
	}
	if d.Words != "" {
		r.s.queueRefusal(d.Words)
	}
	if d.Option == stream.OptionEdit {
		r.approveEdited(d.Edited)
	} else {
		r.tellDroid(d.Option)
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

// prepare does what must be done before droid gets a decision, and returns it, or a refusal. If the user picked one of several plans, a message
// names it to droid: one that arrives while a permission waits becomes part of the running turn.
func (r *permissionRequest) prepare(ctx context.Context, q *updates.Question, d render.Decision) render.Decision {
	s, client := r.s, r.s.proc.Client()
	if d.Option == stream.OptionCancel || client == nil {
		return d
	}
	s.doJobs(ctx, s.fileCalls.BeforeAnswer(r.ev.Tools)...)
	if d.Option != stream.OptionOnce || d.Plan != "" {
		// droid writes its settings for such an answer, and then reads those of the project again (0.225). The name of a plan is a message.
		ended, _, err := s.killIfChanged(ctx)
		switch {
		case ended:
			return render.Refusal()
		case err != nil:
			return r.withhold(q, "The project's files could not be read, so this was not allowed. Answer again with a choice that holds once.", err)
		}
	}
	if moved := r.moved(ctx); moved != "" && !q.IsWithdrawn() {
		s.log.Warn("a path of a permission request leads elsewhere than the user was shown; the permission is withheld")
		s.refuseFor(moved)
		return render.Refusal()
	}
	if d.Plan == "" {
		return d
	}
	asking, cancel := q.Context(ctx) // behind an interrupt the message would begin a turn
	defer cancel()
	chosen := stream.UserMessage{RequestID: uuid.NewString(), Text: "I choose this option of the plan: " + d.Plan}
	if err := s.unlockedFor(asking, planTime, func(ctx context.Context) error { return client.AddUserMessage(ctx, chosen) }); err != nil {
		return r.withhold(q, "droid did not take your choice of plan, so it was not approved.", err)
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

// tellDroid gives droid an option that it offered.
func (r *permissionRequest) tellDroid(option string) {
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
		r.tellDroid(stream.OptionCancel)
		return
	}
	if err := client.ApproveEditedPlan(ev.RequestID, text); err != nil {
		s.log.Warn("droid did not take the edited plan", zap.Error(err))
		r.tellDroid(stream.OptionCancel)
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
