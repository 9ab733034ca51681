// Package accounts keeps account of an agent's logins: the ways to log in, the login that is
// under way and what the editor is shown of it, which droids may not know of the last one, and
// as whom droid works.
package accounts

import (
	"context"
	"encoding/json"
	"sync"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/droid/login"
)

// Accounts are the logins of an agent. Make them with New. Their methods may be called from
// any goroutine.
type Accounts struct {
	tell func(protocol.AuthStatus)

	mu      sync.Mutex
	last    *attempt            // nil for none
	seen    int                 // how many logins there were
	revoked int                 // droids that were started after fewer logins are revoked; 0 for none
	droids  map[Droid]int       // how many there had been when it was started; noLogin: it has none
	status  protocol.AuthStatus // last sent to the client
}

// New returns the accounts of an agent that has seen no login. tell reports the account that droid uses to the editor; it must not block.
func New(tell func(protocol.AuthStatus)) *Accounts {
	return &Accounts{tell: tell, droids: make(map[Droid]int)}
}

// attempt is one login.
type attempt struct {
	ctx     context.Context // ended when the login is over, or is to end
	over    chan struct{}   // closed when its droid is gone
	address string          // where the user is to log in, "" while that is not known
}

// UnderWayError says that another login is under way, which the user can finish.
type UnderWayError struct {
	Address string // where, "" while that is not known
}

// Error says how to finish it.
func (e *UnderWayError) Error() string {
	at := "it has told no address yet"
	if e.Address != "" {
		at = "confirm the code at " + e.Address
	}
	return "droid logs in for another request already: " + at + ", or cancel that request and log in again"
}

// begin gives a login of this context its turn, which only one has at a time. before is
// closed when the one before is over, which is to end already; it is nil for none.
func (a *Accounts) begin(ctx context.Context) (at *attempt, before <-chan struct{}, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last != nil {
		if a.last.ctx.Err() == nil {
			return nil, nil, &UnderWayError{a.last.address}
		}
		before = a.last.over
	}
	a.last = &attempt{ctx: ctx, over: make(chan struct{})}
	return a.last, before, nil
}

// Login starts a droid with start, lets it log in by the method that the call asks for, and returns its result when that droid is gone.
// Droids from before a login are old then, see Age. The error is an *UnderWayError or one of login.Do's.
func (a *Accounts) Login(c *wire.Call, start login.Start, method string, e Editor) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(c.Context)
	at, before, err := a.begin(ctx)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	defer close(at.over)
	defer cancel(nil)
	c.Async()
	if before != nil {
		<-before // some seconds: its droid was asked to end
	}
	s := &shown{Editor: e, accounts: a, attempt: at, request: c.Response.ID(), end: cancel}
	shows, hide := context.WithCancel(ctx)
	s.shows = shows
	defer s.dialogs.Wait()
	defer hide()
	result, err := login.Do(ctx, start, method, login.Listener{Capabilities: e.Client.Raw, Tell: s.tell, Ask: s.ask, Link: s.link}, e.Log)
	if err == nil {
		a.loggedIn(method)
	}
	return result, err
}

// Wait returns when no droid logs in any more. It is called when the calls have ended.
func (a *Accounts) Wait() {
	a.mu.Lock()
	at := a.last
	a.mu.Unlock()
	if at != nil {
		<-at.over
	}
}
