package adapter

import (
	"errors"
	"fmt"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/show"
)

// A thread is what the editor shows as one conversation. /compact and /rewind have
// droid make another session, in which the thread goes on; it is found by the ids
// of all of them.

// thread is the ids and the title of one conversation. The registry knows the ids
// that it had before.
type thread struct {
	id      string // by which the editor used the session last, one of droid's
	droidID string // of the session that the process works on
	title   string // as droid says, "" for none
	named   bool   // the user gave that title here, so droid's own do not replace it
}

// use notes by which id the editor uses the session. It reports whether that is
// another one than before.
func (t *thread) use(id string) bool {
	changed := id != t.id
	t.id = id
	return changed
}

// call notes the title that droid gives the conversation. It reports false where the
// user has given one, which stays.
func (t *thread) call(title string) bool {
	if !t.named {
		t.title = title
	}
	return !t.named
}

// name notes the title that the user gives the conversation.
func (t *thread) name(title string) { t.title, t.named = title, true }

// workOn notes which session of droid's the next process is to load.
func (t *thread) workOn(droidID string) { t.droidID = droidID }

// goOn continues the thread in the session id, which droid made from the one before.
// With fresh a new process loads it, since the old one would go on giving the model
// the old conversation. When it is loaded, done is called with what the user must
// know of the two sessions.
func (s *Session) goOn(r *commandRun, id string, fresh bool, done func(hint string)) {
	if r.over() || s.proc.client() == nil { // it was cancelled, and another prompt may run
		s.tellLateSession(id)
		return
	}
	if !s.agent.sessions.claim(s, id) {
		s.put(s.show.EndCompaction(show.CompactionFailed))
		r.reply("droid made the session " + id + ", but that session has been opened as a thread of its own already. This thread is unchanged.")
		return
	}
	old := s.droidID
	loaded := func(_ *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			s.thread.workOn(old)
			if id != old && id != s.id {
				s.agent.sessions.release(s, id)
			}
			s.put(s.show.EndCompaction(show.CompactionFailed))
			r.fail("droid made the session "+id+" and did not load it", errors.New(errorText(err)))
			return
		}
		hint := newSessionHint(old, id)
		if r.over() {
			s.note("droid finished a command after you had cancelled it." + hint)
		}
		done(hint)
	}
	s.alone(func(end func()) {
		defer end()
		s.thread.workOn(id)
		if fresh {
			if s.proc.client() != nil {
				s.leave()
			}
			s.withDroid(1, loaded)
			return
		}
		s.loadAgain(s.ctx, 1, loadingSession, loaded)
	})
}

// tellLateSession tells of a session that droid made for a command which nobody
// waits for any more: it was cancelled or took too long.
func (s *Session) tellLateSession(id string) {
	s.note("droid finished a command after it was cancelled or had taken too long. Its result is the session " + id + ", which this thread does not use.")
}

// newSessionHint tells where the old conversation and the new one are.
func newSessionHint(old, id string) string {
	return fmt.Sprintf(" The conversation before stays in the session `%s`, which can be opened once this thread is closed; the new one is `%s`, and that is what to open after a restart of the editor.", old, id)
}

// followTo notes that droid went on in another session by itself; a restarted process
// must load that one (quirk 22). If it is open here already, two processes would work
// on it, so this process is killed.
func (s *Session) followTo(id string) {
	if s.agent.sessions.claim(s, id) {
		s.thread.workOn(id)
		s.holdStored()
		return
	}
	s.log.Warn("droid went on in a session that is open already; it is killed", zap.String("other", id))
	s.proc.kill("it went on in a session that is open already")
}
