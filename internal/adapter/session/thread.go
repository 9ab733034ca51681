package session

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/launch"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
	"droid-acp/internal/sys/files"
)

// A thread is one conversation in the editor. /compact and /rewind make droid create another session, in which the thread continues; it is
// found by the ids of all of them.

// thread is one conversation. The registry knows the ids that it had before, and updates.Sender
// by which one the editor used it last.
type thread struct {
	droidID string // of droid's session that the process works on, or the next one is to load
	cwd     string // where it works
	name    store.Name
}

// switchSession continues the thread in a session that droid made from the current one. With fresh a new process loads it, since the old
// one would keep sending the model the old conversation. After an error the thread stays where it is; otherwise the caller calls arrived.
func (s *Session) switchSession(ctx context.Context, next store.Successor, fresh bool) error {
	id, old := next.ID, next.From
	if ctx.Err() != nil { // it was cancelled, and another prompt may run
		s.tellLateSession(id)
		return context.Cause(ctx)
	}
	if !s.deps.Sessions.AddID(s, id) {
		s.stays(old)
		s.update(s.show.EndCompaction(render.CompactionFailed)...)
		return message("droid made the session " + id + ", but that session has been opened as a thread of its own already. This thread is unchanged.")
	}
	if err := s.move(s.Context, id, fresh); err != nil {
		s.droidID = old
		if id != old && id != s.out.Session() {
			s.deps.Sessions.Release(s, id)
		}
		s.stays(old)
		s.update(s.show.EndCompaction(render.CompactionFailed)...)
		return Failed("droid made the session "+id+" and did not load it", Plain(err))
	}
	return nil
}

// arrived gives the thread's new session the thread's title, and returns what the user must know about the two sessions. named is
// store.Name.Given from the time at which the title was read.
func (s *Session) arrived(ctx context.Context, next store.Successor, named int) (hint string) {
	hint = next.Hint()
	forget := s.whenEnded(ctx, func() { s.showLate(hint, wasCancelled(ctx)) })
	defer forget()
	s.carryTitle(s.Context, next.Title, named)
	return hint
}

// move makes the session work on another one of droid's. It is not abandoned with the command that began it.
func (s *Session) move(ctx context.Context, id string, fresh bool) *jsonrpc.Error {
	release, err := s.lockRPC(s.Context)
	if err != nil {
		return err
	}
	defer release()
	s.droidID = id
	if s.proc.Client() != nil && !fresh {
		_, err = s.loadInCall(ctx, 1, acperr.Loading)
		return err
	}
	s.endDroid(replaced, "it would go on with the old conversation")
	_, _, err = s.awaitDroid(ctx, 1)
	return err
}

// showLate notifies the user, with the running or the next prompt, that the thread continues in a session which droid made for a command
// that has ended.
func (s *Session) showLate(hint string, cancelled bool) {
	text := "droid finished a command after its process had ended." + hint
	if cancelled {
		text = "droid finished a command after you had cancelled it." + hint
	}
	if s.prompts.RunsOne() {
		s.update(render.Notice(text))
		return
	}
	s.out.AddNotices(text)
}

// carryTitle gives the session that was just loaded a title: the one given, or the one that the user has set since store.Name.Given was
// named. No turn runs in the meantime, since the command does.
func (s *Session) carryTitle(ctx context.Context, title string, named int) {
	for carried := false; !carried || s.name.Given() != named; carried = true {
		if s.name.Given() != named {
			title, named = s.name.Title(), s.name.Given()
		}
		if title == "" || s.proc.Client() == nil {
			return
		}
		if _, err := s.renameAlone(ctx, title); err != nil {
			s.log.Warn("a session did not get the title of its thread", zap.Error(err))
		}
	}
}

// tellLateSession notifies the user of a session that droid made for a command which was cancelled or took too long. id is "" if droid made
// none.
func (s *Session) tellLateSession(id string) {
	if id == "" {
		return
	}
	if s.droidID != id {
		s.stays(s.droidID)
	}
	s.out.AddNotices("droid finished a command after it was cancelled or had taken too long. Its result is the session " + id + ", which this thread does not use.")
}

// noteMove records that the thread continues in another session.
func (s *Session) noteMove(ctx context.Context, from, to string) {
	lost := ""
	s.unlocked(ctx, func(ctx context.Context) {
		next := s.deps.Threads.Successor(ctx, from)
		next.Made(to, store.LinkMoved)
		lost = next.Lost()
	})
	if lost != "" {
		s.update(render.Notice("droid went on in another session." + lost))
	}
}

// followTo notes that droid went on in another session by itself; a restarted process
// must load that one (quirk 22). If it is open here already, two processes would work
// on it, so this process is killed.
func (s *Session) followTo(id string) {
	if s.deps.Sessions.AddID(s, id) {
		if old := s.droidID; old != id {
			s.mu.Go(func() { s.noteMove(s.Context, old, id) })
		}
		s.droidID = id
		s.lockStored()
		return
	}
	s.log.Warn("droid went on in a session that is open already", zap.String("other", id))
	s.endDroid(killed, "it went on in a session that is open already")
}

// errListTime is the error if listing takes too long.
var errListTime = errors.New("the sessions could not be read within a minute")

// LatestSessions are the stored sessions that were used last, wherever they were made.
type LatestSessions struct {
	Latest  []store.Session
	Earlier []store.Session // conversations that this thread had before
	Thread  []string        // the ids of this thread's sessions
}

// LatestSessions lists the sessions that were used last.
func (s *Session) LatestSessions(ctx context.Context) (all LatestSessions, err error) {
	a, works := s.deps, s.droidID
	err = s.callWithin(ctx, launch.Time, errListTime, func(ctx context.Context) error {
		page, err := a.ListStored(ctx, store.Query{Limit: 20})
		if err != nil {
			return err
		}
		all.Latest = page.Sessions
		if all.Thread, err = a.Threads.IDs(ctx, works); err != nil {
			return err
		}
		for _, id := range all.Thread {
			if one, err := a.Launcher.Find(ctx, id); err == nil && id != works {
				all.Earlier = append(all.Earlier, one)
			}
		}
		return nil
	})
	return all, err
}

// ListStored lists stored sessions.
func (d *Deps) ListStored(ctx context.Context, q store.Query) (store.Page, error) {
	return files.CallBounded(ctx, d.Calls, "Store.List", "the store of sessions", func(string) (store.Page, error) { return d.Config.Store.List(ctx, q) })
}

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
