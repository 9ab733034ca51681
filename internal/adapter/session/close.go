package session

import (
	"context"

	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/sys/files"
)

// ForceStop makes a droid that is exiting do so at once.
func (s *Session) ForceStop() { s.proc.ForceStop() }

// Close cancels what the session works on, and ends it. It returns when no prompt runs any more; droid exits in order after that.
func (s *Session) Close() {
	s.cancelAndWait()
	s.Stop()
}

// CloseDeleted is Close for a session whose files are about to be deleted: droid is killed.
func (s *Session) CloseDeleted() {
	s.cancelAndWait()
	s.mu.Post(func() { s.endDroid(killed, "its session is deleted") }) // it would write to the files once more as it leaves
	s.Stop()
}

// cancelAndWait cancels what the session works on and returns when no prompt runs
// any more.
func (s *Session) cancelAndWait() {
	var failed *jsonrpc.Error
	if s.Enter(nil) != nil {
		return
	}
	defer s.Exit(&failed)
	s.cancelPrompts()
	if s.waitFor(s.Context, "the end of the session", needQuiet) != nil {
		return // there is nothing to wait for
	}
	left := s.updateBackground()
	s.async(func(context.Context) { endLeft(left) })
	s.sendKept() // otherwise it would be lost
}

// OnlyHere returns an error if another window has the session open. The session's own note does not count; it is written again.
func (s *Session) OnlyHere(ctx context.Context) (held error) {
	var failed *jsonrpc.Error
	if s.Enter(nil) != nil {
		return nil
	}
	defer s.Exit(&failed)
	if s.loading.Is(s.droidID) {
		return nil // its own load is noted, too
	}
	id, release := s.droidID, s.storeLock.Begin("")
	s.unlocked(s.Context, func(context.Context) {
		if release != nil {
			s.deps.AtEnd("release", files.ReleaseTime, release)
		}
		held = s.deps.Launcher.Free(ctx, id)
	})
	s.lockStored()
	return held
}
