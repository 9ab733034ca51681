package adapter

import (
	"context"
	"maps"
	"slices"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/sessionid"
)

// The agent finds an open session by each id of its thread: those of the sessions
// that droid made for it (after /compact and /rewind), also before this agent was
// started. So no session of droid's is open in two processes, whichever of the ids is
// used.

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
	before    departures         // what the session waits for before it starts droid
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
	before departures      // earlier ones of the same ids, which may not be over either
	hurry  func()          // has the process leave at once
	done   <-chan struct{} // closed when the id is free
}

// departures are those of one or several ids.
type departures []*departure

// wait hurries those who still use the ids, and returns when all are free.
func (all departures) wait() {
	for _, d := range all {
		d.hurry()
	}
	for _, d := range all {
		<-d.done
		d.before.wait()
	}
}

// live is those for which there still is something to wait for.
func (all departures) live() (live departures) {
	for _, d := range all {
		select {
		case <-d.done:
			live = append(live, d.before.live()...)
		default:
			live = append(live, d)
		}
	}
	return live
}

// departed is what must be over before these ids are free. The caller has locked r.
func (r *registry) departed(ids ...string) (live departures) {
	for _, id := range ids {
		d := r.departing[id]
		if d != nil && !slices.Contains(live, d) {
			live = append(live, d)
		}
	}
	return live.live()
}

// find returns the session that has an id.
func (r *registry) find(id string) (*Session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.byID[id]
	return s, known
}

// list are the open sessions.
func (r *registry) list() (sessions []*Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := make(map[*Session]bool)
	for _, s := range r.byID {
		if !seen[s] {
			seen[s] = true
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// take finds the session that has one of a thread's ids; an earlier id of the list
// counts before a later one. If none has, take gives the ids to the session that make
// returns and starts that session's owner.
func (r *registry) take(ids []string, make func() *Session) (s *Session, known bool, err *acp.RequestError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if s, known := r.byID[id]; known {
			return s, true, nil
		}
	}
	if r.closing {
		return nil, false, errEnding()
	}
	s = make()
	s.before = r.departed(ids...)
	for _, id := range ids {
		r.byID[id] = s
	}
	r.running.Go(s.run)
	return s, false, nil
}

// begin registers a session that droid has just opened, and starts its owner.
func (r *registry) begin(s *Session) *acp.RequestError {
	_, known, err := r.take([]string{s.id}, func() *Session { return s })
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
	case len(r.departed(id)) > 0:
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
	maps.DeleteFunc(r.departing, func(_ string, d *departure) bool { return len(departures{d}.live()) == 0 })
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

// reserve keeps ids that no open session has from being opened until free is
// called. The caller must first wait for before, who had the ids last.
func (r *registry) reserve(ids []string) (before departures, free func()) {
	return r.reserveHurried(ids, func() {})
}

// reserveHurried is reserve for somebody who may leave late: who wants one of the ids
// next calls hurry.
func (r *registry) reserveHurried(ids []string, hurry func()) (before departures, free func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := make(chan struct{})
	before = r.departed(ids...)
	reserved := &departure{before, hurry, done}
	for _, id := range ids {
		r.departing[id] = reserved
	}
	return before, func() { close(done) }
}

// all are the sessions that have one of these ids, and all ids that they have.
func (r *registry) all(ids []string) (sessions []*Session, known []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if s, ok := r.byID[id]; ok && !slices.Contains(sessions, s) {
			sessions = append(sessions, s)
		}
	}
	for id, s := range r.byID {
		if slices.Contains(sessions, s) {
			known = append(known, id)
		}
	}
	slices.Sort(known)
	return sessions, known
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
