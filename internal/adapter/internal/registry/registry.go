// Package registry holds the open sessions of an agent by each of their ids, and the requests that name them, in the order of their arrival.
//
// A request takes its place by the id in its own line. Then the next line may come, and the request reads the disk, if it must, concurrently
// with all others: the ids of a thread, a directory. It takes effect when no earlier request for the same session is still to take effect. So
// requests take effect in order, and a disk that hangs delays only later requests for the same session.
package registry

import (
	"errors"
	"slices"
	"sync"
	"time"
)

var (
	// ErrClosed says that the agent ends.
	ErrClosed = errors.New("the agent ends")
	// ErrTaken is the error for the id of an open session.
	ErrTaken = errors.New("the session is open already")
)

// Session is a session as the registry knows it.
type Session interface {
	comparable
	// Run is the session's loop. It returns when nothing of the session is left.
	Run()
	// Hurry has a session that ends do so soon, as somebody waits for it. It does not block.
	Hurry()
}

// Registry has sessions of type S. Make it with New. Its methods may be called from any
// goroutine.
type Registry[S Session] struct {
	mu      sync.Mutex
	closing bool           // no session is opened any more
	byID    map[string]S   // by each of their ids
	line    []*Ticket[S]   // requests that are to act, and who uses the files of sessions; oldest first
	moved   chan struct{}  // closed with each change of these, and then another one
	running sync.WaitGroup // the sessions' loops
}

// New makes a Registry without sessions.
func New[S Session]() *Registry[S] {
	return &Registry[S]{byID: make(map[string]S), moved: make(chan struct{})}
}

// unlock ends a change of the registry, and has those who wait look again.
func (r *Registry[S]) unlock() {
	close(r.moved)
	r.moved = make(chan struct{})
	r.mu.Unlock()
}

// Find returns the open session that has an id.
func (r *Registry[S]) Find(id string) (s S, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known = r.byID[id]
	return s, known
}

// List are the open sessions.
func (r *Registry[S]) List() (sessions []S) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.byID {
		if !slices.Contains(sessions, s) {
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// Begin registers a session, and runs its loop.
func (r *Registry[S]) Begin(s S, id string) error {
	r.mu.Lock()
	defer r.unlock()
	if r.closing {
		return ErrClosed
	}
	if _, taken := r.byID[id]; taken {
		return ErrTaken
	}
	r.begin(s, []string{id})
	return nil
}

func (r *Registry[S]) begin(s S, ids []string) {
	for _, id := range ids {
		r.byID[id] = s
	}
	r.running.Go(func() {
		s.Run()
		r.mu.Lock()
		defer r.unlock()
		r.forget(s)
		r.line = slices.DeleteFunc(r.line, func(p *Ticket[S]) bool { return p.leaver == s })
	})
}

// Claim makes id one more id of a session. It reports false when that would open
// a session of droid's twice.
func (r *Registry[S]) Claim(s S, id string) bool {
	r.mu.Lock()
	defer r.unlock()
	return r.claim(s, id)
}

func (r *Registry[S]) claim(s S, id string) bool {
	uses := func(p *Ticket[S]) bool { return p.keeps && slices.Contains(p.ids, id) }
	leaving := slices.IndexFunc(r.line, func(p *Ticket[S]) bool { return p.leaver == s })
	other, taken := r.byID[id]
	switch {
	case other != s && (taken || slices.ContainsFunc(r.line, uses)):
		return false
	case leaving >= 0: // it is being closed
		r.line[leaving].ids = append(r.line[leaving].ids, id)
	default:
		r.byID[id] = s
	}
	return true
}

// Release takes an id from a session again.
func (r *Registry[S]) Release(s S, id string) {
	r.mu.Lock()
	defer r.unlock()
	if r.byID[id] == s {
		delete(r.byID, id)
	}
}

// Forget removes a session from the registry under all its ids. It continues until it is stopped; a request that opens one of the ids waits
// for its end.
func (r *Registry[S]) Forget(s S) {
	r.mu.Lock()
	defer r.unlock()
	r.forget(s)
}

func (r *Registry[S]) forget(s S) {
	ids := r.idsOf(s)
	if len(ids) == 0 {
		return
	}
	r.line = slices.Insert(r.line, 0, &Ticket[S]{of: r, ids: ids, keeps: true, leaver: s})
	for _, id := range ids {
		delete(r.byID, id)
	}
}

func (r *Registry[S]) idsOf(s S) (ids []string) {
	for id, other := range r.byID {
		if other == s {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Cancel notes that the prompts which are on their way to a session are cancelled, and finds
// the session.
func (r *Registry[S]) Cancel(id string) (s S, known bool) {
	r.mu.Lock()
	defer r.unlock()
	for _, p := range r.line {
		p.cancelled = p.cancelled || r.isAbout(p, id)
	}
	s, known = r.byID[id]
	return s, known
}

// Close makes the registry refuse new sessions and requests from now on, and who keeps files hurry.
func (r *Registry[S]) Close() {
	r.mu.Lock()
	defer r.unlock()
	r.closing = true
	for _, p := range r.line {
		if p.hurry != nil {
			p.hurry()
		}
	}
}

// Beside runs f in a goroutine. Waiting for the sessions includes it.
func (r *Registry[S]) Beside(f func()) {
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

// Wait returns when all sessions have ended.
func (r *Registry[S]) Wait() { r.running.Wait() }

// Tell says which requests wait to act at the session that has an id, for what and since when.
func (r *Registry[S]) Tell(id string, now time.Time) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.line {
		if !p.keeps && r.isAbout(p, id) && (p.looks || len(r.holders(p)) > 0) {
			lines = append(lines, p.tell(now))
		}
	}
	return lines
}
