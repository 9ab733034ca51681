package adapter

import (
	"fmt"
	"sync"
	"time"

	"droid-acp/internal/waiting"
)

// What waits in a session stands in its line, says what it needs, and goes on when that is
// there: after each event, posted work or tick the owner looks who may go. What a prompt
// waits for before it begins to run, the turn machine knows.

// What there is to wait for.
const (
	needStart   waiting.Need = "droid to start"
	needGone    waiting.Need = "the droid before to be gone"
	needCalls   waiting.Need = "calls to droid before it"
	needWritten waiting.Need = "a response to be written"
	needQuiet   waiting.Need = "the prompt that runs"
	needServers waiting.Need = "MCP servers to start"
	needAnswers waiting.Need = "droid to list its commands and tell its use of the context"
)

// there reports whether nobody has to wait for something any more.
func (s *Session) there(n waiting.Need) bool {
	switch {
	case n == needStart:
		return !s.proc.starting()
	case n == needGone:
		return s.ended || !s.proc.dying()
	case s.ended:
		return false // nothing begins
	case n == needCalls:
		return !s.line.Wanted(needCalls)
	case n == needWritten:
		return !s.prompts.machine.Unwritten()
	case n == needQuiet:
		return !s.works()
	case n == needAnswers:
		return s.proc.asked == 0
	}
	return !s.servers.Starting()
}

// waits tells who waits in the session, for what and since when, and which prompts.
func (s *Session) waits(now time.Time) []string {
	lines := append([]string{}, s.agent.sessions.Tell(s.id, now)...)
	lines = append(lines, s.line.Tell(now, s.there)...)
	lines = append(lines, s.out.Waits(now)...)
	if n := s.prompts.machine.Waiting(); n > 0 {
		lines = append(lines, fmt.Sprintf("%d prompts wait for the one that runs", n))
	}
	return lines
}

// when calls f when all needs are there, now or later. who says in words what f goes on with.
func (s *Session) when(who string, f func(), needs ...waiting.Need) {
	s.join(&waiting.Waiter{Name: who, Needs: needs, Go: f})
}

// alone makes a call to droid when the earlier ones have ended: changes of settings, loads
// and forks. They must not overlap, since the answer to a load tells the settings, too. While
// one is under way, no prompt begins, and the process is neither parked nor replaced by a
// load. f calls end when the call has ended.
func (s *Session) alone(f func(end func())) {
	if !s.line.Wanted(needCalls) {
		s.prompts.machine.Hold()
	}
	w := &waiting.Waiter{Name: "a call to droid", Takes: needCalls}
	end := sync.OnceFunc(func() {
		if s.line.Leave(w); !s.line.Wanted(needCalls) {
			s.carryOut(s.prompts.machine.Release())
		}
	})
	w.Go = func() {
		returned := false
		defer func() {
			if !returned {
				s.post(end) // when the panic is dealt with
			}
		}()
		f(end)
		returned = true
	}
	s.join(w)
}

func (s *Session) join(w *waiting.Waiter) {
	s.line.Add(time.Now(), w)
	s.proceed()
}

// proceed lets go on who has all it needs. A panic of one is the others' no concern.
func (s *Session) proceed() {
	for w := s.line.Next(s.there); w != nil; w = s.line.Next(s.there) {
		s.guard(w.Go)
	}
}
