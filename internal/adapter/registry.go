package adapter

import (
	"maps"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/sessionid"
)

// The agent finds an open session by each of its ids: those by which the editor
// opened it, and those under which droid went on with it (after /compact and
// /rewind). So no session of droid's is open in two processes, whichever of its
// ids is used.

// checkSessionID refuses what the editor calls a session and what is no name of
// one file in droid's store. All methods that name a session pass here.
func checkSessionID(id string) *acp.RequestError {
	switch {
	case id == "":
		return invalidParams("sessionId is missing")
	case !sessionid.Valid(id):
		return invalidParams("sessionId %.80q is no id of a session; session/list has those that there are", id)
	}
	return nil
}

// departure keeps an id from being opened for a while: a process that has the
// session still leaves, or its files are being read or moved. Who wants the id
// next waits for it.
type departure struct {
	before *departure      // what the id waited for itself
	hurry  func()          // has the process leave at once
	done   <-chan struct{} // closed when the id is free
}

// wait returns when the id is free, and sees to it that this is soon.
func (d *departure) wait() {
	for ; d != nil; d = d.before {
		d.hurry()
		<-d.done
	}
}

// live is d, or nil when there is nothing to wait for any more.
func (d *departure) live() *departure {
	for at := d; at != nil; at = at.before {
		select {
		case <-at.done:
		default:
			return d
		}
	}
	return nil
}

// take finds the session that has an id. If none has it, the session that make
// makes gets it, and its owner runs.
func (a *Agent) take(id string, make func() *Session) (s *Session, known bool, err *acp.RequestError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, known := a.sessions[id]; known {
		return s, true, nil
	}
	if a.closing {
		return nil, false, errEnding()
	}
	s = make()
	s.before = a.departing[id].live()
	a.sessions[id] = s
	a.running.Go(s.run)
	return s, false, nil
}

// begin takes up a session that droid has just opened: the agent knows it from
// now on, and its owner runs.
func (a *Agent) begin(s *Session) *acp.RequestError {
	_, known, err := a.take(s.id, func() *Session { return s })
	if known {
		return internalError("session_taken", "droid calls the new session "+s.id+", which is open already; try again")
	}
	return err
}

// claim makes id one more id of a session. It reports false when that would open
// a session of droid's twice.
func (a *Agent) claim(s *Session, id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	other, taken := a.sessions[id]
	switch {
	case taken:
		return other == s
	case a.departing[id].live() != nil:
		return false
	case s.departing != nil: // it is being closed
		a.departing[id] = s.departing
	default:
		a.sessions[id] = s
	}
	return true
}

// release takes an id from a session again.
func (a *Agent) release(s *Session, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[id] == s {
		delete(a.sessions, id)
	}
}

// forget makes a session unknown under all its ids. Its owner goes on until it is
// stopped; who opens one of the ids waits for that.
func (a *Agent) forget(s *Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.departing, func(_ string, d *departure) bool { return d.live() == nil })
	if s.departing == nil {
		s.departing = &departure{s.before.live(), s.hurry, s.over}
	}
	for id, other := range a.sessions {
		if other == s {
			delete(a.sessions, id)
			a.departing[id] = s.departing
		}
	}
}

// reserve keeps an id that no open session has from being opened until free is
// called. The caller waits for what had it before.
func (a *Agent) reserve(id string) (before *departure, free func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	done := make(chan struct{})
	before = a.departing[id].live()
	a.departing[id] = &departure{before, func() {}, done}
	return before, func() { close(done) }
}
