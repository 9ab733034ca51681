package session

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/internal/process"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
)

// wholeHistory is the message limit that makes droid return all messages: since
// 0.215 it returns the last 100 without one (quirk 21).
const wholeHistory = 1_000_000

// awaitDroid waits until the session has a process, and starts one if necessary, which loads up to historyLimit messages. info is droid's
// answer to the load, nil if the process was there before or was asked for fewer messages by another caller.
func (s *Session) awaitDroid(ctx context.Context, historyLimit int) (client *droid.Client, info *stream.SessionInfo, err *jsonrpc.Error) {
	for {
		for s.proc.Ending() && !s.ended {
			if err := s.waitFor(ctx, "what needs a droid", needGone); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case s.ended:
			return nil, nil, acperr.Ending()
		case s.proc.Client() != nil && !s.proc.Starting():
			return s.proc.Client(), nil, nil
		case s.proc.Client() == nil && s.prompts.GaveUp():
			return nil, nil, acperr.KeepsCrashing(s.proc.LastCrash())
		}
		if s.proc.BeginStart(historyLimit) {
			s.mu.Go(func() { s.start(s.Context, historyLimit) })
		}
		if err := s.waitFor(ctx, "what needs a droid", needStart); err != nil {
			return nil, nil, err
		}
		if info, err = s.proc.Outcome(historyLimit); err != nil || s.proc.Client() != nil {
			return s.proc.Client(), info, err
		}
		// Who waited for it, too, has ended it.
	}
}

// start starts droid and loads the session into it. Waiters proceed when the session has its former settings again.
func (s *Session) start(ctx context.Context, historyLimit int) {
	info, failure := (*stream.SessionInfo)(nil), acperr.Lost() // where this panics
	defer func() { s.proc.StartEnded(info, failure) }()
	info, failure = s.startWithRetries(ctx, historyLimit)
}

// startWithRetries starts one droid after the other until one has loaded the session, and returns its answer to that, or why none has.
func (s *Session) startWithRetries(ctx context.Context, historyLimit int) (*stream.SessionInfo, *jsonrpc.Error) {
	before := s.options.Loading()
	for deaths := 0; ; {
		outcome, info, failure := s.startOnce(ctx, historyLimit, before)
		switch outcome {
		case startSucceeded, startFailed:
			return info, failure
		case startCreatedOnly: // the next one gets the words when it loads the session
			historyLimit, before = 1, s.options.Loading()
		case startDied:
			s.options.LoadingAgain(before)
			switch deaths++; {
			case !s.out.Opened():
				return nil, acperr.NotOpened(s.out.Session(), s.proc.LastCrash())
			case s.prompts.GaveUp() || deaths == turns.MaxCrashes:
				return nil, acperr.Crash(s.proc.LastCrash(), s.prompts.GaveUp()) // again
			}
			// It was given no prompt, so none fails with it; a command that waits for it does, see droidExited.
		}
	}
}

// startOutcome is the result of starting one droid.
type startOutcome int

const (
	startSucceeded   startOutcome = iota // it has loaded the session, with the former settings
	startFailed                          // it did not open the session, or the session ended meanwhile
	startCreatedOnly                     // it created the session, and was ended as it did not take the words of a new one, see checkWords
	startDied                            // it opened the session, and died before it was given a prompt
)

// startOnce starts a droid, which opens the session and gets the settings from before. info is its answer to the load, and failure why it
// did not open the session.
func (s *Session) startOnce(ctx context.Context, historyLimit int, before options.Before) (outcome startOutcome, info *stream.SessionInfo, failure *jsonrpc.Error) {
	creates := s.proc.NeedsCreate()
	client, info, err := s.launch(ctx, historyLimit)
	switch {
	case err != nil:
		return startFailed, nil, acperr.NotRestarted(s.out.Session(), s.out.Opened(), err)
	case s.ended:
		s.unlocked(ctx, func(context.Context) { client.Kill(); <-client.Exited() })
		return startFailed, nil, acperr.Ending()
	}
	s.adopt(client)
	s.opened(info)
	if creates {
		s.checkDefaults()
		s.checkWords()
		s.notifyExcluded()
	}
	if creates && s.proc.Client() == nil && !s.proc.NeedsCreate() {
		return startCreatedOnly, nil, nil
	}
	s.restoreSettings(ctx, before)
	if s.proc.Ending() {
		_ = s.waitFor(ctx, "the settings from before", needGone) // its end is in the events
	}
	if s.proc.Client() == nil {
		return startDied, nil, nil
	}
	return startSucceeded, info, nil
}

// launch starts a droid that makes the session or loads it. If the process before still retires, it
// is idle, so it is killed; it is gone before the new one loads the session.
func (s *Session) launch(ctx context.Context, historyLimit int) (client *droid.Client, info *stream.SessionInfo, err error) {
	held := s.markLoading(ctx)
	retiring := s.proc.Exiting()
	open := s.openStored(historyLimit, held)
	id, added := s.droidID, *s.systemPrompt.Load()
	cwd, servers, unmade := s.cwd, s.servers.List(), s.proc.NeedsCreate()
	s.unlocked(ctx, func(ctx context.Context) {
		if retiring != nil {
			retiring.Kill()
			<-retiring.Exited()
		}
		words := added.Added(added.Text)
		if !unmade {
			words = s.deps.Launcher.Added(ctx, id, added)
		}
		client, info, err = s.deps.Launcher.Launch(ctx, cwd, servers, words, open)
	})
	if err != nil {
		s.notLoading()
	}
	return client, info, err
}

// restoreSettings gives a session that a process has just loaded its former settings. droid may refuse or ignore values: what it reports
// afterwards counts (quirk 14), and is sent like any change. A mode that asks less than the former one lets no prompt pass, see restoreMode.
func (s *Session) restoreSettings(ctx context.Context, before options.Before) {
	client := s.proc.Client()
	if client == nil {
		return
	}
	for _, patch := range s.options.ToRestore(client.Version(), before) {
		err := s.changeSettings(ctx, client, patch)
		if err != nil {
			s.log.Warn("a loaded session did not take a setting back", zap.Error(err))
		}
		if diesOf(err) && s.proc.Client() == client {
			s.markEnding() // its events come first
			break
		}
	}
	_ = s.syncEvents(ctx) // settings_updated comes before the reply
	s.options.Loaded()
}

// adopt makes client the session's process. Its events are read from now on.
func (s *Session) adopt(client *droid.Client) {
	s.proc.Adopt(client, s.show.ToolIDs())
	s.recordFlight(client.Flight())
	s.adoptSubagents()
	client.Notify(s.loop.wake)
	s.show.SetLinesFromOne(client.Version().Supports(stream.CountsLinesFromOne))
	s.servers.DroidStarted(time.Now(), processOf(client))
	s.fileCalls.use(s.deps.overlay(s, client))
	s.mu.Go(func() {
		s.unlocked(s.Context, func(ctx context.Context) {
			select {
			case <-client.Ending():
			case <-ctx.Done():
			}
		})
		if s.proc.Client() == client && !s.ended {
			s.markEnding()
		}
	})
}

// diesOf reports whether a call failed because droid has ended, or ends.
func diesOf(err error) bool {
	_, dies := errors.AsType[*droid.ExitError](err)
	return dies || errors.Is(err, droid.ErrClosed)
}

// noDroid says that a call was not made, as there is no droid for it.
type noDroid struct{ why *jsonrpc.Error }

func (e *noDroid) Error() string { return e.why.Message }

// whyNoDroid returns why there was no droid for a call, nil if the call was made.
func whyNoDroid(err error) *jsonrpc.Error {
	if none, ok := errors.AsType[*noDroid](err); ok {
		return none.why
	}
	return nil
}

// withDroid calls f with the session's droid, which is started if necessary and then loads up to limit messages; started is its answer to
// that, nil if it was running. The caller has taken lockRPC. If droid dies, it may not have received f's call, so f is called once more,
// with the next droid. The error is f's, or a noDroid.
func (s *Session) withDroid(ctx context.Context, limit int, f func(client *droid.Client, started *stream.SessionInfo) error) error {
	for again := false; ; again = true {
		client, started, failure := s.awaitDroid(ctx, limit)
		if failure != nil {
			return &noDroid{failure}
		}
		if err := f(client, started); again || !diesOf(err) {
			return err
		}
		if s.proc.Client() == client {
			s.markEnding() // its events come first
		}
	}
}

// droidEnd is how a session ends its droid.
type droidEnd int

const (
	// replaced leaves the session without a droid. The process is asked to end, and is gone before another one loads the session. Callers
	// see that it has no prompt, which would fail; one that is being prepared gets another droid. A turn of droid's own ends.
	replaced droidEnd = iota
	// killed stops droid at once, which does not count as a crash. The session still processes its last output, and whatever needs a droid waits until the process is gone.
	killed
	// atEnd ends the session, too: droid is asked to end, and its events are read until it is gone.
	atEnd
)

// endAfterStart ends the droid that has read what a command has changed, also one that is being started. If ctx has ended, a panic has ended
// the command, and the droid with it.
func (s *Session) endAfterStart(ctx context.Context, why string) {
	_ = s.waitFor(ctx, "a command", needStart)
	if ctx.Err() == nil {
		s.endDroid(replaced, why)
	}
}

// endDroid ends the session's droid, if it has one, and logs why. It is the only function of a session that does. One that is being started is
// not ended, see endAfterStart. A caller that can ask the user about commands in the background asks before; otherwise the user is notified here.
func (s *Session) endDroid(how droidEnd, why string) {
	if how == replaced {
		s.drainEvents() // what it has said already is shown
	}
	client := s.proc.Client()
	if client == nil {
		return
	}
	if how != atEnd {
		s.log.Info("droid is ended", zap.String("why", why))
	}
	left := s.updateBackground()
	switch how {
	case replaced:
		client, graceful := s.proc.Replace(), s.proc.Graceful()
		s.mu.Go(func() {
			s.unlocked(s.Context, func(context.Context) { process.Close(graceful, client); endLeft(left) })
			s.proc.OldExited(client)
		})
		s.endWork()
	case killed:
		s.proc.Kill(why)
		s.async(func(context.Context) { endLeft(left) })
		s.markEnding()
	case atEnd:
		s.readUntilExit(client)
		s.async(func(context.Context) { endLeft(left) })
	}
}

// readUntilExit asks droid to end, and processes its events until it has.
func (s *Session) readUntilExit(client *droid.Client) {
	closed := make(chan struct{})
	s.async(func(context.Context) {
		defer close(closed)
		defer client.Kill() // it is gone by then, unless Close panicked
		// Close bounds the time by itself and returns when the process is gone.
		if err := client.Close(s.proc.Graceful()); err != nil {
			s.log.Debug("droid ended", zap.Error(err))
		}
	})
	for ev := range client.Events() {
		s.apply(s.proc.Normalizer().Handle(time.Now(), ev))
	}
	<-closed
}

// droidExited takes the end of a droid that the session had: its events have ended, and its process is gone. Machine.DroidExited has the
// next droid get what this one had not accepted, endWork ends the turns that it had begun and their prompts, and Machine.DroidExitHandled
// what is left. The next droid is started where a prompt, or another request, waits for one in awaitDroid.
func (s *Session) droidExited() {
	client := s.proc.Client()
	err := client.ExitError()
	s.log.Warn("droid has ended", zap.Error(err))
	if left := s.updateBackground(); len(left) > 0 {
		s.async(func(context.Context) { endLeft(left) })
	}
	fault := s.proc.Exited(err)
	if err != nil && err.KilledFor == "" {
		s.reportFault(droid.LogText(err))
	}
	s.prompts.DroidExited(client.LastAccepted(), fault, acperr.Died{Exit: err})
	defer func() { s.prompts.DroidExitHandled(acperr.Died{Exit: err}) }() // also after a panic: prompts wait for it
	s.endWork()
}

// endWork ends the turns and withdraws the questions of a droid that has exited or was replaced. The events that end the turns
// are held behind those that wait for files, if any do; readNoMore then applies all of them in order, without files. It follows apply because
// one of the former may itself be held. The questions that are left after that belong to no turn.
func (s *Session) endWork() {
	defer s.questions.DroidExited() // also after a panic: the next droid's questions wait behind them
	s.servers.DroidExited()
	s.modeOrder.droidExited()
	s.fileCalls.End()
	s.apply(s.proc.Normalizer().DroidExited(time.Now()))
	s.readNoMore() // what the prompts are answered by is not held back
}

// markEnding makes everything that needs a droid wait until the process and what it started are gone. Then another one serves it.
func (s *Session) markEnding() {
	s.proc.MarkEnding()
	s.pausePrompts() // at once: what the caller does before it releases the lock may have the machine steer a prompt
	s.readNoMore()   // its end is not held back
}

// parkRetry is when parking is tried again while droid has a process running in
// the background, or the user may be logging in to an MCP server.
const parkRetry = time.Minute

// park ends the process of a session that rests; the next prompt starts one
// again. A droid that works by itself, or has a process or a subagent running in the background, is kept.
func (s *Session) park(now time.Time) {
	client := s.proc.Client()
	switch {
	case !s.proc.ParkDue(now):
	case client == nil || !s.prompts.Idle() || s.questions.IsOpen():
		// It no longer rests; the end of the prompt or load sets a new time.
	case !s.droidRests():
		s.proc.ScheduleParking(now, parkRetry)
	default:
		s.endDroid(replaced, "the session rests")
	}
}

// droidRests reports whether nothing would be lost with the droid that runs.
func (s *Session) droidRests() bool {
	client := s.proc.Client()
	return client != nil && !s.proc.Working() && !client.HasChildren() && !s.proc.SubagentsWork() && !s.servers.LogsIn(time.Now())
}
