package adapter

import (
	"fmt"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
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
}

// use notes by which id the editor uses the session. It reports whether that is
// another one than before.
func (t *thread) use(id string) bool {
	changed := id != t.id
	t.id = id
	return changed
}

// call notes the title that droid gives the conversation.
func (t *thread) call(title string) { t.title = title }

// workOn has the next process load this session of droid's.
func (t *thread) workOn(droidID string) { t.droidID = droidID }

// goOn has the thread go on in a session that droid made of the one before. A
// fresh process loads it where the old one would give the model the old
// conversation. done is called when it is there, with what the user must know of
// the two sessions.
func (s *Session) goOn(t *userPrompt, id string, fresh bool, done func(hint string)) {
	if !s.prompts.runs(t) || s.client == nil { // it was cancelled, and another prompt may run
		s.tellLateSession(id)
		return
	}
	if !s.agent.sessions.claim(s, id) {
		s.compacted("failed", "It failed.")
		s.reply(t, "droid made the session "+id+", which has been opened as a thread of its own already. This thread goes on as it was.")
		return
	}
	old := s.droidID
	loaded := func(_ *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			s.thread.workOn(old)
			if id != old && id != s.id {
				s.agent.sessions.release(s, id)
			}
			s.compacted("failed", "It failed.")
			s.reply(t, "droid made the session "+id+" and did not load it: "+err.Message)
			return
		}
		hint := newSessionHint(old, id)
		if !s.prompts.runs(t) {
			s.note("A cancelled command was done by droid all the same." + hint)
		}
		done(hint)
	}
	s.alone(func(end func()) {
		defer end()
		s.thread.workOn(id)
		if fresh {
			if s.client != nil {
				s.leave()
			}
			s.withDroid(1, loaded)
			return
		}
		s.loadAgain(s.ctx, 1, loaded)
	})
}

// newSessionHint tells where the old conversation and the new one are.
func newSessionHint(old, id string) string {
	return fmt.Sprintf(" The conversation before stays in the session `%s`, to be opened when this thread is closed; the new one is `%s`, which is what to open after a restart of the editor.", old, id)
}

// followTo notes that droid went on in another session by itself, which is what a
// restarted process must load (quirk 22). One that is open already would be worked
// on by two processes, so this one ends.
func (s *Session) followTo(id string) {
	if s.agent.sessions.claim(s, id) {
		s.thread.workOn(id)
		s.holdStored()
		return
	}
	s.log.Warn("droid went on in a session that is open already; it is killed", zap.String("other", id))
	if s.client != nil {
		s.client.KillFor("it went on in a session that is open already")
	}
}
