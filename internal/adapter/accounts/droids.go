package accounts

import (
	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/login"
	"droid-acp/internal/quirks"
)

// Droid is a process of droid's. One that was started before a login may not know of it.
type Droid interface {
	Exited() <-chan struct{}
}

// noLogin marks a droid whose turn failed for want of a login.
const noLogin = -1

// Logins returns how many logins there were.
func (a *Accounts) Logins() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

// Started takes a droid that was started after so many Logins.
func (a *Accounts) Started(d Droid, logins int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for other := range a.droids {
		select {
		case <-other.Exited():
			delete(a.droids, other)
		default:
		}
	}
	a.droids[d] = logins
}

// Age reports whether a droid is from before the last login, and whether it must not get another
// prompt: it is known to have no login, or Revoked.
func (a *Accounts) Age(d Droid) (old, lacks bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen, known := a.droids[d]
	return known && seen < a.seen, known && (seen == noLogin || a.isRevoked(seen))
}

// Revoke revokes the droids that were started until now, since they have keys that they must not use
// any more, or lack some.
func (a *Accounts) Revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen++
	a.revoked = a.seen
}

// Revoked reports whether a droid is revoked.
func (a *Accounts) Revoked(d Droid) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen, known := a.droids[d]
	return known && a.isRevoked(seen)
}

// isRevoked reports whether a droid is revoked that was started after so many logins. The caller holds mu.
func (a *Accounts) isRevoked(seen int) bool { return a.revoked > 0 && seen < a.revoked }

// Status returns the login with which droid works, as far as it was seen; the zero value before that.
func (a *Accounts) Status() protocol.AuthStatus {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

// loggedIn takes up a login that droid says it has done.
func (a *Accounts) loggedIn(method string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen++
	if method == login.APIKey {
		a.tellNews(protocol.AuthStatus{Kind: "api_key", Label: "Factory API key", Detail: "FACTORY_API_KEY"})
	} else {
		a.tellNews(protocol.AuthStatus{Kind: "account", Label: "Factory account"})
	}
}

// none is the kind of status without a login.
const none = "none"

// TurnEnded learns from the end of a turn whether the droid has a login. needed is whether the
// turn's model is known as one that needs it.
func (a *Accounts) TurnEnded(d Droid, ev quirks.TurnEnded, needed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ev.Outcome == quirks.Failed && ev.Failure != nil && ev.Failure.WantsLogin():
		if _, known := a.droids[d]; known {
			a.droids[d] = noLogin
		}
		a.tellNews(protocol.AuthStatus{Kind: none, Label: "Not logged in"})
	case ev.Outcome == quirks.Completed && needed && a.status.Kind == none:
		// The user has logged in elsewhere.
		a.tellNews(protocol.AuthStatus{Kind: "external", Label: "droid's own login"})
	}
}

// tellNews reports the account that droid uses to the editor, if it has changed. The caller holds mu.
func (a *Accounts) tellNews(status protocol.AuthStatus) {
	if a.status.Kind != status.Kind {
		a.status = status
		a.tell(status)
	}
}
