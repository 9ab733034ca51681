package session

import (
	"context"
	"slices"

	"droid-acp/internal/render"
)

// The store records in which session a thread continues, so that all its ids lead to the newest one in every agent, also after a restart.

// catchUp moves the session to the newest id of its thread if another agent has compacted or rewound it since this one opened it.
func (s *Session) catchUp(ids []string) {
	newest := ids[len(ids)-1]
	if newest == s.droidID || !slices.Contains(ids, s.droidID) || !s.deps.Sessions.AddID(s, newest) {
		return
	}
	s.droidID = newest
	s.endDroid(replaced, "the thread went on in another session")
}

// stays records that the thread does not continue in the session that droid made of this one.
func (s *Session) stays(from string) {
	s.async(func(context.Context) { s.deps.Threads.MarkStays(from) })
}

// copyOptions notes for the copy of a thread what droid knows nothing of and does not copy: the value of options.FollowUp.
func (d *Deps) copyOptions(ctx context.Context, ids []string, copied string) (followUp string) {
	followUp = d.Threads.FollowUp(ctx, ids)
	if followUp != "" {
		_ = d.Threads.SetFollowUp(copied, followUp) // it is logged
	}
	return followUp
}

// setFollowUp sets the option that droid knows nothing of, and notes it for later agents. It reports false for what is no value of it.
func (s *Session) setFollowUp(ctx context.Context, value string) bool {
	if !s.useFollowUp(value) {
		return false
	}
	s.updateState()
	at, err := s.droidID, error(nil)
	s.unlocked(ctx, func(context.Context) { err = s.deps.Threads.SetFollowUp(at, value) })
	if err != nil {
		s.update(render.Notice("What becomes of a second prompt is set as long as this session is open; it could not be written down (" + err.Error() + ")."))
	}
	return true
}

// useFollowUp applies a value of that option, and reports whether it is one.
func (s *Session) useFollowUp(value string) bool {
	ok := s.options.SetFollowUp(value)
	if ok {
		s.prompts.SetSteering(s.options.Steers())
	}
	return ok
}
