package adapter

import (
	"context"
	"fmt"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/internal/waiting"
	"droid-acp/internal/adapter/problem"
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
	needCalls     waiting.Need = "calls to droid before it"
	needQuiet     waiting.Need = "the prompt that runs"
	needServers   waiting.Need = "MCP servers to start"
	needShown     waiting.Need = "the editor to show the session"
	needRoom      waiting.Need = "the editor to read"
	needRead      waiting.Need = "files that are shown with what droid said"
	needOthers    waiting.Need = "a look whether another window has the session open"
	needTurn      waiting.Need = "its turn"
	needTitle     waiting.Need = "the title before it" // of two titles at once droid stores the later one twice, and within a rewind it is not known which session gets one (0.225.2)
	needAnnounced waiting.Need = "droid to announce the call"
	needAddress   waiting.Need = "droid to tell where to log in"
	needExplained waiting.Need = "what droid said of MCP servers before"
	needAnswers   waiting.Need = "droid to list its commands and tell its use of the context"
)

// aCall is who takes needCalls.
const aCall = "a call to droid"

// there reports whether nobody has to wait for something any more.
func (s *Session) there(n waiting.Need) bool {
	switch {
	case n == needStart:
		return !s.proc.Starting()
	case n == needGone:
		return s.ended || !s.proc.Ending()
	case s.ended:
		return false // nothing begins
	case n == needCalls:
		return !s.line.Wanted(needCalls)
	case n == needQuiet:
		return !s.prompts.RunsOne()
	case n == needShown:
		return s.out.Known() && s.load == nil
	case n == needOthers:
		_, known := s.lock.Others()
		return known
	case n == needRead:
		return s.fileCalls.Waiting() == nil
	case n == needAnswers:
		return !s.proc.Asked()
	case n == needServers:
		return !s.servers.Starting()
	}
	return false
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

// until waits until all needs are there. who says in words what goes on then. The error says why it
// waits no longer: ctx or the session has ended.
func (s *Session) until(ctx context.Context, t *owner.Task, who string, needs ...waiting.Need) *acp.RequestError {
	return s.notWaited(s.line.Until(ctx, t, who, needs...))
}

// besideFor has f run beside the owner; waits tells meanwhile who waits for what. f's context ends with ctx and with the
// session.
func (s *Session) besideFor(ctx context.Context, t *owner.Task, who string, what waiting.Need, f func(context.Context)) {
	w := &waiting.Waiter{Name: who, Needs: []waiting.Need{what}}
	s.line.Add(time.Now(), w)
	defer s.line.Leave(w)
	t.Beside(func(session context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(session, cancel)()
		f(ctx)
	})
}

// takeCalls takes needCalls until release is called.
func (s *Session) takeCalls(ctx context.Context, t *owner.Task) (release func(), err *acp.RequestError) {
	release, why := s.line.Take(ctx, t, aCall, needCalls)
	return release, s.notWaited(why)
}

// notWaited answers what does not wait any longer.
func (s *Session) notWaited(why error) *acp.RequestError {
	switch {
	case why == nil:
		return nil
	case s.ended || s.Context.Err() != nil:
		return s.EndError()
	}
	return problem.Cancelled()
}

// holdPrompts keeps prompts from starting while needCalls is taken, or droid's end is awaited.
func (s *Session) holdPrompts() { s.prompts.SetHeld(s.line.Wanted(needCalls) || s.proc.Ending()) }
