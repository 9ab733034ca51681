package process

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

// next is how long the silence must last before the user is told again.
func (q *silence) next() time.Duration { return max(silentAfter, 2*q.told) }

// Spoke begins the silence anew: droid has said something, or was not read.
func (p *Process) Spoke(now time.Time) { p.silence = silence{since: now} }

// SilenceDue is when the user is to be told that a droid which works says nothing; ok is false
// while none runs or is read.
func (p *Process) SilenceDue() (at time.Time, ok bool) {
	return p.silence.since.Add(p.silence.next()), p.droid != nil && !p.paused
}

// TellSilence is what the user is told now. It continues the thought that told it last.
func (p *Process) TellSilence() (message, text string, thought bool) {
	q := &p.silence
	q.told = q.next()
	minutes := fmt.Sprintf("%d min", int(q.told/time.Minute))
	if q.message != "" {
		return q.message, "; " + minutes, true
	}
	q.message = uuid.NewString()
	return q.message, "droid waits for the model, which has said nothing for " + minutes, true
}
