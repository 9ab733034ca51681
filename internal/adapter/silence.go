package adapter

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// silentAfter is how long the model may say nothing before the user is told what
// droid waits for; then it is told after twice that time, and so on. A model that
// thinks long says nothing for minutes (quirk 28): this ends no turn.
const silentAfter = time.Minute

// silence is how long droid has said nothing.
type silence struct {
	since   time.Time     // droid's last word
	told    time.Duration // how long a silence the user has been told of
	message string        // that tells it, continued
}

// broken begins the silence anew: droid has said something.
func (q *silence) broken(now time.Time) { *q = silence{since: now} }

// next is how long a silence the user is told of next.
func (q *silence) next() time.Duration { return max(silentAfter, 2*q.told) }

// tell is what the user is told now, as a thought that goes on from one time to the
// next.
func (q *silence) tell() (message, text string, thought bool) {
	q.told = q.next()
	minutes := fmt.Sprintf("%d min", int(q.told/time.Minute))
	if q.message != "" {
		return q.message, "; " + minutes, true
	}
	q.message = uuid.NewString()
	return q.message, "droid waits for the model, which has said nothing for " + minutes, true
}

// silenceDue is when the user is to be told that the model says nothing. It is
// not while a tool runs, which shows itself, or while the user is asked.
func (s *Session) silenceDue() (at time.Time, ok bool) {
	if !s.prompts.machine.Working() || s.proc.client() == nil || s.proc.isPaused() || s.dialog.isOpen() || s.show.Busy() {
		return time.Time{}, false
	}
	return s.silence.since.Add(s.silence.next()), true
}

// tellSilence says once, and then continues, for how long nothing has come.
func (s *Session) tellSilence(now time.Time) {
	if at, ok := s.silenceDue(); !ok || now.Before(at) {
		return
	}
	s.sendText(s.silence.tell())
}
