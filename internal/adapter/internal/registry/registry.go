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
	// ErrTaken says that an id is that of an open session.
	ErrTaken = errors.New("the session is open already")
)

// Session is a session as the registry knows it.
type Session interface {
	comparable
	// Run is the session's loop. It returns when nothing of the session is left.
	Run()
	// ForceStop has a session that ends do so soon, as somebody waits for it. It does not block.
	ForceStop()
}

// Registry has sessions of type S. Make it with New. Its methods may be called from any
// goroutine.
type Registry[S Session] struct {
	mu      sync.Mutex
	closing bool           // no session is opened any more
	byID    map[string]S   // by each of their ids
	queue   []*Ticket[S]   // requests that are to act, and who uses the files of sessions; oldest first
	changed chan struct{}  // closed with each change of these, and then another one
	running sync.WaitGroup // the sessions' loops
}

// New makes a Registry without sessions.
func New[S Session]() *Registry[S] {
	return &Registry[S]{byID: make(map[string]S), changed: make(chan struct{})}
}

// unlock ends a change of the registry, and has those who wait look again.
func (r *Registry[S]) unlock() {
	close(r.changed)
	r.changed = make(chan struct{})
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
		r.queue = slices.DeleteFunc(r.queue, func(p *Ticket[S]) bool { return p.closing == s })
	})
}

// AddID makes id one more id of a session. It reports false when that would open
// a session of droid's twice.
func (r *Registry[S]) AddID(s S, id string) bool {
	r.mu.Lock()
	defer r.unlock()
	return r.addID(s, id)
}

func (r *Registry[S]) addID(s S, id string) bool {
	uses := func(p *Ticket[S]) bool { return p.usesFiles && slices.Contains(p.ids, id) }
	leaving := slices.IndexFunc(r.queue, func(p *Ticket[S]) bool { return p.closing == s })
	other, taken := r.byID[id]
	switch {
	case other != s && (taken || slices.ContainsFunc(r.queue, uses)):
		return false
	case leaving >= 0: // it is being closed
		r.queue[leaving].ids = append(r.queue[leaving].ids, id)
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
	r.queue = slices.Insert(r.queue, 0, &Ticket[S]{of: r, ids: ids, usesFiles: true, closing: s})
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
	for _, p := range r.queue {
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
	for _, p := range r.queue {
		if p.forceStop != nil {
			p.forceStop()
		}
	}
}

// Go runs f in a goroutine. Waiting for the sessions includes it.
func (r *Registry[S]) Go(f func()) {
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

// Waits says which requests wait to act at the session that has an id, for what and since when.
func (r *Registry[S]) Waits(id string, now time.Time) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.queue {
		if !p.usesFiles && r.isAbout(p, id) && (p.needsIDs || len(r.holders(p)) > 0) {
			lines = append(lines, p.describe(now))
		}
	}
	return lines
}
