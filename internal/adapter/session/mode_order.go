package session

import (
	"context"
	"time"

	"droid-acp/internal/droid/stream"
)

// modeOrder keeps the order in which the user sets the mode: by the option, or by an answer to a permission, for which droid may change its
// mode. droid takes the mode of an answer some 2 ms behind it (0.99 to 0.225), so an option that is set in between would be lost: where droid
// has the answer, the option waits for that mode (due); an answer that is being prepared when the option is set is withheld (chosen); one that
// droid gets while it is asked for the option counts, and the option was set all the same (made). The zero value is ready.
type modeOrder struct {
	chosen int         // how often the user has set the option
	asked  stream.Mode // that droid is being asked for, for the option
	made   bool        // droid has reported that mode since, and no other one but for a later answer
	due    time.Time   // until when droid may take the mode of an answer that it has; zero if it may not
}

// modeTime bounds the wait for the mode of an answer. Behind an answer that changes none droid reports nothing.
const modeTime = 2 * time.Second

// choose notes that the user sets the option. An answer that is not given yet, and may change the mode, comes too late then.
func (o *modeOrder) choose() { o.chosen++ }

// answered notes that droid has an answer for which it may change its mode.
func (o *modeOrder) answered(now time.Time) { o.due = now.Add(modeTime) }

// droidExited ends the wait for the mode of an answer that a droid had.
func (o *modeOrder) droidExited() { o.due = time.Time{} }

// ask notes that droid is being asked for a mode, for the option; "" for none.
func (o *modeOrder) ask(mode stream.Mode) { o.asked, o.made = mode, false }

// reported notes that droid has changed its mode: if not for the option, then for the answer.
func (o *modeOrder) reported(mode stream.Mode) {
	if mode == o.asked {
		o.made = true
		return
	}
	o.made = o.made && !o.due.IsZero()
	o.due = time.Time{}
}

// awaitMode waits until droid has taken the mode of the answer that it has.
func (s *Session) awaitMode(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, s.modeOrder.due)
	defer cancel()
	_ = s.mu.WaitFor(ctx, "a mode", untilMode, func() bool { return s.modeOrder.due.IsZero() })
}
