package session

import (
	"time"

	"droid-acp/internal/droid"
	"droid-acp/internal/render"
)

// LoggedIn makes the session replace a droid from before the last login once it is idle. It does not wait.
func (s *Session) LoggedIn() { s.mu.Post(s.renewIdle) }

// Announce shows the user something that belongs to no session, if the session is open: a title in one line to a client that shows notices,
// else the text as a message. It does not wait.
func (s *Session) Announce(title, text string) {
	s.mu.Post(func() {
		if s.out.Opened() {
			s.update(render.Announcement{Title: title, Text: text})
		}
	})
}

// renewIdle ends a droid from before the last login, if the session rests. The next
// prompt starts another one. A droid that has a process running in the background, or
// lets the user log in to an MCP server, is kept for now.
func (s *Session) renewIdle() {
	client := s.proc.Client()
	if client == nil || s.ended || !s.prompts.Idle() || s.questions.IsOpen() {
		return
	}
	if s.mustRenew(client) && !(s.deps.Accounts.Revoked(client) && s.worksAside(client)) {
		s.endDroid(replaced, "it is from before the last login, or has another provider")
	}
}

// mustRenew reports whether a droid is to be replaced before it gets another prompt: it
// has no login, or another provider, or it is from before the last login and nothing would be lost.
func (s *Session) mustRenew(client *droid.Client) bool {
	old, lacks := s.deps.Accounts.Age(client)
	return lacks || old && !s.worksAside(client)
}

// worksAside reports whether a droid does something for which no prompt is there.
func (s *Session) worksAside(client *droid.Client) bool {
	return s.proc.Working() || client.HasChildren() || s.proc.SubagentsWork() || s.servers.LogsIn(time.Now())
}

// OffersLogin reports whether the client offers the user to log in.
func (s *Session) OffersLogin() bool { return s.deps.Client.OffersLogin }
