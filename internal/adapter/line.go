package adapter

import (
	"context"
	"fmt"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/wire"
)

// A request that names a session takes its place in the registry's line by the id that its
// own line from the editor has in it. Then the next line may come, and the request reads
// the disk, where it must, beside all others: the ids of a thread, the directory. It acts
// when no earlier request that is about the same session is still to act. So what an
// editor asked first takes effect first, and a disk that hangs holds up only what was
// asked of the same session after it.

// place is a request's place in the line. All its fields are guarded by registry.mu.
type place struct {
	of        *registry
	ids       []string // of the session that it is about, as far as they are known
	opens     bool     // it may open a session or touch its files, so it waits for those who use these
	looks     bool     // it opens, and does not know all its ids yet
	keeps     bool     // it has taken effect and still uses the session's files
	cancelled bool     // by session/cancel, before it took effect
	hurry     func()   // has one that keeps files end soon; nil for one that cannot
	leaver    *Session // the session that was forgotten and whose owner has not ended yet; nil for a request
	since     time.Time
	method    string
}

// arrive gives a call its place behind all that came before, and lets the next line come.
func (a *Agent) arrive(c *wire.Call, id string, opens bool) *place {
	r := a.sessions
	r.mu.Lock()
	defer c.Ordered()
	defer r.mu.Unlock()
	p := &place{of: r, ids: []string{id}, opens: opens, looks: opens, since: time.Now(), method: c.Method}
	r.line = append(r.line, p)
	return p
}

// turn waits until nothing that was asked before is still to take effect, and then does
// act, during which nothing else changes. The error says that the call was cancelled, or
// that the agent ends; act was not done then.
func (p *place) turn(ctx context.Context, act func()) *acp.RequestError {
	for {
		moved, err := p.of.tryTurn(p, act)
		if moved == nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return requestCancelled()
		}
	}
}

// tryTurn is turn without waiting: it returns a channel that is closed when it is worth
// another try, nil when there is nothing to wait for.
func (r *registry) tryTurn(p *place, act func()) (moved <-chan struct{}, err *acp.RequestError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case p.cancelled && p.method == acp.AgentMethodSessionPrompt:
		return nil, requestCancelled()
	case r.closing:
		return nil, errEnding()
	}
	if r.isHeld(p) {
		return r.moved, nil
	}
	act()
	return nil, nil
}

// isHeld reports whether an earlier place keeps p waiting, and hurries those that can be.
// r is locked.
func (r *registry) isHeld(p *place) (held bool) {
	for _, before := range r.line {
		if before == p {
			return held
		}
		if !r.holds(before, p) {
			continue
		}
		held = true
		if before.hurry != nil {
			before.hurry()
		}
	}
	return held
}

// holds reports whether p waits for an earlier place. One that names a session which is not
// known waits for those that may be about to open it under another id. r is locked.
func (r *registry) holds(before, p *place) bool {
	if before.keeps && !p.opens {
		return false
	}
	if before.looks && !p.opens && r.byID[p.ids[0]] == nil {
		return true
	}
	return slices.ContainsFunc(p.ids, func(id string) bool { return r.isAbout(before, id) })
}

// isAbout reports whether a place is about the session that has an id. r is locked.
func (r *registry) isAbout(p *place, id string) bool {
	s := r.byID[id]
	return slices.ContainsFunc(p.ids, func(other string) bool { return other == id || s != nil && r.byID[other] == s })
}

// knows notes all ids of the thread that the place is about.
func (p *place) knows(ids []string) {
	p.of.change(func() {
		p.looks = false
		for _, id := range ids {
			if !slices.Contains(p.ids, id) {
				p.ids = append(p.ids, id)
			}
		}
	})
}

// keep notes that the request has taken effect and uses the files of its sessions until it
// leaves. Who wants them next calls hurry, which may be nil. It is called in turn.
func (p *place) keep(hurry func()) { p.keeps, p.hurry = true, hurry }

// leave gives up the place: the request has taken effect, or failed.
func (p *place) leave() {
	p.of.change(func() { p.of.line = slices.DeleteFunc(p.of.line, func(other *place) bool { return other == p }) })
}

// alone returns when nobody else uses the files that the place is about.
func (p *place) alone() {
	for {
		p.of.mu.Lock()
		held, moved := p.of.isHeld(p), p.of.moved
		p.of.mu.Unlock()
		if !held {
			return
		}
		<-moved
	}
}

// cancelIfLate has the session's owner do the cancel that came while a prompt was on its way.
func (p *place) cancelIfLate(s *Session) {
	p.of.mu.Lock()
	cancelled := p.cancelled
	p.of.mu.Unlock()
	if cancelled {
		s.cancelPrompts()
	}
}

// cancel cancels the prompts that are on their way to the session that has an id, and
// finds that session.
func (r *registry) cancel(id string) (s *Session, known bool) {
	r.change(func() {
		s, known = r.byID[id]
		for _, p := range r.line {
			if r.isAbout(p, id) {
				p.cancelled = true
			}
		}
	})
	return s, known
}

// tell says which requests are still to take effect at the session that has an id.
func (r *registry) tell(id string, now time.Time) (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.line {
		missing := "what was asked before it"
		if p.looks {
			missing = "the disk"
		}
		if p.leaver == nil && !p.keeps && r.isAbout(p, id) {
			lines = append(lines, fmt.Sprintf("%s waits for %s since %v", p.method, missing, now.Sub(p.since).Round(time.Second)))
		}
	}
	return lines
}

// change changes the line, and has those who wait look again.
func (r *registry) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.moved)
	r.moved = make(chan struct{})
}

// reach finds the session that a call names when its turn has come. The caller leaves the
// place when the call has taken effect.
func (a *Agent) reach(c *wire.Call, id string) (*Session, *place, *acp.RequestError) {
	if err := checkSessionID(id); err != nil {
		return nil, nil, err
	}
	p, s := a.arrive(c, id, false), (*Session)(nil)
	err := p.turn(c.Context, func() { s = a.sessions.byID[id] })
	if err == nil && s == nil {
		err = unknownSession(id)
	}
	if err != nil {
		p.leave()
		return nil, nil, err
	}
	return s, p, nil
}
