package session

import (
	"context"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/internal/filecalls"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// translate takes one normalized event: it sends the editor what there is to show, and
// changes the session accordingly. files are the texts that the event is shown with.
func (s *Session) translate(ev quirks.Event, files render.Files) {
	if in, is := ev.(quirks.InSubagent); is {
		s.inSubagent(in)
		return
	}
	s.fileCalls.Handle(ev, s.cwd)
	s.lookForUnseen(ev)
	s.handleBackground(ev)
	// What droid says of a cancelled turn is dropped. It needs no room in the outbox, so droid is
	// read to the end of the turn even while the editor reads nothing. The editor gets all that
	// was said before the cancel, and what it knows as begun still ends.
	if s.prompts.Stopping() && s.show.Droppable(ev) {
		return
	}
	switch ev.(type) {
	case quirks.Text, quirks.Notice, quirks.ToolStarted:
		s.prompts.Shown()
	}
	s.updateFromDroid(s.show.Event(s.moment(), ev, files)...)
	s.applyEvent(ev, files)
}

// updateFromDroid sends droid's output. A client that drops or loses updates while none of its prompts runs gets the text with its next
// prompt.
func (s *Session) updateFromDroid(things ...protocol.Update) {
	outside := s.deps.Client.UpdatesInPromptsOnly() && !s.prompts.Busy()
	for _, thing := range things {
		if text, ok := thing.(render.Text); ok && outside {
			s.out.KeepText(text)
			continue
		}
		s.update(thing)
	}
}

// explain shows why edits failed, after reading the reasons without the lock. Held events wait for that, so that all updates of a turn
// precede its response.
func (s *Session) explain(failed []render.FailedEdit, held *filecalls.Deferred) {
	var calls []string
	for _, e := range failed {
		calls = append(calls, quirks.RawID(e.ID))
	}
	session := s.droidID
	id, _ := s.prompts.Running()
	p := s.prompts.Get(id) // nil in a turn of droid's own
	s.mu.Go(func() {
		defer func() {
			if s.fileCalls.Waiting() == held { // a panic: nothing waits for it any more
				s.readNoMore()
			}
		}()
		var results map[string]string
		s.unlocked(s.Context, func(ctx context.Context) { results = s.deps.Threads.Results(ctx, session, calls) })
		events := s.fileCalls.Release(held)
		if events == nil {
			return // droid has ended in the meantime, or the session
		}
		for _, e := range failed {
			if why := results[quirks.RawID(e.ID)]; why != "" && (p == nil || !p.cancelled) {
				s.update(s.show.ExplainFailure(e, strings.Replace(why, "Error: Error: ", "Error: ", 1))...)
			}
		}
		s.apply(events)
	})
}

// applyEvent does what an event wants done apart from being shown.
func (s *Session) applyEvent(ev quirks.Event, files render.Files) {
	switch ev := quirks.Unwrap(ev).(type) {
	case quirks.TurnStarted:
		s.turnStarted(ev)
	case quirks.TurnEnded:
		s.turnEnded(ev)
	case quirks.ToolEnded:
		s.lookInTurn()
	case quirks.Retrying:
		s.reportRetry(ev)
	case quirks.ConcurrentTurn:
		s.prompts.ConcurrentTurn(time.Now(), ev.RequestID)
	case quirks.PromptMerged:
		s.folded(ev)
	case quirks.PromptDropped:
		s.discarded(ev)
	case quirks.PermissionRequested:
		s.mu.Go(func() { s.askPermission(s.Context, ev, files) })
	case quirks.QuestionRequested:
		s.mu.Go(func() { s.askQuestions(s.Context, ev) })
	case quirks.SubagentStarted:
		s.beginSubagent(ev)
		s.proc.Subagents.Begin(time.Now(), ev.ID)
		s.lookInTurn() // it is another droid, which reads the project by itself
	case quirks.SubagentEnded:
		s.subagentRests(ev)
	case quirks.SubagentStopped:
		s.subagentWrote(s.proc.Normalizer(), ev.ID, nil)
	case quirks.RequestWithdrawn:
		s.questions.Withdraw(ev.RequestID)
	case quirks.SettingsChanged:
		s.options.Reported(ev.Settings)
		s.updateState()
	case quirks.TitleChanged:
		s.titled(ev.Title, false)
	case quirks.UsageChanged:
		s.usage.told = ev // usage_update needs the window's size, see updateUsage
	case stream.StructuredOutput:
		if id, runs := s.prompts.Running(); runs {
			s.prompts.Get(id).output = ev.Output
		}
	case stream.MCPStatusChanged:
		s.mcpStatus(ev)
	case stream.MCPAuthRequired:
		s.loginBegan(ev)
	case stream.MCPAuthCompleted:
		s.loginEnded(ev)
	case stream.SessionSwitched:
		s.followTo(ev.To)
	case stream.LateError:
		s.refusedLate(ev)
	case stream.LateResult:
		s.tellLateSession(ev.NewSessionID)
	case stream.MessageCreated:
		s.log.Debug("droid made a message that is not shown", zap.String("role", ev.Message.Role))
	}
}

// moment is now, for what is shown.
func (s *Session) moment() render.Moment {
	return render.Moment{Now: time.Now(), HasRoom: s.out.Full() == nil}
}
