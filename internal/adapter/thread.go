package adapter

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
)

// A thread is what the editor shows as one conversation. /compact and /rewind have
// droid make another session, in which the thread goes on; it is found by the ids
// of all of them.

// thread is one conversation. The registry knows the ids that it had before, and telling.Updates
// by which one the editor used it last.
type thread struct {
	droidID string // of droid's session that the process works on, or the next one is to load
	cwd     string // where it works
	name    store.Name
}

// switchSession continues the thread in a session that droid made from the one it is in. With
// fresh a new process loads it, since the old one would go on giving the model
// the old conversation. It reports false when the thread does not go on there; then the command has ended.
// Else arrived follows.
func (r *commandRun) switchSession(next store.Successor, fresh bool) (ok bool) {
	s := r.s
	if r.over() { // it was cancelled, and another prompt may run
		s.tellLateSession(next.ID)
		return false
	}
	claimed, err := s.moveTo(s.Context, next, fresh)
	if claimed && err == nil {
		return true
	}
	s.update(s.show.EndCompaction(render.CompactionFailed)...)
	if !claimed {
		r.reply("droid made the session " + next.ID + ", but that session has been opened as a thread of its own already. This thread is unchanged.")
		return false
	}
	r.fail("droid made the session "+next.ID+" and did not load it", errors.New(acperr.Text(err)))
	return false
}

// moveTo has the thread go on in a session that droid made from the one it is in; see switchSession. Where it reports false, that session
// is a thread of its own. Unless it succeeds the thread stays where it was.
func (s *Session) moveTo(ctx context.Context, next store.Successor, fresh bool) (claimed bool, err *jsonrpc.Error) {
	if !s.agent.sessions.Claim(s, next.ID) {
		s.stays(next.From)
		return false, nil
	}
	if err = s.move(ctx, next.ID, fresh); err != nil {
		s.droidID = next.From
		if next.ID != next.From && next.ID != s.out.Session() {
			s.agent.sessions.Release(s, next.ID)
		}
		s.stays(next.From)
	}
	return true, err
}

// arrived gives the session that the thread goes on in the thread's title, and returns what the user must know of
// the two sessions.
func (r *commandRun) arrived(next store.Successor) (hint string) {
	hint = next.Hint()
	if r.over() {
		r.tellLate(hint)
	} else {
		r.untold = hint
	}
	r.s.carryTitle(r.s.Context, next.Title, r.named)
	r.untold = ""
	return hint
}

// move has the session work on another one of droid's. It is not given up with what it is for.
func (s *Session) move(ctx context.Context, id string, fresh bool) *jsonrpc.Error {
	release, err := s.lockRPC(ctx)
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

// tellLate tells, to whoever's prompt runs or comes next, that the thread goes on in what droid made for a command
// that has ended.
func (r *commandRun) tellLate(hint string) {
	s := r.s
	text := "droid finished a command after its process had ended." + hint
	if r.cancelled() {
		text = "droid finished a command after you had cancelled it." + hint
	}
	if s.prompts.RunsOne() {
		s.update(render.Notice(text))
		return
	}
	s.out.AddNotices(text)
}

// carryTitle gives the session that was just loaded the title that the thread had when the user had named it so
// often, or the one that they have given it since. No turn runs meanwhile: the command does.
func (s *Session) carryTitle(ctx context.Context, title string, named int) {
	for carried := false; !carried || s.name.Given() != named; carried = true {
		if s.name.Given() != named {
			title, named = s.name.Title(), s.name.Given()
		}
		if title == "" || s.proc.Client() == nil {
			return
		}
		if _, err := s.renameAlone(s.Context, title); err != nil {
			s.log.Warn("a session did not get the title of its thread", zap.Error(err))
		}
	}
}

// tellLateSession tells of a session that droid made for a command which nobody
// waits for any more: it was cancelled or took too long. id is "" where droid made none.
func (s *Session) tellLateSession(id string) {
	if id == "" {
		return
	}
	if s.droidID != id {
		s.stays(s.droidID)
	}
	s.out.AddNotices("droid finished a command after it was cancelled or had taken too long. Its result is the session " + id + ", which this thread does not use.")
}

// noteMove notes that the thread goes on in another session.
func (s *Session) noteMove(ctx context.Context, from, to string) {
	lost := ""
	s.unlocked(ctx, func(ctx context.Context) {
		next := s.agent.threads.Successor(ctx, from)
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
	if s.agent.sessions.Claim(s, id) {
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
