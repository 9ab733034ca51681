package adapter

import (
	"context"
	"encoding/json"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// A droid that is asked to stop is asked again, since 0.99 and 0.117 lose an
// interrupt that follows its prompt at once (quirk 5). One that does not stop
// at all, as 0.99 does on huge lines (quirk 25), is killed; the next prompt
// loads the session into a new process.
const (
	interruptAgain   = 200 * time.Millisecond // then twice as long each time
	interruptAgainTo = 1600 * time.Millisecond
	interruptGiveUp  = 8 * time.Second
	interruptTime    = 2 * time.Second // for an answer, which came within 0.14 s on a busy machine
)

// turn is one prompt on its way to its one ending.
type turn struct {
	message   stream.UserMessage
	session   string // the id that the editor sent it to
	request   *request
	done      chan ending     // receives exactly one
	starting  bool            // waits for a droid process
	sent      bool            // droid has acknowledged the message
	again     bool            // droid threw it away once
	command   *slashCommand   // one of this agent's own, instead of message
	stop      func()          // ends the shell command that this is; nil for all others
	work      context.Context // of what the command asks droid for; ends with the prompt
	giveUp    func()          // ends work; nil for what is no command
	notes     []string        // of shell commands that message begins with
	spoke     bool            // something of it was shown
	cancelled bool
	crash     error // why droid died while the turn ran

	interruptAt    time.Time // next interrupt; zero when none is due
	interruptEvery time.Duration
	interruptEnd   time.Time // when patience ends
	deaf           bool      // an interrupt may not reach it (quirk 31)
}

// ending is how a prompt ends: a stop reason or an error.
type ending struct {
	stop acp.StopReason
	err  *acp.RequestError
}

// prompt runs one turn. Prompts of one session run one after the other.
func (a *Agent) prompt(c call) (any, *acp.RequestError) {
	var params struct {
		SessionID string          `json:"sessionId"`
		Prompt    json.RawMessage `json:"prompt"`
	}
	if err := decode(c.params, &params); err != nil {
		return nil, err
	}
	s, err := a.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	t := &turn{session: params.SessionID, request: c.request, done: make(chan ending, 1)}
	lost := s.panics.listen()
	if !s.post(func() { s.accept(t, params.Prompt) }) {
		return nil, unknownSession(params.SessionID)
	}
	c.ordered()
	// $/cancel_request ends ctx before there is a response: the turn is
	// cancelled like by session/cancel, and answered with its stop reason.
	stop := context.AfterFunc(c.ctx, func() { s.post(func() { s.cancelTurn(t) }) })
	defer stop()
	end := s.endOf(t, lost)
	if end.err != nil {
		return nil, end.err
	}
	return protocol.PromptResult{StopReason: end.stop}, nil
}

// cancelTurn is session/cancel: it ends the running prompt and the waiting ones.
func (a *Agent) cancelTurn(c call) (any, *acp.RequestError) {
	var params struct {
		SessionID string `json:"sessionId"`
	}
	if err := decode(c.params, &params); err != nil {
		return nil, err
	}
	s, err := a.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	s.post(s.cancelTurns) // a session that has ended has nothing to cancel
	return nil, nil
}

// accept takes a prompt: it starts now, or when those before it have ended.
func (s *Session) accept(t *turn, prompt json.RawMessage) {
	if s.ended {
		t.done <- ending{stop: acp.StopReasonCancelled}
		return
	}
	if s.unopened != nil {
		t.done <- ending{err: s.unopened}
		return
	}
	message, err := userMessage(prompt, s.contentRules())
	if err != nil {
		t.done <- ending{err: err}
		return
	}
	s.show.Prompted()
	t.message = message
	t.command = s.commandOf(prompt)
	t.message.Text = s.expand(message.Text)
	t.message.RequestID = uuid.NewString()
	s.queue = append(s.queue, t)
	s.next()
	s.steer()
}

// next starts the first waiting prompt if none runs, and if no interrupt of one
// before can still reach it.
func (s *Session) next() {
	if s.turn != nil || s.unanswered > 0 || s.interrupts > 0 || len(s.reloads) > 0 || s.dying || len(s.queue) == 0 || s.ended {
		return
	}
	t := s.queue[0]
	s.queue = s.queue[1:]
	s.turn = t
	s.tellAs(t.session)
	if t.command != nil {
		s.runCommand(t)
		return
	}
	for _, notice := range s.notices {
		s.tell(notice)
	}
	s.notices = nil
	s.parkAt = time.Time{}
	t.starting = true
	crashed := s.lastCrash != nil && s.crashes > 0
	s.withDroid(1, func(info *stream.SessionInfo, err *acp.RequestError) {
		switch {
		case s.turn != t:
			return // it was cancelled meanwhile
		case err != nil:
			s.failTurn(err)
			return
		case info != nil && crashed:
			s.tell("droid had ended and was started again; the session continues.")
		}
		s.whenServersStarted(func() {
			if s.turn == t {
				s.begin(t)
			}
		})
	})
}

// begin hands the prompt to droid.
func (s *Session) begin(t *turn) {
	t.starting = false
	s.addShellNotes(t)
	s.apply(s.norm.Begin(time.Now(), t.message.RequestID, t.message.Text))
	client := s.client
	s.do(func(ctx context.Context) {
		err := client.AddUserMessage(ctx, t.message)
		s.post(func() { s.taken(t, err) })
	})
}

// taken says whether droid took the prompt.
func (s *Session) taken(t *turn, err error) {
	if err != nil {
		s.keepShellNotes(t)
	}
	switch {
	case s.turn != t:
		return // it has ended already
	case err == nil:
		t.sent = true
		s.silence.broken(time.Now())
		if t.cancelled {
			s.interrupt(t)
		}
		s.steer()
	case s.client == nil:
		s.failTurn(crashError(err))
	default:
		s.drainEvents()
		if s.turn == t {
			s.abortTurn(promptError(err))
		}
	}
}

// cancelTurns cancels the running prompt and all waiting ones.
func (s *Session) cancelTurns() {
	waiting := s.queue
	s.queue = nil
	for _, t := range waiting {
		s.finish(t, ending{stop: acp.StopReasonCancelled})
	}
	s.cancelSteered()
	if s.turn != nil {
		s.cancelTurn(s.turn)
	}
}

// cancelTurn cancels one prompt, running or waiting.
func (s *Session) cancelTurn(t *turn) {
	for i, waiting := range s.queue {
		if waiting == t {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			s.finish(t, ending{stop: acp.StopReasonCancelled})
			return
		}
	}
	if s.turn != t || t.cancelled {
		t.cancelled = true // droid has it beside the running prompt
		return
	}
	t.cancelled = true
	switch {
	case t.stop != nil:
		t.stop() // its end is the prompt's
	case t.starting:
		s.finish(t, ending{stop: acp.StopReasonCancelled})
	case t.command == nil:
		s.interrupt(t)
	}
	s.dialog.refuse()
}

// interrupt asks droid to stop, and makes insist ask again. A message that is on
// its way to droid goes first, since droid starts a turn with one that comes
// after the interrupt; taken and steeredTaken call again.
func (s *Session) interrupt(t *turn) {
	now := time.Now()
	t.interruptEvery = interruptAgain
	t.interruptAt = now.Add(interruptAgain)
	if t.interruptEnd.IsZero() {
		t.interruptEnd = now.Add(interruptGiveUp)
	}
	if t.deaf {
		t.interruptEnd = t.interruptAt
	}
	if t.sent && !s.steering() {
		s.sendInterrupt()
	}
}

func (s *Session) sendInterrupt() {
	s.apply(s.norm.Interrupted(time.Now()))
	client := s.client
	if client == nil {
		return
	}
	s.interrupts++
	s.do(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, interruptTime)
		defer cancel()
		if err := client.Interrupt(ctx); err != nil {
			s.agent.log.Debug("interrupt", zap.Error(err))
		}
		s.post(s.interruptDone)
	}, s.interruptDone)
}

func (s *Session) interruptDone() {
	s.interrupts--
	s.next()
}

// turnBeside notes that the running turn may hear no interrupt, so that one who
// wants it to stop need not wait.
func (s *Session) turnBeside(ev quirks.TurnBeside) {
	t := s.promptOf(ev.RequestID)
	if t == nil {
		return
	}
	t.deaf = true
	if s.turn == t && t.cancelled {
		s.interrupt(t)
	}
}

// insist repeats an interrupt that had no effect yet, and at last kills droid.
func (s *Session) insist(now time.Time) {
	t := s.turn
	if t == nil || t.interruptAt.IsZero() || now.Before(t.interruptAt) {
		return
	}
	if !now.Before(t.interruptEnd) {
		t.interruptAt = time.Time{}
		s.log.Warn("droid does not stop; it is killed")
		if s.client != nil {
			s.client.KillFor("it did not stop when a turn was cancelled")
		}
		return
	}
	t.interruptEvery = min(2*t.interruptEvery, interruptAgainTo)
	t.interruptAt = now.Add(t.interruptEvery)
	s.sendInterrupt()
}

// turnEnded takes droid's end of a prompt.
func (s *Session) turnEnded(ev quirks.TurnEnded) {
	t := s.turn
	if ev.Outcome == quirks.Dropped && s.sendAgain(ev.RequestID) {
		return
	}
	if t == nil || ev.RequestID != t.message.RequestID {
		if !s.steeredEnded(ev) {
			s.log.Debug("droid ended a turn of its own", zap.Stringer("outcome", ev.Outcome), zap.String("reason", ev.Reason))
		}
		return
	}
	s.put(s.show.EndTurn(t.cancelled))
	end := s.endingOf(t, ev)
	s.finish(t, end)
	// ACP prompt-turn: nothing of a cancelled turn comes after its response. The
	// next turn tells what this one used.
	if end.stop != acp.StopReasonCancelled {
		s.tellUsage()
	}
}

// endingOf is how a prompt ends that droid ended.
func (s *Session) endingOf(t *turn, ev quirks.TurnEnded) ending {
	switch {
	case t.cancelled:
		// ACP: after session/cancel the answer is "cancelled", also when droid
		// completed or failed in the meantime.
		return ending{stop: acp.StopReasonCancelled}
	case t.crash != nil:
		return ending{err: crashError(t.crash)}
	case ev.Outcome == quirks.Failed:
		return ending{err: turnError(ev.Failure)}
	case ev.Outcome == quirks.Cancelled:
		return ending{stop: acp.StopReasonCancelled}
	}
	if !t.spoke {
		s.tell("The model gave an empty answer.")
	}
	s.crashes = 0
	return ending{stop: acp.StopReasonEndTurn}
}

// abortTurn ends a prompt that droid did not take.
func (s *Session) abortTurn(err *acp.RequestError) {
	s.keepShellNotes(s.turn)
	s.apply(s.norm.Abort(time.Now(), s.turn.message.RequestID))
	s.failTurn(err)
}

// failTurn ends the running prompt, if any, with an error.
func (s *Session) failTurn(err *acp.RequestError) {
	if s.turn != nil {
		s.fail(s.turn, err)
	}
}

// fail ends a prompt with an error, or as cancelled if that is what the editor
// asked for.
func (s *Session) fail(t *turn, err *acp.RequestError) {
	if t.cancelled {
		s.finish(t, ending{stop: acp.StopReasonCancelled})
	} else {
		s.finish(t, ending{err: err})
	}
}

// finish gives a prompt its one ending. The next prompt starts when the
// response to this one is written, so that no update of it comes before.
func (s *Session) finish(t *turn, end ending) {
	ran := s.turn == t
	if t.stop != nil {
		t.stop()
	}
	if t.giveUp != nil {
		t.giveUp()
	}
	if ran {
		s.turn = nil
	}
	s.rest()
	s.unanswered++
	t.done <- end
	t.request.whenAnswered(func() { s.post(s.answered) })
	if ran {
		s.promote()
	}
	if s.turn == nil {
		for _, f := range s.quiet {
			f()
		}
		s.quiet = nil
	}
}

// answered follows the response to a prompt.
func (s *Session) answered() {
	s.unanswered--
	s.nextReload()
	s.next()
}

// finishAll answers whatever is still open when the session ends.
func (s *Session) finishAll() {
	for _, t := range s.queue {
		s.finish(t, ending{stop: acp.StopReasonCancelled})
	}
	s.queue = nil
	for s.turn != nil {
		s.finish(s.turn, ending{stop: acp.StopReasonCancelled})
	}
}
