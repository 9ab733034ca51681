package adapter

import (
	"context"
	"slices"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/render"
)

// Where a thread goes on is noted in the store, so that its ids lead to its newest
// session in every agent and after a restart.

// threadAt finds the ids of the thread that a request is about, the oldest first, when its
// turn has come.
func (a *Agent) threadAt(ctx context.Context, p *ticket) ([]string, *jsonrpc.Error) {
	if err := turnOf(ctx, p); err != nil {
		return nil, err
	}
	p.Unlock()
	ids, err := a.threads.IDs(ctx, p.ID())
	if err != nil {
		return nil, acperr.NotDone(acperr.Opening, err)
	}
	p.SetIDs(ids)
	return ids, nil
}

// openOf finds the open session of a thread, by whichever id, when the request's turn has
// come. If there is none, the request keeps the thread's files until it leaves its place.
func (a *Agent) openOf(ctx context.Context, p *ticket) (s *Session, ids []string, err *jsonrpc.Error) {
	if ids, err = a.threadAt(ctx, p); err != nil {
		return nil, nil, err
	}
	if err = turnOf(ctx, p); err != nil {
		return nil, nil, err
	}
	defer p.Unlock()
	if open := p.All(); len(open) > 0 {
		return open[0], ids, nil
	}
	p.Keep()
	return nil, ids, nil
}

// takeThread finds the open session of the thread that the params name, by whichever
// id, or makes one that works on the thread's newest session. It returns the thread's
// ids, too.
func (a *Agent) takeThread(ctx context.Context, at *ticket, w instructions.Wanted) (s *Session, known bool, ids []string, err *jsonrpc.Error) {
	if ids, err = a.threadAt(ctx, at); err != nil {
		return nil, false, nil, err
	}
	newest := ids[len(ids)-1]
	search := append([]string{w.SessionID}, ids...) // the id that was asked for counts most, then the newest
	slices.Reverse(search[1:])
	if err = turnOf(ctx, at); err != nil {
		return nil, false, nil, err
	}
	s, known = a.findOrBegin(at, search, newest, w)
	return s, known, ids, nil
}

// findOrBegin is takeThread in its turn.
func (a *Agent) findOrBegin(at *ticket, ids []string, newest string, w instructions.Wanted) (s *Session, known bool) {
	defer at.Unlock()
	if s, known = at.Find(ids); known {
		at.Claim(s, ids) // another session may have one, which then stays apart
		return s, true
	}
	s = a.makeSession(w.SessionID, w.CWD, w.Servers)
	s.droidID = newest
	at.Begin(s, ids)
	return s, false
}

// catchUp has the session go on in the newest one of these ids of its thread, when
// another agent compacted or rewound it since this one opened it.
func (s *Session) catchUp(ids []string) {
	newest := ids[len(ids)-1]
	if newest == s.droidID || !slices.Contains(ids, s.droidID) || !s.deps.sessions.Claim(s, newest) {
		return
	}
	s.droidID = newest
	s.endDroid(replaced, "the thread went on in another session")
}

// stays notes that the thread does not go on in the session that droid made of this
// one.
func (s *Session) stays(from string) {
	s.async(func(context.Context) { s.deps.threads.MarkStays(from) })
}

// copyOptions notes for the copy of a thread what droid knows nothing of and does not copy: the value of options.FollowUp.
func (d *Deps) copyOptions(ctx context.Context, ids []string, copied string) (followUp string) {
	followUp = d.threads.FollowUp(ctx, ids)
	if followUp != "" {
		_ = d.threads.SetFollowUp(copied, followUp) // it is logged
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
	s.unlocked(ctx, func(context.Context) { err = s.deps.threads.SetFollowUp(at, value) })
	if err != nil {
		s.update(render.Notice("What becomes of a second prompt is set as long as this session is open; it could not be written down (" + err.Error() + ")."))
	}
	return true
}

// useFollowUp has the session work by a value of that option, unless it is none.
func (s *Session) useFollowUp(value string) bool {
	ok := s.options.SetFollowUp(value)
	if ok {
		s.prompts.SetSteering(s.options.Steers())
	}
	return ok
}
