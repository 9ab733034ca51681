package adapter

import (
	"sync"
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/login"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// logins are the logins of an agent, and what they mean for its droids: one that was
// started before a login may not know of it.
type logins struct {
	mu     sync.Mutex
	seen   int                   // how many logins there were
	droids map[*droid.Client]int // how many there had been when it was started; −1: it has no login
	status string                // the kind that the editor was told last
}

// noLogin marks a droid whose turn failed for want of a login.
const noLogin = -1

// count is how many logins there were.
func (l *logins) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// started notes a droid that was started when there had been this many logins.
func (l *logins) started(client *droid.Client, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.droids == nil {
		l.droids = make(map[*droid.Client]int)
	}
	for other := range l.droids {
		select {
		case <-other.Exited():
			delete(l.droids, other)
		default:
		}
	}
	l.droids[client] = count
}

// lacking notes that a droid has no login.
func (l *logins) lacking(client *droid.Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.droids[client]; known {
		l.droids[client] = noLogin
	}
}

// age tells whether a droid is from before the last login, and whether it is known to
// have no login.
func (l *logins) age(client *droid.Client) (old, lacks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, known := l.droids[client]
	return known && count < l.seen, known && count == noLogin
}

// told is the kind that the editor was told last, "" for none.
func (l *logins) told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// startDroid starts a droid by start and keeps account of it.
func (a *Agent) startDroid(start func() (*droid.Client, error)) (*droid.Client, error) {
	count := a.logins.count()
	client, err := start()
	if err == nil {
		a.droids.Add(client)
		a.logins.started(client, count)
	}
	return client, err
}

// loggedIn takes up a login that droid says it has done: droids from before it are
// replaced, those that rest at once, the others before their next prompt.
func (a *Agent) loggedIn(method string) {
	a.logins.mu.Lock()
	a.logins.seen++
	a.logins.mu.Unlock()
	if method == login.APIKey {
		a.tellAuth(protocol.AuthStatus{Kind: "api_key", Label: "Factory API key", Detail: "FACTORY_API_KEY"})
	} else {
		a.tellAuth(protocol.AuthStatus{Kind: "account", Label: "Factory account"})
	}
	for _, s := range a.sessions.List() {
		s.post(s.renewIdle)
	}
	a.spare.Renew()
}

// tellAuth tells the editor as whom droid works, where that has changed.
func (a *Agent) tellAuth(status protocol.AuthStatus) {
	a.logins.mu.Lock()
	news := a.logins.status != status.Kind
	a.logins.status = status.Kind
	a.logins.mu.Unlock()
	if news {
		a.notify(protocol.AuthStatusUpdate, protocol.AuthStatusParams{AuthStatus: status})
	}
}

// renewIdle ends a droid from before the last login, if the session rests. The next
// prompt starts another one. A droid that has a process running in the background, or
// lets the user log in to an MCP server, is kept for now.
func (s *Session) renewIdle() {
	client := s.proc.client()
	if client == nil || s.ended || s.busy() || !s.prompts.machine.Idle() || s.line.Wanted(needCalls) || s.dialog.isOpen() {
		return
	}
	if s.mustRenew(client) {
		s.log.Info("droid was started before the last login and ends")
		s.leave()
	}
}

// mustRenew reports whether a droid is to be replaced before it gets another prompt: it
// has no login, or it is from before the last login and nothing would be lost.
func (s *Session) mustRenew(client *droid.Client) bool {
	old, lacks := s.agent.logins.age(client)
	return lacks || old && !client.HasChildren() && !s.servers.LogsIn(time.Now())
}

// renewed calls then when the droid of a prompt that begins is not one that must be
// replaced.
func (s *Session) renewed(then func()) {
	client := s.proc.client()
	if client == nil || s.proc.dying() || !s.mustRenew(client) {
		then()
		return
	}
	s.when("the prompt", func() {
		if s.proc.client() == client && !s.proc.dying() {
			s.log.Info("droid does not know of a login and is replaced")
			s.leave()
		}
		then()
	}, needCalls)
}

// heedLogin learns from the end of a turn whether droid has a login.
func (s *Session) heedLogin(ev quirks.TurnEnded) {
	switch {
	case ev.Outcome == quirks.Failed && ev.Failure != nil && isLoginFailure(ev.Failure):
		s.agent.logins.lacking(s.proc.client())
		s.agent.tellAuth(protocol.AuthStatus{Kind: authNone, Label: "Not logged in"})
	case ev.Outcome == quirks.Completed && s.agent.logins.told() == authNone && s.factoryModel():
		// The user has logged in elsewhere.
		s.agent.tellAuth(protocol.AuthStatus{Kind: "external", Label: "droid's own login"})
	}
}

// authNone is the kind of status without a login.
const authNone = "none"

// factoryModel reports whether the session's model is known as one that needs a login.
func (s *Session) factoryModel() bool {
	settings := s.options.Settings()
	if settings.ModelID == nil {
		return false
	}
	for _, m := range s.options.Models() {
		if m.ID == *settings.ModelID {
			return !m.IsCustom
		}
	}
	return false
}
