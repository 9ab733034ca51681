package session

import (
	"context"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
)

// Texts for the user about a session that another agent holds, or has opened since.
const (
	openElsewhere   = "This conversation is open in another window or program of yours, too." + apart
	openedElsewhere = "This conversation was opened in another window or program of yours, too." + apart
	apart           = " droid does not keep the two together: each goes on without what is said in the other. Close one of them."
)

// loadingMark is the store's mark of the session that droid is about to load, until that session is locked.
type loadingMark struct {
	store.Lock
	held error // why another agent had it open, or may have had, before it was noted
}

// markLoading records in the store that droid is about to load the session, so that other agents do not delete it until lockStored has
// locked it or the load has failed. held is the reason why another agent has it open, or may have; it is nil for a session that is open
// here already.
func (s *Session) markLoading(ctx context.Context) (held error) {
	id, cwd := s.droidID, s.cwd
	switch {
	case s.ended, s.proc.NeedsCreate(), s.storeLock.Is(id): // what is not made yet has no file
		return nil
	case s.loading.Is(id):
		return s.loading.held
	}
	s.releaseLock(s.loading.Begin(id))
	s.loading.held = nil
	var release func()
	var err error
	s.unlocked(ctx, func(ctx context.Context) {
		held = s.deps.Launcher.FreeToMove(ctx, id, cwd, leavingTime)
		release, err = s.deps.Launcher.MarkLoading(ctx, id)
	})
	if s.loading.Is(id) {
		s.loading.held = held
	}
	if err == nil {
		s.releaseLock(s.loading.SetHeld(id, release, time.Time{}))
	} else {
		s.loading.MarkFailed(id)
		s.notMarked(err)
	}
	return held
}

// notLoading ends what markLoading began.
func (s *Session) notLoading() { s.releaseLock(s.loading.Begin("")) }

// notMarked logs why other agents do not find in the store that this session is open, unless it is ending.
func (s *Session) notMarked(err error) {
	if !s.ended && s.Context.Err() == nil {
		s.log.Warn("other agents do not see that this session is open", zap.Error(err))
	}
}

// lockStored notes in the store that droid has its session open, without the lock, so that
// other agents do not delete it. It is locked while this session is open here, with a process
// or without. Where that fails the next prompt tries it again.
func (s *Session) lockStored() {
	id := s.droidID
	if s.ended || s.storeLock.Is(id) {
		return
	}
	s.releaseLock(s.storeLock.Begin(id))
	s.mu.Go(func() {
		s.notifyReplayed(s.Context)
		others := false
		s.unlocked(s.Context, func(ctx context.Context) { others = isOpenElsewhere(ctx, s.deps.Launcher, id) })
		told, _ := s.storeLock.Others() // when it could not be locked
		if s.storeLock.SetOthers(id, others); others && !told {
			s.notifySoon(openElsewhere)
		}
		var release func()
		var marked time.Time
		var err error
		s.unlocked(s.Context, func(ctx context.Context) {
			if release, err = s.deps.Launcher.MarkOpen(ctx, id); err == nil {
				marked, _ = s.deps.Launcher.Marked(ctx, id) // on failure the user reads it once too often
			}
		})
		if err != nil {
			s.storeLock.MarkFailed(id)
			s.notMarked(err)
			return
		}
		s.releaseLock(s.storeLock.SetHeld(id, release, marked))
		if s.storeLock.Holds(s.droidID) {
			s.notLoading()
		}
	})
}

// leavingTime is how long an agent whose editor was closed may still have its sessions open: an editor
// that is started again at once finds them so.
const leavingTime = 3 * time.Second

// isOpenElsewhere reports whether another agent has a session open that stays.
func isOpenElsewhere(ctx context.Context, launcher *launch.Launcher, id string) bool {
	held, _ := launcher.IsOpen(ctx, id)
	if !held {
		return false
	}
	select {
	case <-time.After(leavingTime):
	case <-ctx.Done():
	}
	held, _ = launcher.IsOpen(ctx, id)
	return held
}

// lookForOthers notifies the user when another agent has opened the session since the last check, which runs with each prompt that begins.
// The other agent notifies its own user (isOpenElsewhere).
func (s *Session) lookForOthers() {
	id := s.droidID
	if s.proc.Client() != nil {
		s.lockStored() // where it could not be locked
	}
	s.mu.Go(func() {
		var marked time.Time
		var err error
		s.unlocked(s.Context, func(ctx context.Context) { marked, err = s.deps.Launcher.Marked(ctx, id) })
		if err == nil && s.storeLock.Joined(id, marked) {
			s.notifySoon(openedElsewhere)
		}
	})
}

// notifySoon sends a Notice as soon as the editor takes it, also while no prompt runs.
func (s *Session) notifySoon(text string) {
	if s.deps.Client.HidesUpdatesOutsidePrompt {
		s.update(render.Notice(text))
		return
	}
	s.mu.Go(func() {
		if s.waitFor(s.Context, "a message", needShown) == nil {
			s.notify(text)
		}
	})
}

// releaseLock releases a lock of the store, and does not wait.
func (s *Session) releaseLock(release func()) {
	if release != nil {
		s.async(func(context.Context) { s.deps.AtEnd("release", files.ReleaseTime, release) })
	}
}
