package adapter

import (
	"context"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/options"
)

// wholeHistory is the message limit that makes droid return all messages: since
// 0.215 it returns the last 100 without one (quirk 21).
const wholeHistory = 1_000_000

// withDroid calls f when the session has a process: now, or when one was started
// and has loaded the session. historyLimit is how many messages droid is then asked
// for.
func (s *Session) withDroid(historyLimit int, f waiter) {
	switch {
	case s.ended:
		f(nil, errEnding())
	case s.proc.client() != nil:
		f(nil, nil)
	case s.prompts.machine.GaveUp():
		f(nil, keepsCrashing(s.proc.lastCrash()))
	case s.proc.await(f):
		s.start(historyLimit)
	}
}

// start starts droid beside the owner and loads the session into it, with the
// settings it had. If the process before is still leaving, it is idle, so it is
// killed; it is gone before the new one loads the session.
func (s *Session) start(historyLimit int) {
	leaving := s.proc.stillLeaving()
	open := s.openStored(droid.LoadParams{SessionID: s.droidID, MessageLimit: historyLimit})
	id, added := s.droidID, s.instructed
	cwd, servers, wanted := s.cwd, s.servers.List(), s.options.Settings()
	s.do(func(ctx context.Context) {
		s.before.wait()
		if leaving != nil {
			leaving.Kill()
			<-leaving.Exited()
		}
		client, info, err := s.agent.launch(ctx, cwd, servers, s.agent.addedTo(id, added), open)
		if err == nil {
			if err := restoreSettings(ctx, client, wanted, info.Settings); err != nil {
				s.agent.log.Warn("a loaded session did not take its settings back", zap.Error(err))
			}
		}
		if !s.post(func() { s.started(client, info, err) }) && err == nil {
			client.Kill()
			<-client.Exited()
		}
	}, func() { s.started(nil, nil, errPanic) })
}

// restoreSettings gives a loaded session the settings that it had here. A value
// that droid does not take shows in settings_updated, and so to the user.
func restoreSettings(ctx context.Context, client *droid.Client, wanted, got stream.Settings) error {
	patch := options.ToRestore(client.Version(), wanted, got)
	if patch.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settingsTime)
	defer cancel()
	return client.UpdateSettings(ctx, patch)
}

// started takes the process that start made, and serves those who waited.
func (s *Session) started(client *droid.Client, info *stream.SessionInfo, err error) {
	waiting := s.proc.takeWaiting()
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
		case s.proc.client() != nil:
		case s.registered:
			failure = s.crashError(s.proc.lastCrash())
		default:
			failure = openError(s.id, s.proc.lastCrash())
		}
	}
	for _, f := range waiting {
		f(info, failure)
	}
	s.nextReload()
}

// adopt makes client the session's process. Its events are read from now on.
func (s *Session) adopt(client *droid.Client) {
	s.proc.adopt(client, s.show.ToolIDs())
	s.show.SetLinesFromOne(client.Version().Has(stream.CountsLinesFromOne))
	s.servers.ProcessStarted(time.Now(), processOf(client))
	s.fileCalls.usedAs(s.id)
	s.fileCalls.use(s.agent.desk(client, s.fileCalls.session), s.post, s.log)
}

// alone runs f when the earlier calls to droid have ended, see callQueue.
func (s *Session) alone(f func(end func())) { s.proc.calls.add(f) }
