package adapter

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// silentAfter is how long the model may say nothing before the user is told what
// droid waits for. The user is told again each time the silence has doubled. A model
// that thinks long says nothing for minutes (quirk 28), so silence ends no turn.
const silentAfter = time.Minute

// silence is how long droid has said nothing.
type silence struct {
	since   time.Time     // droid's last word
	told    time.Duration // the length of silence that the user was told last
	message string        // the id of the message that tells it; later lengths are added to it
}

// broken begins the silence anew: droid has said something.
func (q *silence) broken(now time.Time) { *q = silence{since: now} }

// next is how long the silence must last before the user is told again.
func (q *silence) next() time.Duration { return max(silentAfter, 2*q.told) }

// tell is what the user is told now. It continues the thought that told it last.
func (q *silence) tell() (message, text string, thought bool) {
	q.told = q.next()
	minutes := fmt.Sprintf("%d min", int(q.told/time.Minute))
	if q.message != "" {
		return q.message, "; " + minutes, true
	}
	q.message = uuid.NewString()
	return q.message, "droid waits for the model, which has said nothing for " + minutes, true
}

// silenceDue is when the user is to be told that the model says nothing; ok is false
// while that is not so, or the user sees the reason: a running tool or a question.
func (s *Session) silenceDue() (at time.Time, ok bool) {
	if !s.prompts.machine.Working() || s.proc.client() == nil || s.proc.isPaused() || s.dialog.isOpen() || s.show.Busy() {
		return time.Time{}, false
	}
	return s.silence.since.Add(s.silence.next()), true
}

// tellSilence tells the user, when it is due, for how long the model has said nothing.
func (s *Session) tellSilence(now time.Time) {
	if at, ok := s.silenceDue(); !ok || now.Before(at) {
		return
	}
	s.tell(s.show.Text(s.silence.tell())...)
}
