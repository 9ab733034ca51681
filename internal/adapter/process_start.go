package adapter

import (
	"context"
	"errors"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/zap"

	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
)

// wholeHistory is the message limit that makes droid return all messages: since
// 0.215 it returns the last 100 without one (quirk 21).
const wholeHistory = 1_000_000

// waiter is called when the session has a process. info is what droid said when it
// loaded the session, nil when the process was there before; err is why there is
// none.
type waiter func(info *stream.SessionInfo, err *acp.RequestError)

// withDroid calls f when the session has a process: now, or when one was started
// and has loaded the session. historyLimit is how many messages droid is then asked
// for.
func (s *Session) withDroid(historyLimit int, f waiter) {
	switch {
	case s.ended:
		f(nil, problem.Ending())
	case s.proc.Doomed():
		s.line.When("what needs a droid", func() { s.withDroid(historyLimit, f) }, needGone)
	case s.proc.Client() != nil && !s.proc.Starting():
		f(nil, nil)
	case s.proc.Client() == nil && s.prompts.GaveUp():
		f(nil, problem.KeepsCrashing(s.proc.LastCrash()))
	default:
		if s.proc.Start() {
			s.start(historyLimit)
		}
		s.line.When("what needs a droid", func() { f(s.proc.Outcome()) }, needStart)
	}
}

// start starts droid beside the owner and loads the session into it. If the process
// before still retires, it is idle, so it is killed; it is gone before the new one
// loads the session.
func (s *Session) start(historyLimit int) {
	retiring := s.proc.Retiring()
	open := s.openStored(droid.LoadParams{SessionID: s.droidID, MessageLimit: historyLimit})
	id, added := s.droidID, *s.instructed.Load()
	cwd, servers, unmade := s.cwd, s.servers.List(), s.proc.Unmade()
	s.Do(func(ctx context.Context) {
		if retiring != nil {
			retiring.Kill()
			<-retiring.Exited()
		}
		words := added.Added(added.Text)
		if !unmade {
			words = s.agent.opener.Added(ctx, id, added)
		}
		client, info, err := s.agent.opener.Launch(ctx, cwd, servers, words, open)
		if !s.Post(func() { s.started(client, info, err) }) && err == nil {
			client.Kill()
			<-client.Exited()
		}
	}, func() { s.started(nil, nil, problem.Lost()) })
}

// restoreSettings gives a session that a process has just loaded the settings that it
// had before, and then calls then. droid may refuse values, or ignore them: what it reports
// afterwards counts (quirk 14), and is told as any change is. A mode that asks less than the
// one before lets no prompt pass, see inItsMode.
func (s *Session) restoreSettings(before options.Before, then func()) {
	client := s.proc.Client()
	if client == nil {
		then()
		return
	}
	patches := s.options.ToRestore(client.Version(), before)
	restored := func() {
		s.drainEvents() // settings_updated comes before the reply
		s.options.Restarted(before)
		then()
	}
	if len(patches) == 0 {
		restored()
		return
	}
	s.Do(func(ctx context.Context) {
		for _, patch := range patches {
			if err := changeSettings(ctx, client, patch); err != nil {
				s.log.Warn("a loaded session did not take a setting back", zap.Error(err))
			}
		}
		s.Post(restored)
	}, restored)
}

// started takes the process that start made. Those who waited go on when the session has the
// settings that it had before.
func (s *Session) started(client *droid.Client, info *stream.SessionInfo, err error) {
	switch {
	case err != nil:
		s.proc.Started(info, problem.NotRestarted(s.out.Session(), s.out.Known(), err))
	case s.ended:
		client.Kill()
		<-client.Exited()
		s.proc.Started(info, problem.Ending())
	default:
		before, unmade := s.options.Before(), s.proc.Unmade()
		s.adopt(client)
		s.opened(info)
		if unmade {
			s.checkDefaults()
			s.checkWords()
			s.tellLeftOut()
			if s.proc.Client() == nil { // the next one gets the words when it loads the session
				s.start(1)
				return
			}
		}
		s.restoreSettings(before, func() {
			var gone *acp.RequestError // again
			if s.proc.Client() == nil && s.out.Known() {
				gone = problem.Crash(s.proc.LastCrash(), s.prompts.GaveUp())
			} else if s.proc.Client() == nil {
				gone = problem.NotOpened(s.out.Session(), s.proc.LastCrash())
			}
			s.proc.Started(info, gone)
		})
	}
}

// inItsMode calls then for a prompt that begins when droid is in the mode that the session
// had before droid was started again, or one that asks more. Otherwise it asks droid once
// more for that mode; if droid still does not take it, the prompt fails.
func (p *userPrompt) inItsMode(then func()) {
	s := p.s
	mode := s.options.Owed()
	if mode == "" {
		then()
		return
	}
	s.updateSettings(func(v stream.Version) stream.SettingsPatch { return stream.ModeSettings(v, mode) },
		func(err *acp.RequestError) { s.prompts.Do(s.prompts.Fail(p.id, err)) },
		func(err error) {
			if s.options.Owed() == "" {
				then()
				return
			}
			s.prompts.Do(s.prompts.Fail(p.id, problem.ModeLost(mode.Title(), s.options.Mode().Title(), err)))
		})
}

// adopt makes client the session's process. Its events are read from now on.
func (s *Session) adopt(client *droid.Client) {
	s.proc.Adopt(client, s.show.ToolIDs())
	s.show.SetLinesFromOne(client.Version().Has(stream.CountsLinesFromOne))
	s.servers.ProcessStarted(time.Now(), processOf(client))
	s.fileCalls.use(s.agent.overlay(s, client))
	s.Do(func(ctx context.Context) {
		select {
		case <-client.Ending():
			s.Post(func() {
				if s.proc.Client() == client {
					s.awaitEnd()
				}
			})
		case <-ctx.Done():
		}
	})
}

// callDroid makes one of the calls to droid that wait for each other, see needCalls, with a droid
// that is started if need be when the call's turn has come; limit is how many messages it is
// then asked for. If there is none, fail is called with the reason. prepare returns the call,
// which runs beside the owner with a context that ends with the session, or none: then it has
// done all there is to do. info is what a droid that was just started said of the session,
// else nil. The owner calls then with the outcome, before the next call begins. If the session
// ends first, then is not called. A droid that dies may not have heard the call, so the
// next one gets it, once.
func callDroid(s *Session, limit int, fail func(*acp.RequestError), prepare func(client *droid.Client, info *stream.SessionInfo) func(ctx context.Context) error, then func(client *droid.Client, err error)) {
	s.line.Take(aCall, needCalls, func(end func()) {
		inCall(s, limit, fail, prepare, func(client *droid.Client, err error) {
			defer end()
			then(client, err)
		}, end)
	})
}

// inCall is callDroid where the turn has come. The next call begins with end, which then calls, at once or later;
// where then is not called, inCall does.
func inCall(s *Session, limit int, fail func(*acp.RequestError), prepare func(client *droid.Client, info *stream.SessionInfo) func(ctx context.Context) error, then func(client *droid.Client, err error), end func()) {
	again := false
	var try func(info *stream.SessionInfo, err *acp.RequestError)
	try = func(info *stream.SessionInfo, err *acp.RequestError) {
		under := false
		defer func() {
			if !under { // also where this panics
				end()
			}
		}()
		if err != nil {
			fail(err)
			return
		}
		client := s.proc.Client()
		call := prepare(client, info)
		if call == nil {
			return
		}
		under = true
		s.Do(func(ctx context.Context) {
			err := call(ctx)
			s.Post(func() {
				var died *droid.ExitError
				if !again && errors.As(err, &died) {
					again = true
					if s.proc.Client() == client {
						s.awaitEnd() // its events come first
					}
					s.withDroid(limit, try)
					return
				}
				then(client, err)
			})
		}, end)
	}
	s.withDroid(limit, try)
}
