package adapter

import (
	"context"
	"errors"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// wholeHistory is the message limit that makes droid return all messages: since
// 0.215 it returns the last 100 without one (quirk 21).
const wholeHistory = 1_000_000

// droid returns when the session has a process: at once, or when one was started and has loaded the
// session. historyLimit is how many messages droid is then asked for. info is what droid said as it
// loaded the session, nil when the process was there before.
func (s *Session) droid(ctx context.Context, t *owner.Task, historyLimit int) (info *stream.SessionInfo, err *acp.RequestError) {
	for s.proc.Doomed() && !s.ended {
		if err := s.until(ctx, t, "what needs a droid", needGone); err != nil {
			return nil, err
		}
	}
	switch {
	case s.ended:
		return nil, problem.Ending()
	case s.proc.Client() != nil && !s.proc.Starting():
		return nil, nil
	case s.proc.Client() == nil && s.prompts.GaveUp():
		return nil, problem.KeepsCrashing(s.proc.LastCrash())
	}
	if s.proc.Start() {
		s.Go(func(t *owner.Task) { s.start(t, historyLimit) })
	}
	if err := s.until(ctx, t, "what needs a droid", needStart); err != nil {
		return nil, err
	}
	return s.proc.Outcome()
}

// start starts droid and loads the session into it. Those who wait for a droid go on when the session
// has the settings that it had before.
func (s *Session) start(t *owner.Task, historyLimit int) {
	info, failure := (*stream.SessionInfo)(nil), problem.Lost() // where this panics
	defer func() { s.proc.Started(info, failure) }()
	for {
		unmade := s.proc.Unmade()
		client, told, err := s.launch(t, historyLimit)
		switch {
		case err != nil:
			failure = problem.NotRestarted(s.out.Session(), s.out.Known(), err)
			return
		case s.ended:
			client.Kill()
			<-client.Exited()
			failure = problem.Ending()
			return
		}
		before := s.options.Before()
		s.adopt(client)
		s.opened(told)
		if unmade {
			s.checkDefaults()
			s.checkWords()
			s.tellLeftOut()
		}
		if unmade && s.proc.Client() == nil {
			historyLimit = 1
			continue // the next one gets the words when it loads the session
		}
		s.restoreSettings(t, before)
		info, failure = told, nil
		if s.proc.Client() == nil && s.out.Known() && !s.prompts.GaveUp() {
			continue // it had no prompt, so none fails with it
		}
		if s.proc.Client() == nil && s.out.Known() {
			failure = problem.Crash(s.proc.LastCrash(), s.prompts.GaveUp()) // again
		} else if s.proc.Client() == nil {
			failure = problem.NotOpened(s.out.Session(), s.proc.LastCrash())
		}
		return
	}
}

// launch starts a droid that makes the session or loads it. If the process before still retires, it
// is idle, so it is killed; it is gone before the new one loads the session.
func (s *Session) launch(t *owner.Task, historyLimit int) (client *droid.Client, info *stream.SessionInfo, err error) {
	retiring := s.proc.Retiring()
	open := s.openStored(droid.LoadParams{SessionID: s.droidID, MessageLimit: historyLimit})
	id, added := s.droidID, *s.instructed.Load()
	cwd, servers, unmade := s.cwd, s.servers.List(), s.proc.Unmade()
	t.Beside(func(ctx context.Context) {
		if retiring != nil {
			retiring.Kill()
			<-retiring.Exited()
		}
		words := added.Added(added.Text)
		if !unmade {
			words = s.agent.opener.Added(ctx, id, added)
		}
		client, info, err = s.agent.opener.Launch(ctx, cwd, servers, words, open)
	})
	return client, info, err
}

// restoreSettings gives a session that a process has just loaded the settings that it had before.
// droid may refuse values, or ignore them: what it reports afterwards counts (quirk 14), and is told
// as any change is. A mode that asks less than the one before lets no prompt pass, see inItsMode.
func (s *Session) restoreSettings(t *owner.Task, before options.Before) {
	client := s.proc.Client()
	if client == nil {
		return
	}
	if patches := s.options.ToRestore(client.Version(), before); len(patches) > 0 {
		t.Beside(func(ctx context.Context) {
			for _, patch := range patches {
				if err := changeSettings(ctx, client, patch); err != nil {
					s.log.Warn("a loaded session did not take a setting back", zap.Error(err))
				}
			}
		})
	}
	s.drainEvents() // settings_updated comes before the reply
	s.options.Restarted(before)
}

// inItsMode has droid be in the mode that the session had before droid was started again, or in one
// that asks more. Where it is not, it is asked once more for that mode. The error says that it still
// does not take it.
func (s *Session) inItsMode(ctx context.Context, t *owner.Task) *acp.RequestError {
	mode := s.options.Owed()
	if mode == "" {
		return nil
	}
	err := s.updateSettings(ctx, t, func(v stream.Version) stream.SettingsPatch { return stream.ModeSettings(v, mode) })
	var none *noDroid
	switch {
	case errors.As(err, &none):
		return none.why
	case s.options.Owed() != "":
		return problem.ModeLost(mode.Title(), s.options.Mode().Title(), err)
	}
	return nil
}

// adopt makes client the session's process. Its events are read from now on.
func (s *Session) adopt(client *droid.Client) {
	s.proc.Adopt(client, s.show.ToolIDs())
	s.show.SetLinesFromOne(client.Version().Has(stream.CountsLinesFromOne))
	s.servers.ProcessStarted(time.Now(), processOf(client))
	s.fileCalls.use(s.agent.overlay(s, client))
	s.Go(func(t *owner.Task) {
		t.Beside(func(ctx context.Context) {
			select {
			case <-client.Ending():
			case <-ctx.Done():
			}
		})
		if s.proc.Client() == client && !s.ended {
			s.awaitEnd()
		}
	})
}

// noDroid says that a call was not made, as there is no droid for it.
type noDroid struct{ why *acp.RequestError }

func (e *noDroid) Error() string { return e.why.Message }

// callDroid makes one of the calls to droid that wait for each other, whose turn has come: who makes
// it holds needCalls. A droid that dies may not have heard it, so the next one gets it, once. call asks the
// droid that gets it, beside the owner; info is what that droid said where it was started just now, else nil. limit is
// how many messages it is then asked for. The error is the call's, or a noDroid.
func (s *Session) callDroid(ctx context.Context, t *owner.Task, limit int, call func(client *droid.Client, info *stream.SessionInfo) error) (*droid.Client, error) {
	for again := false; ; again = true {
		info, failure := s.droid(ctx, t, limit)
		if failure != nil {
			return nil, &noDroid{failure}
		}
		client := s.proc.Client()
		err := call(client, info)
		var died *droid.ExitError
		if again || !errors.As(err, &died) {
			return client, err
		}
		if s.proc.Client() == client {
			s.awaitEnd() // its events come first
		}
	}
}
