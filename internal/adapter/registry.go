package adapter

import (
	"context"
	"maps"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/sessionid"
)

// The agent finds an open session by each of its ids: those by which the editor
// opened it, and those under which droid went on with it (after /compact and
// /rewind). So no session of droid's is open in two processes, whichever of its
// ids is used.

// checkSessionID refuses an id that could not be the name of a file in droid's
// store. All methods that name a session call it.
func checkSessionID(id string) *acp.RequestError {
	switch {
	case id == "":
		return invalidParams("sessionId is missing")
	case !sessionid.Valid(id):
		return invalidParams("sessionId %.80q is not a valid session id; session/list returns those that there are", id)
	}
	return nil
}

// registry is the open sessions of an agent.
type registry struct {
	mu        sync.Mutex
	closing   bool                  // no session is opened any more
	byID      map[string]*Session   // by each of their ids
	departing map[string]*departure // by the ids that are not free yet
	running   sync.WaitGroup        // the sessions' owners
}

func newRegistry() *registry {
	return &registry{byID: make(map[string]*Session), departing: make(map[string]*departure)}
}

// stay is what a session needs to wait for an earlier one that had its id, and to
// leave its ids to a later one.
type stay struct {
	before    *departure         // what the session waits for before it starts droid
	polite    context.Context    // a process that leaves may take its time until this ends
	hurry     context.CancelFunc // ends polite
	departing *departure         // set when the agent has forgotten the session; guarded by registry.mu
}

func newStay() stay {
	var s stay
	s.polite, s.hurry = context.WithCancel(context.Background())
	return s
}

// departure keeps an id from being opened for a while: a process that has the
// session is still leaving, or the session's files are being read or moved. Whoever
// wants the id next waits for it.
type departure struct {
	before *departure      // an earlier one of the same id, which may not be over either
	hurry  func()          // has the process leave at once
	done   <-chan struct{} // closed when the id is free
}

// wait hurries those who still use the id, and returns when it is free.
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

// find returns the session that has an id.
func (r *registry) find(id string) (*Session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.byID[id]
	return s, known
}

// take finds the session that has an id. If none has it, take gives the id to the
// session that make returns and starts that session's owner.
func (r *registry) take(id string, make func() *Session) (s *Session, known bool, err *acp.RequestError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, known := r.byID[id]; known {
		return s, true, nil
	}
	if r.closing {
		return nil, false, errEnding()
	}
	s = make()
	s.before = r.departing[id].live()
	r.byID[id] = s
	r.running.Go(s.run)
	return s, false, nil
}

// begin registers a session that droid has just opened, and starts its owner.
func (r *registry) begin(s *Session) *acp.RequestError {
	_, known, err := r.take(s.id, func() *Session { return s })
	if known {
		return internalError("session_taken", "droid calls the new session "+s.id+", which is open already; try again")
	}
	return err
}

// claim makes id one more id of a session. It reports false when that would open
// a session of droid's twice.
func (r *registry) claim(s *Session, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	other, taken := r.byID[id]
	switch {
	case taken:
		return other == s
	case r.departing[id].live() != nil:
		return false
	case s.departing != nil: // it is being closed
		r.departing[id] = s.departing
	default:
		r.byID[id] = s
	}
	return true
}

// release takes an id from a session again.
func (r *registry) release(s *Session, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID[id] == s {
		delete(r.byID, id)
	}
}

// forget makes a session unknown under all its ids. Its owner goes on until it is
// stopped; whoever opens one of the ids waits for the owner's end.
func (r *registry) forget(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.departing, func(_ string, d *departure) bool { return d.live() == nil })
	if s.departing == nil {
		s.departing = &departure{s.before.live(), s.hurry, s.over}
	}
	for id, other := range r.byID {
		if other == s {
			delete(r.byID, id)
			r.departing[id] = s.departing
		}
	}
}

// reserve keeps an id that no open session has from being opened until free is
// called. The caller must first wait for before, who had the id last.
func (r *registry) reserve(id string) (before *departure, free func()) {
	return r.reserveHurried(id, func() {})
}

// reserveHurried is reserve for somebody who may leave late: who wants the id next
// calls hurry.
func (r *registry) reserveHurried(id string, hurry func()) (before *departure, free func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := make(chan struct{})
	before = r.departing[id].live()
	r.departing[id] = &departure{before, hurry, done}
	return before, func() { close(done) }
}

// close makes take refuse new sessions from now on.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
}

// beside runs f beside the caller. Who waits for the sessions waits for it, too.
func (r *registry) beside(f func()) {
	r.mu.Lock()
	closing := r.closing
	if !closing {
		r.running.Go(f)
	}
	r.mu.Unlock()
	if closing {
		f()
	}
}

// wait returns when the owners of all sessions have ended.
func (r *registry) wait() { r.running.Wait() }
