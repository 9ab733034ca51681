package adapter

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// A prompt that is sent while another one runs either waits here, or goes to
// droid at once ("steer"). droid takes a message into the running turn when a
// tool runs or a permission is open; both prompts then end with that turn. While
// it streams text, droid keeps the message and runs it next, as a turn of its
// own (0.99 to 0.225); on a busy machine 0.99 may run it at once beside the first, and
// both end when both have.

// steer hands waiting prompts to droid while a turn runs, if the user wants that:
// the next one when droid has taken the one before, so that they keep their order.
func (s *Session) steer() {
	if !s.options.steers() || s.proc.client() == nil || s.turn == nil || !s.turn.sent || s.turn.cancelled {
		return
	}
	if len(s.queue) == 0 || s.steering() {
		return
	}
	t := s.queue[0]
	if t.command != nil {
		return // it is not droid's; it and what follows waits
	}
	s.queue = s.queue[1:]
	s.steered = append(s.steered, t)
	s.apply(s.proc.begin(time.Now(), t.message.RequestID, t.message.Text))
	client := s.proc.client()
	s.do(func(ctx context.Context) {
		err := client.AddUserMessage(ctx, t.message)
		s.post(func() { s.steeredTaken(t, err) })
	})
}

// steering reports whether a steered prompt is on its way to droid.
func (s *Session) steering() bool {
	return slices.ContainsFunc(s.steered, func(t *turn) bool { return !t.sent })
}

// steeredTaken says whether droid took a prompt beside the running one.
func (s *Session) steeredTaken(t *turn, err error) {
	if err != nil {
		s.drainEvents() // of a droid that is gone, that ends it
	}
	i := slices.Index(s.steered, t)
	switch {
	case s.turn == t: // it runs by now
		s.taken(t, err)
		return
	case i < 0: // it has ended already
	case err == nil:
		t.sent = true
	case s.proc.client() == nil: // droidGone ends it
		return
	default:
		s.steered = slices.Delete(s.steered, i, i+1)
		s.apply(s.proc.abort(time.Now(), t.message.RequestID))
		s.fail(t, promptError(err))
	}
	if s.turn != nil && s.turn.cancelled {
		s.interrupt(s.turn)
	}
	s.steer()
}

// steeredTurn finds a prompt that droid has beside the running one.
func (s *Session) steeredTurn(requestID string) *turn {
	for _, t := range s.steered {
		if t.message.RequestID == requestID {
			return t
		}
	}
	return nil
}

// promptOf finds a prompt that droid has.
func (s *Session) promptOf(requestID string) *turn {
	if s.turn != nil && s.turn.message.RequestID == requestID {
		return s.turn
	}
	return s.steeredTurn(requestID)
}

// turnStarted follows droid to the prompt that it works on.
func (s *Session) turnStarted(ev quirks.TurnStarted) {
	t := s.promptOf(ev.RequestID)
	if t == nil {
		return
	}
	t.message = stream.UserMessage{RequestID: ev.RequestID} // images need not be kept
	if t == s.turn {
		return
	}
	s.steered = slices.DeleteFunc(s.steered, func(o *turn) bool { return o == t })
	if s.turn != nil {
		s.steered = append([]*turn{s.turn}, s.steered...)
	}
	s.turn = t
}

// promptFolded tells the user that a prompt went into the running turn.
func (s *Session) promptFolded(ev quirks.PromptFolded) {
	if t := s.steeredTurn(ev.RequestID); t != nil {
		t.spoke = true // the turn that answers it does
		s.tell("Your message was added to the running turn.")
	}
}

// discarded tells what became of a message that droid threw away: a prompt that
// the user cancelled. Any other is sent again.
func (s *Session) discarded(ev quirks.Discarded) {
	if t := s.promptOf(ev.RequestID); t == nil || t.cancelled {
		s.tell("droid discarded a waiting message: " + ev.Text)
	}
}

// sendAgain takes back a prompt that an interrupt of another one made droid throw
// away. It reports false when there is none, or the user cancelled it.
func (s *Session) sendAgain(requestID string) bool {
	t := s.promptOf(requestID)
	if t == nil || t.cancelled {
		return false
	}
	s.log.Info("droid threw a prompt away; it is sent again")
	t.message.RequestID = uuid.NewString()
	t.sent, t.again = false, true
	first := slices.IndexFunc(s.queue, func(t *turn) bool { return !t.again })
	if first < 0 {
		first = len(s.queue)
	}
	s.queue = slices.Insert(s.queue, first, t)
	if s.turn == t {
		s.turn = nil
		s.promote()
	} else {
		s.steered = slices.DeleteFunc(s.steered, func(o *turn) bool { return o == t })
	}
	s.next()
	return true
}

// promote makes the prompt that droid runs next the running one. One that was
// cancelled while it waited is interrupted now that droid can hear it.
func (s *Session) promote() {
	if s.turn != nil || len(s.steered) == 0 {
		return
	}
	t := s.steered[0]
	s.turn, s.steered = t, s.steered[1:]
	s.post(func() { // not at once: it may end together with the turn before
		if s.turn == t && t.cancelled && t.interruptAt.IsZero() {
			s.interrupt(t)
		}
	})
}

// cancelSteered cancels what droid has beside the running prompt; the interrupt
// of that one makes droid throw it away.
func (s *Session) cancelSteered() {
	for _, t := range s.steered {
		t.cancelled = true
	}
}

// steeredEnded ends a prompt that is not the running one. It reports false when
// there is no such prompt.
func (s *Session) steeredEnded(ev quirks.TurnEnded) bool {
	t := s.steeredTurn(ev.RequestID)
	if t == nil {
		return false
	}
	s.steered = slices.DeleteFunc(s.steered, func(o *turn) bool { return o == t })
	t.spoke = true // the turn that it went into did
	s.finish(t, s.endingOf(t, ev))
	return true
}
