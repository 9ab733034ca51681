package session

import (
	"context"
	"time"

	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// An event of droid's passes four functions: nextEvent says whether it may be taken now, handleEvent normalizes it, apply keeps the order if
// files are read for one, and translate shows it.

// nextEvent returns the channel of droid's events, nil while droid is not to be read. If that is because the outbox is
// full, room is closed when there is room again.
func (s *Session) nextEvent() (events <-chan stream.Event, room <-chan struct{}) {
	switch {
	case s.showsHistory(): // that comes first
	case s.fileCalls.Waiting() != nil: // files are being read for an earlier event; the end of that wakes us
	case s.prompts.Stopping():
		events = s.proc.Events() // what it says is dropped, so it needs no room
	default:
		if room = s.out.Full(); room == nil {
			events = s.proc.Events()
		}
	}
	s.proc.Pause(events == nil)
	return events, room
}

// syncEvents applies the events that droid sent before the response that the caller has just got. Some of them may be shown with files:
// then it waits, without the lock, until these are read. The error says that the session ends. The end of ctx does not end the wait; the
// parameter shows that the lock may be released.
func (s *Session) syncEvents(ctx context.Context) *jsonrpc.Error {
	if s.drainEvents(); s.fileCalls.Waiting() == nil {
		return nil
	}
	return s.waitFor(s.Context, "droid's answer", needRead)
}

// drainEvents takes the events that droid sent before the response that was
// just received: they are in the channel already.
func (s *Session) drainEvents() {
	for {
		select {
		case ev, ok := <-s.proc.Events():
			s.handleEvent(ev, ok)
			if !ok {
				return
			}
		default:
			return
		}
	}
}

// handleEvent takes one event, or the end of the process.
func (s *Session) handleEvent(ev stream.Event, ok bool) {
	if !ok {
		s.droidExited()
		return
	}
	s.fileCalls.NoteHook(ev)
	s.apply(s.proc.Handle(time.Now(), ev))
}

// apply translates normalized events, in order. One that is shown with files, or with what a subagent's file says, or behind why an edit
// failed, waits until they are read, without the lock, so that the editor is still heard in the meantime; with it wait all that follow.
func (s *Session) apply(events []quirks.Event) {
	for i, ev := range events {
		if s.fileCalls.Behind(events[i:]) {
			return
		}
		if stops, is := ev.(quirks.SubagentStopped); is && !s.ended {
			s.readToEnd(s.fileCalls.Defer(ev), stops.ID)
			continue
		}
		if asks, is := ev.(quirks.SubagentAsks); is && !s.ended {
			s.readToEnd(s.fileCalls.Defer(ev), asks.ID)
			continue
		}
		if failed := s.show.TakeUnexplained(ev); len(failed) > 0 && !s.ended {
			s.explain(failed, s.fileCalls.Defer(ev))
			continue
		}
		paths, requested := s.show.NeededFiles(ev), s.show.RequestedPaths(ev)
		if s.ended || len(paths) == 0 && len(requested) == 0 {
			s.translate(ev, nil)
			continue
		}
		if len(requested) > 0 {
			requested = append(requested, s.directories()...)
		}
		jobs, held := s.fileCalls.BeforeShown(ev, paths), s.fileCalls.Defer(ev)
		s.mu.Go(func() {
			texts := render.Files(nil)
			defer func() {
				if texts == nil { // a panic: nothing waits for them any more
					s.readNoMore()
				}
			}()
			s.doJobs(s.Context, jobs...)
			s.unlocked(s.Context, func(ctx context.Context) { texts = s.deps.Texts.ReadResolved(ctx, paths, requested) })
			s.filesRead(held, texts)
		})
	}
}

// filesRead translates what waited for files, and what came after it.
func (s *Session) filesRead(held *filecalls.Deferred, texts render.Files) {
	if events := s.fileCalls.Release(held); len(events) > 0 {
		s.translate(events[0], texts)
		s.apply(events[1:])
	}
}

// readNoMore translates what waits for files without them, because the session or its
// process ends, or the reading failed.
func (s *Session) readNoMore() {
	for held := s.fileCalls.Waiting(); held != nil; held = s.fileCalls.Waiting() {
		s.filesRead(held, nil)
	}
}

// silenceDue returns the time at which the user is notified that droid does not take a prompt, or that the model is silent. ok is false if
// neither is the case, or if the user sees the reason: a running tool or a question.
func (s *Session) silenceDue() (at time.Time, ok bool) {
	if !s.prompts.Working() || s.questions.IsOpen() || s.show.Busy() {
		return time.Time{}, false
	}
	return s.proc.SilenceDue()
}
