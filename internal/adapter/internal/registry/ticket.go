package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrCancelled says that a request was taken back before it acted.
var ErrCancelled = errors.New("the request was cancelled")

// Kind is the effect of a request on the session that it names.
type Kind int

const (
	// Uses is something of an open session.
	Uses Kind = iota
	// Prompts is Uses, and is given up when the session's prompts are cancelled.
	Prompts
	// Opens is one that may open the session, or touch its files, so it waits for those who
	// use these. It does not know all ids of the session at first, see SetIDs.
	Opens
)

// Ticket is a request's place among all. Its methods may be called from any goroutine, but for
// those that say that they are called in Lock.
type Ticket[S Session] struct {
	of        *Registry[S]
	ids       []string // known ids of its session
	kind      Kind
	needsIDs  bool // it opens, and does not know all its ids yet
	usesFiles bool // it has acted and still uses the session's files
	cancelled bool
	closing   S               // the session that was forgotten and which has not ended yet; none for a request
	graceful  context.Context // of one that keeps files, see Graceful
	forceStop context.CancelFunc
	name      string
	since     time.Time
}

// Enqueue gives a request that names a session its place behind all that came before. name is
// the request's, for Waits. It leaves its place in the end.
func (r *Registry[S]) Enqueue(id, name string, kind Kind) *Ticket[S] {
	p := &Ticket[S]{of: r, ids: []string{id}, kind: kind, needsIDs: kind == Opens, name: name, since: time.Now()}
	r.mu.Lock()
	defer r.unlock()
	r.queue = append(r.queue, p)
	return p
}

// ID is the id that the request names.
func (p *Ticket[S]) ID() string { return p.ids[0] }

// Lock waits until nothing that was asked before is still to act. From then until Unlock, which must follow, nothing else
// changes. It returns ErrCancelled or ErrClosed when the turn does not come.
func (p *Ticket[S]) Lock(ctx context.Context) error {
	for {
		moved, err := p.try()
		if moved == nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ErrCancelled
		}
	}
}

// try is Lock without waiting: it returns a channel that is closed when it is worth another
// try, nil when there is nothing to wait for.
func (p *Ticket[S]) try() (moved <-chan struct{}, err error) {
	r := p.of
	r.mu.Lock()
	switch {
	case p.cancelled && p.kind == Prompts:
		err = ErrCancelled
	case r.closing:
		err = ErrClosed
	case r.isHeld(p):
		moved = r.changed
	default:
		return nil, nil
	}
	r.mu.Unlock()
	return moved, err
}

// Unlock ends the turn: the request may hold up others no longer.
func (p *Ticket[S]) Unlock() { p.of.unlock() }

// isHeld reports whether an earlier place keeps p waiting, and hurries those that can be.
func (r *Registry[S]) isHeld(p *Ticket[S]) (held bool) {
	for _, before := range r.holders(p) {
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

// isClosing reports whether a place is a session's that leaves.
func (p *Ticket[S]) isClosing() bool {
	var none S
	return p.closing != none
}

// holders are the earlier places that keep p waiting.
func (r *Registry[S]) holders(p *Ticket[S]) (holders []*Ticket[S]) {
	for _, before := range r.queue {
		if before == p {
			break
		}
		if r.holds(before, p) {
			holders = append(holders, before)
		}
	}
	return holders
}

// holds reports whether p waits for an earlier place. One that names a session which is not
// known waits for those that may be about to open it under another id.
func (r *Registry[S]) holds(before, p *Ticket[S]) bool {
	_, known := r.byID[p.ids[0]]
	switch {
	case p.kind != Opens && before.usesFiles:
		return false
	case p.kind != Opens && before.needsIDs && !known:
		return true
	}
	return slices.ContainsFunc(p.ids, func(id string) bool { return r.isAbout(before, id) })
}

// isAbout reports whether a place is about the session that has an id.
func (r *Registry[S]) isAbout(p *Ticket[S], id string) bool {
	s, known := r.byID[id]
	return slices.ContainsFunc(p.ids, func(other string) bool { return other == id || known && r.byID[other] == s })
}

// SetIDs notes all ids of the thread that the request is about.
func (p *Ticket[S]) SetIDs(ids []string) {
	p.of.mu.Lock()
	defer p.of.unlock()
	p.needsIDs = false
	p.add(ids)
}

func (p *Ticket[S]) add(ids []string) {
	for _, id := range ids {
		if !slices.Contains(p.ids, id) {
			p.ids = append(p.ids, id)
		}
	}
}

// Open is the open session that the request names by its first id, if there is one. It is
// called in Lock.
func (p *Ticket[S]) Open() (s S, known bool) {
	s, known = p.of.byID[p.ids[0]]
	return s, known
}

// All are the open sessions that the request is about. It is then about all their ids. It is
// called in Lock.
func (p *Ticket[S]) All() (sessions []S) {
	for _, id := range p.ids {
		if s, open := p.of.byID[id]; open && !slices.Contains(sessions, s) {
			sessions = append(sessions, s)
		}
	}
	for _, s := range sessions {
		p.add(p.of.idsOf(s))
	}
	return sessions
}

// Find finds the session that has one of these ids; an earlier one counts before a later one. It is called in Lock.
func (p *Ticket[S]) Find(ids []string) (s S, known bool) {
	for _, id := range ids {
		if s, known = p.of.byID[id]; known {
			break
		}
	}
	return s, known
}

// AddIDs makes these ids more ids of an open session, but for those that another one has. It is called in Lock.
func (p *Ticket[S]) AddIDs(s S, ids []string) {
	for _, id := range ids {
		p.of.addID(s, id)
	}
}

// Begin registers a session under these ids, which are not in use, and runs its loop. It is called in Lock.
func (p *Ticket[S]) Begin(s S, ids []string) { p.of.begin(s, ids) }

// UseFiles notes that the request has acted and uses the files of its sessions until it leaves;
// open ones among them are forgotten. It is called in Lock.
func (p *Ticket[S]) UseFiles(open ...S) (ids []string) {
	for _, s := range open {
		p.of.forget(s)
	}
	p.usesFiles = true
	p.graceful, p.forceStop = context.WithCancel(context.Background())
	return p.ids
}

// Graceful ends when somebody wants the files that the request keeps, when it has left, and with the agent: until then it may take its time.
func (p *Ticket[S]) Graceful() context.Context { return p.graceful }

// WaitForFiles waits until no other request uses the files that the request keeps.
func (p *Ticket[S]) WaitForFiles() {
	for {
		p.of.mu.Lock()
		held, moved := p.of.isHeld(p), p.of.changed
		p.of.mu.Unlock()
		if !held {
			return
		}
		<-moved
	}
}

// Release gives up the place: the request has acted, or failed. It may be called again.
func (p *Ticket[S]) Release() {
	p.of.mu.Lock()
	defer p.of.unlock()
	if p.of.queue = slices.DeleteFunc(p.of.queue, func(other *Ticket[S]) bool { return other == p }); p.forceStop != nil {
		p.forceStop()
	}
}

// WasCancelled reports whether the session's prompts were cancelled since the request came.
func (p *Ticket[S]) WasCancelled() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	return p.cancelled
}

func (p *Ticket[S]) describe(now time.Time) string {
	missing := "what was asked before it"
	if p.needsIDs {
		missing = "the disk"
	}
	return fmt.Sprintf("%s waits for %s since %v", p.name, missing, now.Sub(p.since).Round(time.Second))
}
