package adapter

import (
	"context"
	"fmt"
	"time"

	"droid-acp/internal/adapter/internal/waiting"
)

// What waits in a session stands in its line, says what it needs, and goes on when that is
// there: after each event, posted work or tick the owner looks who may go. What a prompt
// waits for before it begins to run, the turn machine knows.

// What there is to wait for.
const (
	needStart waiting.Need = "droid to start"
	needGone  waiting.Need = "the droid before to be gone"
	// Changes of settings, loads and forks take this one after the other: they must not overlap,
	// since the answer to a load tells the settings, too. While one is under way, the process is
	// neither parked nor replaced by a load, and no prompt begins.
	needCalls    waiting.Need = "calls to droid before it"
	needWritten  waiting.Need = "a response to be written"
	needQuiet    waiting.Need = "the prompt that runs"
	needNoPrompt waiting.Need = "others that keep prompts from starting"
	needServers  waiting.Need = "MCP servers to start"
	needShown    waiting.Need = "the editor to show the session"
	needOthers   waiting.Need = "a look whether another window has the session open"
	needAnswers  waiting.Need = "droid to list its commands and tell its use of the context"
)

// aCall is who takes needCalls.
const aCall = "a call to droid"

// there reports whether nobody has to wait for something any more.
func (s *Session) there(n waiting.Need) bool {
	switch {
	case n == needStart:
		return !s.proc.Starting()
	case n == needGone:
		return s.ended || !s.proc.Doomed()
	case s.ended:
		return false // nothing begins
	case n == needCalls:
		return !s.line.Wanted(needCalls)
	case n == needWritten:
		return !s.prompts.Unwritten()
	case n == needQuiet:
		return !s.prompts.RunsOne()
	case n == needShown:
		return s.out.Known() && s.load.Over()
	case n == needOthers:
		_, known := s.lock.Others()
		return known
	case n == needAnswers:
		return !s.proc.Asked()
	case n == needServers:
		return !s.servers.Starting()
	}
	return false // work that is under way, see workFor
}

// waits tells who waits in the session, for what and since when, and which prompts.
func (s *Session) waits(now time.Time) []string {
	lines := append([]string{}, s.agent.sessions.Tell(s.out.Session(), now)...)
	lines = append(lines, s.line.Tell(now, s.there)...)
	lines = append(lines, s.out.Waits(now)...)
	if n := s.prompts.Changing(); n > 0 {
		lines = append(lines, fmt.Sprintf("changes that are under way or wait for their turn: %d", n))
	}
	if n := s.prompts.Waiting(); n > 0 {
		lines = append(lines, fmt.Sprintf("prompts that wait for their turn: %d", n))
	}
	return lines
}

// workFor does for a prompt that begins what blocks, beside the owner, who goes on with what
// that returns if the prompt still runs then. what says in words what is done.
func (p *userPrompt) workFor(what waiting.Need, work func(ctx context.Context) (then func())) {
	s, attempt := p.s, p.attempt
	w := &waiting.Waiter{Name: "the prompt", Needs: []waiting.Need{what}}
	s.line.Add(time.Now(), w)
	s.Do(func(ctx context.Context) {
		then := work(ctx)
		s.Post(func() {
			if s.line.Leave(w); s.prompts.Runs(p.id) && p.attempt == attempt {
				then()
			}
		})
	}, func() { s.line.Leave(w) })
}

// holdPrompts keeps prompts from starting while something is taken, see waiting.Waits, or droid's end is
// awaited.
func (s *Session) holdPrompts() {
	s.prompts.Do(s.prompts.SetHeld(s.line.Wanted(needCalls) || s.line.Wanted(needNoPrompt) || s.proc.Doomed()))
}
