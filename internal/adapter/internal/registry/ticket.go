package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrCancelled reports that a request was cancelled before it took effect.
var ErrCancelled = errors.New("the request was cancelled")

// Kind is the effect of a request on the session that it names.
type Kind int

const (
	// Uses needs an open session.
	Uses Kind = iota
	// Prompts is Uses, and ends when the session's prompts are cancelled.
	Prompts
	// Opens may open the session or change its files, so it waits for those that
	// use them. It does not know all IDs of the session at first, see SetIDs.
	Opens
)

// Ticket is a request's position in the queue of all requests that name a session. Its methods may be
// called from any goroutine, except for those that must be called between Lock and Unlock.
type Ticket[S Session] struct {
	of        *Registry[S]
	ids       []string // known IDs of its session
	kind      Kind
	needsIDs  bool // it opens, and does not know all its IDs yet
	usesFiles bool // it has taken effect and still uses the session's files
	cancelled bool
	// closing is set on the ticket of a session that was forgotten and has not ended yet. No request has that ticket.
	closing   S
	graceful  context.Context // if it uses files, see Graceful
	forceStop context.CancelFunc
	name      string
	since     time.Time
}

// Enqueue adds a request that names a session to the queue. name describes the request in
// Waits. The caller must call Release.
func (r *Registry[S]) Enqueue(id, name string, kind Kind) *Ticket[S] {
	t := &Ticket[S]{of: r, ids: []string{id}, kind: kind, needsIDs: kind == Opens, name: name, since: time.Now()}
	r.mu.Lock()
	defer r.unlock()
	r.queue = append(r.queue, t)
	return t
}

// ID returns the ID that the request names.
func (t *Ticket[S]) ID() string { return t.ids[0] }

// Lock waits until all earlier requests for the session have taken effect, and locks the registry: nothing else changes until
// Unlock, which must follow. On ErrCancelled and ErrClosed it is not locked.
func (t *Ticket[S]) Lock(ctx context.Context) error {
	for {
		changed, err := t.try()
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ErrCancelled
		}
	}
}

// try is Lock without waiting: if it must wait, it returns a channel that is closed when
// another try is worthwhile.
func (t *Ticket[S]) try() (changed <-chan struct{}, err error) {
	r := t.of
	r.mu.Lock()
	switch {
	case t.cancelled && t.kind == Prompts:
		err = ErrCancelled
	case r.closing:
		err = ErrClosed
	case r.isHeld(t):
		changed = r.changed
	default:
		return nil, nil
	}
	r.mu.Unlock()
	return changed, err
}

// Unlock unlocks the registry. The request still delays later ones, until Release.
func (t *Ticket[S]) Unlock() { t.of.unlock() }

// isHeld reports whether t waits for an earlier ticket, and makes those end soon that can.
func (r *Registry[S]) isHeld(t *Ticket[S]) (held bool) {
	for _, before := range r.holders(t) {
		held = true
		switch {
		case before.isClosing():
			before.closing.ForceStop()
		case before.forceStop != nil:
			before.forceStop()
		}
	}
	return held
}

// isClosing reports whether the ticket belongs to a session that ends.
func (t *Ticket[S]) isClosing() bool {
	var none S
	return t.closing != none
}

// holders returns the earlier tickets that t waits for.
func (r *Registry[S]) holders(t *Ticket[S]) (holders []*Ticket[S]) {
	for _, before := range r.queue {
		if before == t {
			break
		}
		if r.holds(before, t) {
			holders = append(holders, before)
		}
	}
	return holders
}

// holds reports whether t waits for an earlier ticket. If the session that t names is
// not known, t also waits for requests that may open it under another ID.
func (r *Registry[S]) holds(before, t *Ticket[S]) bool {
	_, known := r.byID[t.ids[0]]
	switch {
	case t.kind != Opens && before.usesFiles:
		return false
	case t.kind != Opens && before.needsIDs && !known:
		return true
	}
	return slices.ContainsFunc(t.ids, func(id string) bool { return r.isAbout(before, id) })
}

// isAbout reports whether a ticket is about the session that has an ID.
func (r *Registry[S]) isAbout(t *Ticket[S], id string) bool {
	s, known := r.byID[id]
	return slices.ContainsFunc(t.ids, func(other string) bool { return other == id || known && r.byID[other] == s })
}

// SetIDs records all IDs of the thread that the request is about.
func (t *Ticket[S]) SetIDs(ids []string) {
	t.of.mu.Lock()
	defer t.of.unlock()
	t.needsIDs = false
	t.add(ids)
}

func (t *Ticket[S]) add(ids []string) {
	for _, id := range ids {
		if !slices.Contains(t.ids, id) {
			t.ids = append(t.ids, id)
		}
	}
}

// Open returns the open session that has the request's first ID. The caller must hold Lock.
func (t *Ticket[S]) Open() (s S, known bool) {
	s, known = t.of.byID[t.ids[0]]
	return s, known
}

// All returns the open sessions that the request is about, which from now on is about all of their IDs. The caller must
// hold Lock.
func (t *Ticket[S]) All() (sessions []S) {
	for _, id := range t.ids {
		if s, open := t.of.byID[id]; open && !slices.Contains(sessions, s) {
			sessions = append(sessions, s)
		}
	}
	for _, s := range sessions {
		t.add(t.of.idsOf(s))
	}
	return sessions
}

// Find returns the session that has one of these IDs, of several the one of the first. The caller must hold Lock.
func (t *Ticket[S]) Find(ids []string) (s S, known bool) {
	for _, id := range ids {
		if s, known = t.of.byID[id]; known {
			break
		}
	}
	return s, known
}

// AddIDs adds IDs to an open session, except for those of another session. The caller must hold Lock.
func (t *Ticket[S]) AddIDs(s S, ids []string) {
	for _, id := range ids {
		t.of.addID(s, id)
	}
}

// Begin registers a session under these IDs, which must not be in use, and runs its loop. The caller must hold Lock.
func (t *Ticket[S]) Begin(s S, ids []string) { t.of.begin(s, ids) }

// UseFiles records that the request has taken effect and uses the files of its sessions until Release.
// It forgets those of them that are open. The caller must hold Lock.
func (t *Ticket[S]) UseFiles(open ...S) (ids []string) {
	for _, s := range open {
		t.of.forget(s)
	}
	t.usesFiles = true
	t.graceful, t.forceStop = context.WithCancel(context.Background())
	return t.ids
}

// Graceful returns a context that ends when somebody waits for the files that the request uses, on Release, and with the agent:
// until then the request may take its time.
func (t *Ticket[S]) Graceful() context.Context { return t.graceful }

// WaitForFiles waits until no other request uses the files that the request uses.
func (t *Ticket[S]) WaitForFiles() {
	for {
		t.of.mu.Lock()
		held, changed := t.of.isHeld(t), t.of.changed
		t.of.mu.Unlock()
		if !held {
			return
		}
		<-changed
	}
}

// Release removes the request from the queue, because it has taken effect or failed. It may be called again.
func (t *Ticket[S]) Release() {
	t.of.mu.Lock()
	defer t.of.unlock()
	if t.of.queue = slices.DeleteFunc(t.of.queue, func(other *Ticket[S]) bool { return other == t }); t.forceStop != nil {
		t.forceStop()
	}
}

// WasCancelled reports whether the session's prompts were cancelled after the request had arrived.
func (t *Ticket[S]) WasCancelled() bool {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	return t.cancelled
}

func (t *Ticket[S]) describe(now time.Time) string {
	missing := "what was asked before it"
	if t.needsIDs {
		missing = "the disk"
	}
	return fmt.Sprintf("%s waits for %s since %v", t.name, missing, now.Sub(t.since).Round(time.Second))
}
