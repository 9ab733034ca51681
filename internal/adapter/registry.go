package adapter

import (
	"context"
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

// registry is the open sessions of an agent, and the requests that are about them.
type registry struct {
	mu      sync.Mutex
	closing bool                // no session is opened any more
	byID    map[string]*Session // by each of their ids
	line    []*place            // requests that are to take effect, and who uses the files of sessions; oldest first
	moved   chan struct{}       // closed with each change of these, and then another one
	running sync.WaitGroup      // the sessions' owners
}

func newRegistry() *registry {
	return &registry{byID: make(map[string]*Session), moved: make(chan struct{})}
}

// stay is what a session needs to leave its ids to a later one.
type stay struct {
	polite context.Context    // a process that leaves may take its time until this ends
	hurry  context.CancelFunc // ends polite
}

func newStay() stay {
	var s stay
	s.polite, s.hurry = context.WithCancel(context.Background())
	return s
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
// returns and starts that session's owner. r is locked.
func (r *registry) take(ids []string, make func() *Session) (s *Session, known bool) {
	for _, id := range ids {
		if s, known := r.byID[id]; known {
			return s, true
		}
	}
	s = make()
	for _, id := range ids {
		r.byID[id] = s
	}
	r.running.Go(func() {
		s.run()
		r.gone(s)
	})
	return s, false
}

// begin registers a session that droid has just opened, and starts its owner.
func (r *registry) begin(s *Session) *acp.RequestError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return errEnding()
	}
	if _, known := r.take([]string{s.id}, func() *Session { return s }); known {
		return internalError("session_taken", "droid calls the new session "+s.id+", which is open already; try again")
	}
	return nil
}

// claim makes id one more id of a session. It reports false when that would open
// a session of droid's twice.
func (r *registry) claim(s *Session, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	uses := func(p *place) bool { return p.keeps && slices.Contains(p.ids, id) }
	leaving := slices.IndexFunc(r.line, func(p *place) bool { return p.leaver == s })
	other, taken := r.byID[id]
	switch {
	case taken:
		return other == s
	case slices.ContainsFunc(r.line, uses):
		return false
	case leaving >= 0: // it is being closed
		r.line[leaving].ids = append(r.line[leaving].ids, id)
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
func (r *registry) forget(s *Session) { r.change(func() { r.forgets(s) }) }

// forgets is forget while r is locked.
func (r *registry) forgets(s *Session) {
	_, ids := r.all(nil, s)
	if len(ids) == 0 {
		return
	}
	r.line = slices.Insert(r.line, 0, &place{of: r, ids: ids, keeps: true, hurry: s.hurry, leaver: s})
	for _, id := range ids {
		delete(r.byID, id)
	}
}

// gone frees the ids of a session whose owner has ended.
func (r *registry) gone(s *Session) {
	r.change(func() {
		r.forgets(s)
		r.line = slices.DeleteFunc(r.line, func(p *place) bool { return p.leaver == s })
	})
}

// all are these sessions and those that have one of these ids, and all ids that they have.
// r is locked.
func (r *registry) all(ids []string, sessions ...*Session) (all []*Session, known []string) {
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

// close makes the registry refuse new sessions and requests from now on.
func (r *registry) close() { r.change(func() { r.closing = true }) }

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
