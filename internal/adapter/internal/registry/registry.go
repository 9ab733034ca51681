// Package registry holds the open sessions of an agent by each of their IDs, and queues the requests that name them in the order of their
// arrival.
//
// A request is queued under the ID in its own line (Enqueue). Then the next line is read, and the request reads what it needs from the disk,
// such as the IDs of a thread, concurrently with all others. It takes effect (Ticket.Lock) when no earlier request for the same session is
// still to take effect. So requests take effect in order, and a disk that hangs delays only later requests for the same session.
package registry

import (
	"errors"
	"slices"
	"sync"
	"time"
)

var (
	// ErrClosed reports that the agent is ending.
	ErrClosed = errors.New("the agent ends")
	// ErrTaken reports that an open session has the ID.
	ErrTaken = errors.New("the session is open already")
)

// Session is a session as the registry knows it.
type Session interface {
	comparable
	// Run runs the session. It returns when the session has released everything.
	Run()
	// ForceStop makes a session that is ending end soon, because somebody waits for it. It does not block.
	ForceStop()
}

// Registry has sessions of type S. Make it with New. Its methods may be called from any
// goroutine.
type Registry[S Session] struct {
	mu      sync.Mutex
	closing bool           // Close was called
	byID    map[string]S   // by each of their IDs
	queue   []*Ticket[S]   // requests that are to take effect, and those that use the files of sessions, the oldest first
	changed chan struct{}  // closed and replaced when one of these changes
	running sync.WaitGroup // the sessions' loops
}

// New makes a Registry without sessions.
func New[S Session]() *Registry[S] {
	return &Registry[S]{byID: make(map[string]S), changed: make(chan struct{})}
}

// unlock unlocks mu after a change, and wakes the waiters.
func (r *Registry[S]) unlock() {
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
}

// Find returns the open session that has an ID.
func (r *Registry[S]) Find(id string) (s S, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known = r.byID[id]
	return s, known
}

// List returns the open sessions.
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
		r.queue = slices.DeleteFunc(r.queue, func(t *Ticket[S]) bool { return t.closing == s })
	})
}

// AddID adds an ID to a session. It returns false if that would open one of droid's
// sessions twice.
func (r *Registry[S]) AddID(s S, id string) bool {
	r.mu.Lock()
	defer r.unlock()
	return r.addID(s, id)
}

func (r *Registry[S]) addID(s S, id string) bool {
	uses := func(t *Ticket[S]) bool { return t.usesFiles && slices.Contains(t.ids, id) }
	leaving := slices.IndexFunc(r.queue, func(t *Ticket[S]) bool { return t.closing == s })
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

// Release removes an ID from a session.
func (r *Registry[S]) Release(s S, id string) {
	r.mu.Lock()
	defer r.unlock()
	if r.byID[id] == s {
		delete(r.byID, id)
	}
}

// Forget removes a session and all its IDs from the registry. The session runs until it is stopped. A request that opens one of the IDs
// waits for its end.
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

// Cancel marks the tickets of a session as cancelled, which ends waiting prompts (see Prompts), and returns the session.
func (r *Registry[S]) Cancel(id string) (s S, known bool) {
	r.mu.Lock()
	defer r.unlock()
	for _, t := range r.queue {
		t.cancelled = t.cancelled || r.isAbout(t, id)
	}
	s, known = r.byID[id]
	return s, known
}

// Close makes the registry reject sessions and requests from now on, and those that use files end soon.
func (r *Registry[S]) Close() {
	r.mu.Lock()
	defer r.unlock()
	r.closing = true
	for _, t := range r.queue {
		if t.forceStop != nil {
			t.forceStop()
		}
	}
}

// Go runs f in a goroutine for which Wait waits, after Close in the caller's.
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

// Wait waits until all sessions have ended.
func (r *Registry[S]) Wait() { r.running.Wait() }

// Waits describes the requests that wait to take effect on the session with this ID: for what, and since when.
func (r *Registry[S]) Waits(id string, now time.Time) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.queue {
		if !t.usesFiles && r.isAbout(t, id) && (t.needsIDs || len(r.holders(t)) > 0) {
			lines = append(lines, t.describe(now))
		}
	}
	return lines
}
