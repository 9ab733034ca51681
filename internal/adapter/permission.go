package adapter

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/telling"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// permissionRequest is a request of droid's that the user decides about.
type permissionRequest struct {
	s       *Session
	ev      quirks.PermissionAsked
	closeUp func() // undoes what was shown for it alone
	asked   *telling.Question
}

// askPermission shows what droid wants to do and gives droid the user's answer.
// Whatever is not a clear choice of an offered option is "cancel".
func (s *Session) askPermission(ev quirks.PermissionAsked, files show.Files) {
	r := &permissionRequest{s: s, ev: ev}
	refuse := func() { r.answer(stream.OptionCancel) }
	if s.ended || s.prompts.RunsCancelled() {
		refuse()
		return
	}
	p := s.show.Permission(ev, files, show.Setting{Mode: s.options.Mode(), EditedPlan: s.proc.Has(stream.TakesEditedPlan),
		Words: s.prompts.Joinable()})
	s.tell(p.Before...)
	if p.Refused {
		refuse()
		return
	}
	r.closeUp = func() { s.tell(p.After...) }
	r.asked = &telling.Question{RequestID: ev.RequestID, Refuse: refuse, CloseUp: r.closeUp}
	s.dialog.Open(s.out, r.asked, p, func() { r.decided(p.Decision()) })
}

// planTold bounds the wait for droid to take the message that names the plan.
const planTold = 2 * time.Second

// decided gives droid the user's choice, unless droid has stopped
// waiting. If the user picked one of several plans, droid is told which before it
// gets the answer: a message that reaches droid while a permission waits becomes
// part of the running turn (field notes §3).
func (r *permissionRequest) decided(d show.Decision) {
	s, ev := r.s, r.ev
	answer := func() {
		if s.dialog.End(r.asked) { // else it was withdrawn or cancelled meanwhile
			r.closeUp()
			r.give(d)
		}
	}
	client := s.proc.Client()
	if d.Option == stream.OptionCancel || client == nil {
		answer()
		return
	}
	if jobs, overlay := s.fileCalls.BeforeAnswer(ev.Tools), s.fileCalls.overlay; len(jobs) > 0 {
		// The request stays open meanwhile, so that a cancel still refuses it.
		s.Do(func(ctx context.Context) {
			for _, job := range jobs {
				overlay.do(ctx, job)
			}
			s.Post(answer)
		}, func() {
			d.Option = stream.OptionCancel
			answer()
		})
		return
	}
	if d.Plan == "" {
		answer()
		return
	}
	if !s.dialog.IsFor(ev.RequestID) {
		return
	}
	// The request stays open until droid has the pick, so that a cancel in between
	// still refuses it.
	s.Do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, planTold)
		defer cancel()
		err := client.AddUserMessage(ctx, stream.UserMessage{RequestID: uuid.NewString(), Text: "I choose this option of the plan: " + d.Plan})
		s.Post(func() {
			if err != nil {
				s.log.Warn("droid did not take the chosen plan; the approval is withheld", zap.Error(err))
				s.tell(show.Notice("droid did not take your choice of plan, so it was not approved."))
				d.Option = stream.OptionCancel
			}
			answer()
		})
	})
}

// give gives droid a decision, which may be an edited plan, or a refusal with words.
func (r *permissionRequest) give(d show.Decision) {
	if d.Words != "" {
		r.s.sayBehind(d.Words)
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
	s.droidAnswered(requestID, option == stream.OptionCancel)
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
	s.tell(s.show.PlanEdited(ev.Tools[0].ToolUse.ID, text)...)
	s.droidAnswered(ev.RequestID, false)
}
