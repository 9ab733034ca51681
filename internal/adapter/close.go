package adapter

import (
	"context"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// Hurry has a process that leaves do so at once.
func (s *Session) Hurry() { s.proc.ForceStop() }

// close cancels what the session works on, and ends it. It returns when no prompt runs any more; droid leaves politely after that.
func (s *Session) close() {
	s.cancelAndWait()
	s.Stop()
}

// closeDeleted is close for a session whose files are about to be deleted: droid is killed.
func (s *Session) closeDeleted() {
	s.cancelAndWait()
	s.mu.Post(func() { s.endDroid(killed, "its session is deleted") }) // it would write to the files once more as it leaves
	s.Stop()
}

// cancelAndWait cancels what the session works on and returns when no prompt runs
// any more.
func (s *Session) cancelAndWait() {
	var failed *jsonrpc.Error
	if s.enter(nil) != nil {
		return
	}
	defer s.exit(&failed)
	s.cancelPrompts()
	if s.waitFor(s.Context, "the end of the session", needQuiet) != nil {
		return // there is nothing to wait for
	}
	left := s.updateBackground()
	s.async(func(context.Context) { endLeft(left) })
	s.sendKept() // nobody else will
}

// onlyHere returns an error if another window has the session open. The session's own note does not count; it is written again.
func (s *Session) onlyHere(ctx context.Context) (held error) {
	var failed *jsonrpc.Error
	if s.enter(nil) != nil {
		return nil
	}
	defer s.exit(&failed)
	if s.loading.Is(s.droidID) {
		return nil // its own load is noted, too
	}
	id, release := s.droidID, s.storeLock.Begin("")
	s.unlocked(s.Context, func(context.Context) {
		if release != nil {
			s.deps.atEnd("release", files.ReleaseTime, release)
		}
		held = s.deps.opener.Free(ctx, id)
	})
	s.lockStored()
	return held
}
