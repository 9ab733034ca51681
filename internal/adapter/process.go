package adapter

import (
	"context"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// wholeHistory is the message limit that makes droid return all messages: since
// 0.215 it returns the last 100 without one (quirk 21).
const wholeHistory = 1_000_000

// parkRetry is when parking is tried again while droid has a process running in
// the background.
const parkRetry = time.Minute

// withDroid calls f when the session has a process: now, or when one was started
// and has loaded the session. info is what droid said then, nil when the process
// was there before.
func (s *Session) withDroid(historyLimit int, f func(info *stream.SessionInfo, err *acp.RequestError)) {
	switch {
	case s.ended:
		f(nil, errEnding())
	case s.client != nil:
		f(nil, nil)
	case s.prompts.machine.GaveUp():
		f(nil, keepsCrashing(s.lastCrash))
	default:
		s.waiting = append(s.waiting, f)
		if len(s.waiting) == 1 {
			s.start(historyLimit)
		}
	}
}

// start starts droid beside the owner and loads the session into it, with the
// settings it had. A process that still leaves is idle: it goes at once, and is
// gone before the next one has the session.
func (s *Session) start(historyLimit int) {
	leaving := s.leaving
	open := openStored(droid.LoadParams{SessionID: s.droidID, MessageLimit: historyLimit})
	cwd, servers, wanted := s.cwd, s.servers, s.options.settings
	s.do(func(ctx context.Context) {
		s.before.wait()
		if leaving != nil {
			leaving.Kill()
			<-leaving.Exited()
		}
		client, info, err := s.agent.launch(ctx, cwd, servers, open)
		if err == nil {
			s.agent.restoreSettings(ctx, client, wanted, info.Settings)
		}
		if !s.post(func() { s.started(client, info, err) }) && err == nil {
			client.Kill()
			<-client.Exited()
		}
	}, func() { s.started(nil, nil, errPanic) })
}

// restoreSettings gives a loaded session the settings that it had here. A value
// that droid does not take shows in settings_updated, and so to the user.
func (a *Agent) restoreSettings(ctx context.Context, client *droid.Client, wanted, got stream.Settings) {
	if wanted.Raw == nil {
		return // the session was never open here
	}
	patch := stream.SettingsPatch{}
	if mode := wanted.Mode(); mode != "" && mode != got.Mode() {
		patch = stream.ModeSettings(client.Version(), mode)
	}
	if differs(wanted.ModelID, got.ModelID) {
		patch.ModelID = wanted.ModelID
	}
	if differs(wanted.ReasoningEffort, got.ReasoningEffort) {
		patch.ReasoningEffort = wanted.ReasoningEffort
	}
	if patch.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settingsTime)
	defer cancel()
	if err := client.UpdateSettings(ctx, patch); err != nil {
		a.log.Warn("a loaded session did not take its settings back", zap.Error(err))
	}
}

func differs(wanted, got *string) bool { return wanted != nil && (got == nil || *wanted != *got) }

// started takes the process that start made, and serves those who waited.
func (s *Session) started(client *droid.Client, info *stream.SessionInfo, err error) {
	waiting := s.waiting
	s.waiting = nil
	var failure *acp.RequestError
	switch {
	case err != nil:
		failure = s.restartError(err)
	case s.ended:
		client.Kill()
		<-client.Exited()
		failure = errEnding()
	default:
		s.adopt(client)
		s.opened(info)
		switch {
		case s.client != nil:
		case s.registered:
			failure = s.crashError(s.lastCrash)
		default:
			failure = openError(s.id, s.lastCrash)
		}
	}
	for _, f := range waiting {
		f(info, failure)
	}
	s.nextReload()
}

// alone runs f when those before it have called their end. Changes of settings,
// loads and forks go to droid one after the other: the answer to a load tells the
// settings, too, and a process is not left while one of them is under way.
func (s *Session) alone(f func(end func())) {
	s.calls = append(s.calls, f)
	if len(s.calls) == 1 {
		s.nextCall()
	}
}

// nextCall runs the first call that waits. Its end counts once; a panic is one, too.
func (s *Session) nextCall() {
	ended := false
	end := func() {
		if ended {
			return
		}
		ended = true
		if s.calls = s.calls[1:]; len(s.calls) > 0 {
			s.nextCall()
			return
		}
		s.nextReload()
	}
	defer func() {
		if p := recover(); p != nil {
			s.post(end)
			panic(p)
		}
	}()
	s.calls[0](end)
}

// adopt makes client the session's process. Its events are read from now on.
func (s *Session) adopt(client *droid.Client) {
	s.client, s.events = client, client.Events()
	s.norm = quirks.New(client.Version())
	s.starting = startingServers(client, s.servers)
	s.norm.Reserve(s.show.ToolIDs()...)
	s.show.SetLinesFromOne(client.Version().Has(stream.CountsLinesFromOne))
}

// droidGone ends what the process was doing.
func (s *Session) droidGone() {
	client := s.client
	awaitExit(client)
	err := client.ExitError()
	s.log.Warn("droid has ended", zap.Error(err))
	s.client, s.events, s.starting = nil, nil, nil
	s.endLogins()
	s.lastCrash = err
	s.prompts.machine.Gone(droidDied{err})
	defer s.notDying()
	defer func() { s.carryOut(s.prompts.machine.Buried(droidDied{err})) }() // also after a panic: prompts wait for it
	s.readNoMore()
	s.apply(s.norm.Exited(time.Now()))
	s.dialog.withdrawAny()
}

// dies notes that the process was killed although prompts may wait: they wait until
// it is gone.
func (s *Session) dies() {
	if !s.dying {
		s.dying = true
		s.prompts.machine.Hold()
	}
}

// notDying notes that the process is gone, or no longer the session's.
func (s *Session) notDying() {
	if s.dying {
		s.dying = false
		s.carryOut(s.prompts.machine.Release())
	}
}

// exitTime bounds how long a process may live on after it closed its output.
const exitTime = 2 * time.Second

// awaitExit returns when the process is gone.
func awaitExit(client *droid.Client) {
	patience := time.NewTimer(exitTime)
	defer patience.Stop()
	select {
	case <-client.Exited():
	case <-patience.C:
		client.KillFor("it had closed its stdout and did not end")
		<-client.Exited()
	}
}

// rest notes that the session became idle: it may be parked after a while.
func (s *Session) rest() {
	if s.agent.cfg.ParkAfter > 0 {
		s.parkAt = time.Now().Add(s.agent.cfg.ParkAfter)
	}
}

// park ends the process of a session that rests; the next prompt starts one
// again. A process that droid left running in the background keeps droid.
func (s *Session) park(now time.Time) {
	if s.parkAt.IsZero() || now.Before(s.parkAt) {
		return
	}
	s.parkAt = time.Time{}
	if s.client == nil || !s.prompts.machine.Idle() || s.loads.pending() || len(s.calls) > 0 || s.dialog.isOpen() {
		return // it rests no more; the end of the prompt or load sets a new time
	}
	if s.client.HasChildren() || s.logsIn(now) {
		s.parkAt = now.Add(parkRetry)
		return
	}
	s.log.Info("session parked")
	s.leave()
}

// leave ends the process politely, beside the owner.
func (s *Session) leave() {
	client := s.client
	s.client, s.events, s.starting = nil, nil, nil
	s.notDying()
	s.endLogins()
	s.leaving = client
	s.do(func(context.Context) {
		closeDroid(s.polite, client)
		s.post(func() {
			if s.leaving == client {
				s.leaving = nil
			}
		})
	})
}

// closeDroid ends a process whose events nobody reads any more; at once when ctx
// ends.
func closeDroid(ctx context.Context, client *droid.Client) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for range client.Events() {
		}
	}()
	_ = client.Close(ctx) // how it ended is of no interest
	<-drained
}
