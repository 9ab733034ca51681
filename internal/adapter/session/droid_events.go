package session

import (
	"context"
	"strings"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/prompt"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// An event of droid's passes four functions: nextEvent says whether it may be taken now, handleEvent normalizes it, apply keeps the order if
// files are read for one, and translate shows it.

// nextEvent returns the channel of droid's events, nil while droid is not to be read. If that is because the outbox is full, room is closed
// when there is room again. droid's answer to a call comes behind what it has said before, which is read as long as the outbox is not overfull.
func (s *Session) nextEvent() (events <-chan stream.Event, room <-chan struct{}) {
	switch {
	case s.showsHistory(): // that comes first
	case s.held != nil: // files are being read for an earlier event; the end of that wakes us
	case s.prompts.Stopping():
		events = s.proc.Events() // what it says is dropped, so it needs no room
	default:
		if room = s.out.Full(); room != nil && s.prompts.RPC.Holder() != nil {
			room = s.out.Overfull()
		}
		if room == nil {
			events = s.proc.Events()
		}
	}
	s.proc.Pause(events == nil)
	return events, room
}

// syncEvents applies the events that droid sent before the response that the caller has just got. Some of them may be shown with files:
// then it waits, without the lock, until these are read. The error says that the session ends, which alone ends the wait.
func (s *Session) syncEvents(_ context.Context) *jsonrpc.Error {
	if s.drainEvents(); s.held == nil {
		return nil
	}
	return s.waitFor(s.Context, "droid's answer", needRead)
}

// drainEvents takes the events that droid sent before the response that was
// just received: they are in the channel already.
func (s *Session) drainEvents() {
	for {
		select {
		case ev, ok := <-s.proc.Events():
			s.handleEvent(ev, ok)
			if !ok {
				return
			}
		default:
			return
		}
	}
}

// handleEvent takes one event, or the end of the process.
func (s *Session) handleEvent(ev stream.Event, ok bool) {
	if !ok {
		s.droidExited()
		return
	}
	s.fileCalls.NoteHook(ev)
	s.apply(s.proc.Handle(time.Now(), ev))
}

// heldEvents are normalized events that wait while something is read, without the lock, before the first of them is applied: all are applied
// in order.
type heldEvents struct{ events []quirks.Event }

// apply applies normalized events in order. Before some, something is read: the file of a subagent, why edits failed, or the files that the
// event is shown with. The event and all that follow are held until then, while the editor is still heard. The first two are read, for a
// bounded time, also of a droid that has ended.
func (s *Session) apply(events []quirks.Event) {
	for i, ev := range events {
		if s.held != nil {
			s.held.events = append(s.held.events, events[i:]...)
			return
		}
		subagent, ofSubagent := subagentToRead(ev)
		failed, paths, requested := s.show.TakeUnexplained(ev), s.show.NeededFiles(ev), s.show.RequestedPaths(ev)
		switch {
		case ofSubagent && !s.ended:
			s.hold(ev, func(held *heldEvents) { s.readToEnd(s.Context, held, subagent) })
		case len(failed) > 0 && !s.ended:
			s.hold(ev, func(held *heldEvents) { s.explain(s.Context, held, failed) })
		case len(paths)+len(requested) > 0 && !s.readsNoFiles():
			s.hold(ev, func(held *heldEvents) { s.readFiles(s.Context, held, paths, requested) })
		default:
			s.translate(ev, nil)
		}
	}
}

// hold has an event wait, and all that follow, until read, in another goroutine, releases them, or readNoMore does.
func (s *Session) hold(ev quirks.Event, read func(held *heldEvents)) {
	held := &heldEvents{[]quirks.Event{ev}}
	s.held = held
	s.mu.Go(func() {
		defer func() {
			if s.held == held { // a panic: nothing waits for it any more
				s.readNoMore()
			}
		}()
		read(held)
	})
}

// releaseEvents returns held events, and holds them no longer. It returns none if readNoMore has released them.
func (s *Session) releaseEvents(held *heldEvents) []quirks.Event {
	if s.held != held {
		return nil
	}
	s.held = nil
	return held.events
}

// readFiles reads the files with which the first of the held events is shown, after the jobs that come before that.
func (s *Session) readFiles(ctx context.Context, held *heldEvents, paths, requested []string) {
	if len(requested) > 0 {
		requested = append(requested, s.directories()...)
	}
	s.doJobs(ctx, s.fileCalls.BeforeShown(held.events[0], paths)...)
	var texts render.Files
	s.unlocked(ctx, func(ctx context.Context) { texts = s.deps.Texts.ReadResolved(ctx, paths, requested) })
	s.filesRead(held, texts)
}

// filesRead translates what waited for files, and what came after it.
func (s *Session) filesRead(held *heldEvents, texts render.Files) {
	if events := s.releaseEvents(held); len(events) > 0 {
		s.translate(events[0], texts)
		s.apply(events[1:])
	}
}

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
func (s *Session) explain(ctx context.Context, held *heldEvents, failed []render.FailedEdit) {
	var calls []string
	for _, e := range failed {
		calls = append(calls, quirks.RawID(e.ID))
	}
	session := s.droidID
	id, _ := s.prompts.Running()
	p := s.prompts.Get(id) // nil in a turn of droid's own
	var results map[string]string
	s.unlocked(ctx, func(ctx context.Context) { results = s.deps.Threads.Results(ctx, session, calls) })
	events := s.releaseEvents(held)
	if events == nil {
		return // the turn was cancelled in the meantime, or droid or the session has ended
	}
	for _, e := range failed {
		if why := results[quirks.RawID(e.ID)]; why != "" && (p == nil || !p.endedCancelled) {
			s.update(s.show.ExplainFailure(e, strings.Replace(why, "Error: Error: ", "Error: ", 1))...)
		}
	}
	s.apply(events)
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
		s.subagentWrote(s.proc.Normalizer(), ev.ID)
	case quirks.RequestWithdrawn:
		s.questions.Withdraw(ev.RequestID)
	case quirks.SettingsChanged:
		before := s.options.Mode()
		s.options.Reported(ev.Settings)
		if s.options.Mode() != before {
			s.modeOrder.reported(s.options.Mode())
		}
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

// turnStarted notes which prompt droid works on now.
func (s *Session) turnStarted(ev quirks.TurnStarted) {
	s.usage.began(ev, s.options.ModelInUse())
	if p := s.prompts.Of(ev.RequestID); p != nil {
		p.message, p.content = stream.UserMessage{RequestID: ev.RequestID}, prompt.Prompt{} // images need not be kept
	}
	s.prompts.Started(time.Now(), ev.RequestID)
}

// folded notifies the user that droid took a prompt into the turn that runs.
func (s *Session) folded(ev quirks.PromptMerged) {
	p := s.prompts.Of(ev.RequestID)
	if s.prompts.Folded(ev.RequestID) && p.joined == nil {
		s.update(render.Thought("Your message was added to the running turn."))
	}
}

// discarded notifies the user of a message that droid threw away, if its prompt was
// cancelled or is not known. Other prompts are sent again, see turnEnded.
func (s *Session) discarded(ev quirks.PromptDropped) {
	if p := s.prompts.Of(ev.RequestID); p == nil || s.prompts.Cancelled(p.id) {
		s.notify("droid discarded a waiting message: " + ev.Text)
	}
}

// turnEnded takes droid's end of a prompt.
func (s *Session) turnEnded(ev quirks.TurnEnded) {
	s.deps.Accounts.TurnEnded(s.proc.Client(), ev, s.options.NeedsLogin())
	s.usage.finished(ev)
	s.replaceRevoked()
	p := s.prompts.Of(ev.RequestID)
	if p == nil {
		s.log.Info("droid ended a turn that no prompt waits for", zap.Stringer("outcome", ev.Outcome), zap.String("reason", ev.Reason))
		if ev.RequestID == "" && ev.Reason == stream.ReasonProcessExit && !s.ended {
			s.update(render.Notice("What droid was doing by itself ended, since its process has."))
		}
		return
	}
	p.used = sumUsage(p.used, ev.Used)
	cancelled, dropped := s.prompts.Cancelled(p.id), ev.Outcome == quirks.Dropped
	if s.prompts.Runs(p.id) && (cancelled || !dropped) {
		s.update(s.show.EndTurn(compactionOf(ev, cancelled))...) // before the response
	}
	if dropped {
		s.log.Info("droid threw a prompt away; unless it was cancelled it is sent again")
		s.prompts.Dropped(ev.RequestID)
		return
	}
	s.prompts.Ended(ev.RequestID, outcomeOf(ev), failureOf(ev))
}

func compactionOf(ev quirks.TurnEnded, cancelled bool) render.CompactionEnd {
	switch {
	case cancelled:
		return render.CompactionCancelled
	case ev.Outcome == quirks.Failed:
		return render.CompactionFailed
	}
	return render.Compacted
}

func outcomeOf(ev quirks.TurnEnded) turns.How {
	switch ev.Outcome {
	case quirks.Failed:
		return turns.Failed
	case quirks.Cancelled:
		return turns.Cancelled
	}
	return turns.Completed
}

// failureOf returns why a turn failed, nil if it did not.
func failureOf(ev quirks.TurnEnded) error {
	if ev.Outcome != quirks.Failed {
		return nil
	}
	return acperr.Turn(ev.Failure)
}

// readsNoFiles reports whether events are shown without files, since nobody waits for what they show, and the end of the turn or of droid
// comes behind them.
func (s *Session) readsNoFiles() bool { return s.ended || s.prompts.Stopping() || s.proc.Ending() }

// readNoMore translates what waits for files without them, because the session, its turn or its
// process ends, or the reading failed.
func (s *Session) readNoMore() {
	for s.held != nil {
		s.filesRead(s.held, nil)
	}
}

// silenceDue returns the time at which the user is notified that droid does not take a prompt, or that the model is silent. ok is false if
// neither is the case, or if the user sees the reason: a running tool or a question.
func (s *Session) silenceDue() (at time.Time, ok bool) {
	if !s.prompts.Working() || s.questions.IsOpen() || s.show.Busy() {
		return time.Time{}, false
	}
	return s.proc.SilenceDue()
}
