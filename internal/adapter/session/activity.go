package session

import (
	"time"

	"droid-acp/internal/acp/protocol"
)

// activity is the last report about a session to the server that keeps this agent.
type activity struct {
	session string // by its id, as the editor knew it then
	working bool
	again   time.Time // when to look again at what ends without an event; zero for never
}

// activityPause is the time between two looks at work that ends without an event: a background command that is not watched, a login that is
// never completed.
const activityPause = 10 * time.Second

// works reports whether something would be lost if the session ended now. quiet is work that may end without an event.
func (s *Session) works(now time.Time) (works, quiet bool) {
	if s.prompts.Busy() || s.prompts.Waiting() > 0 || s.questions.IsOpen() || s.proc.Working() || s.proc.SubagentsWork() {
		return true, false
	}
	quiet = s.proc.Background() || s.servers.LogsIn(now)
	return quiet, quiet
}

// reportActivity notifies a server that keeps this agent when the session begins to work, and when it rests. It runs as the
// session's lock is given up, so what was sent with it comes before.
func (s *Session) reportActivity() {
	if !s.deps.Client.Activity || !s.out.Opened() {
		return
	}
	now := time.Now()
	works, quiet := s.works(now)
	s.activity.again = time.Time{}
	if quiet {
		s.activity.again = now.Add(activityPause)
	}
	if id := s.out.Session(); works != s.activity.working || works && id != s.activity.session {
		s.activity.session, s.activity.working = id, works
		s.deps.Notify(protocol.ActivityMethod, protocol.ActivityParams{SessionID: id, Working: works})
	}
}
