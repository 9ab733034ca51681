package session

import (
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/prompt"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// folded notifies the user that droid took a prompt into the turn that runs.
func (s *Session) folded(ev quirks.PromptMerged) {
	p := s.prompts.Of(ev.RequestID)
	if s.prompts.Folded(ev.RequestID) && p.joined == nil {
		s.update(render.Thought("Your message was added to the running turn."))
	}
}

// turnStarted notes which prompt droid works on now.
func (s *Session) turnStarted(ev quirks.TurnStarted) {
	s.usage.began(ev, s.options.ModelInUse())
	if p := s.prompts.Of(ev.RequestID); p != nil {
		p.message, p.content = stream.UserMessage{RequestID: ev.RequestID}, prompt.Prompt{} // images need not be kept
	}
	s.prompts.Started(time.Now(), ev.RequestID)
}

// discarded notifies the user of a message that droid threw away, if its prompt was
// cancelled or is not known. Other prompts are sent again, see turnEnded.
func (s *Session) discarded(ev quirks.PromptDropped) {
	if p := s.prompts.Of(ev.RequestID); p == nil || s.prompts.Cancelled(p.id) {
		s.notify("droid discarded a waiting message: " + ev.Text)
	}
}

// turnEnded takes droid's end of a prompt.
func (s *Session) turnEnded(ev quirks.TurnEnded) {
	s.deps.Accounts.TurnEnded(s.proc.Client(), ev, s.options.NeedsLogin())
	s.usage.finished(ev)
	s.replaceRevoked()
	p := s.prompts.Of(ev.RequestID)
	if p == nil {
		s.log.Info("droid ended a turn that no prompt waits for", zap.Stringer("outcome", ev.Outcome), zap.String("reason", ev.Reason))
		if ev.RequestID == "" && ev.Reason == stream.ReasonProcessExit && !s.ended {
			s.update(render.Notice("What droid was doing by itself ended, since its process has."))
		}
		return
	}
	p.used = sumUsage(p.used, ev.Used)
	ran, compaction := s.prompts.Runs(p.id), render.Compacted
	switch {
	case s.prompts.Cancelled(p.id):
		compaction = render.CompactionCancelled
	case ev.Outcome == quirks.Failed:
		compaction = render.CompactionFailed
	}
	var actions []turns.Action
	if ev.Outcome == quirks.Dropped {
		var again bool
		if again, actions = s.prompts.Dropped(ev.RequestID); again {
			s.log.Info("droid threw a prompt away; it is sent again")
			s.prompts.Do(actions)
			return
		}
	} else {
		_, actions = s.prompts.Ended(ev.RequestID, outcomeOf(ev), failureOf(ev))
	}
	if ran {
		s.update(s.show.EndTurn(compaction)...)
	}
	s.prompts.Do(actions)
}

func outcomeOf(ev quirks.TurnEnded) turns.How {
	switch ev.Outcome {
	case quirks.Failed:
		return turns.Failed
	case quirks.Cancelled:
		return turns.Cancelled
	}
	return turns.Completed
}

// failureOf returns why a turn failed, nil if it did not.
func failureOf(ev quirks.TurnEnded) error {
	if ev.Outcome != quirks.Failed {
		return nil
	}
	return acperr.Turn(ev.Failure)
}
