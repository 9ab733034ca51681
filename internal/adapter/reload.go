package adapter

import (
	"context"
	"errors"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
)

// reload is one session/load or session/resume.
type reload struct {
	ctx     context.Context // of the request; it ends when that is cancelled
	request *request
	params  sessionParams
	replay  bool
	done    func(protocol.SessionResult, *acp.RequestError) // called once
}

// loadSession opens a stored session and replays its history.
func (a *Agent) loadSession(c call) (any, *acp.RequestError) { return a.reopen(c, true) }

// resumeSession opens a stored session without its history.
func (a *Agent) resumeSession(c call) (any, *acp.RequestError) { return a.reopen(c, false) }

// reopen loads a session: one that is open here in the process it has, another
// in a new one.
func (a *Agent) reopen(c call, replay bool) (any, *acp.RequestError) {
	p, err := a.decodeSession(c, true)
	if err != nil {
		return nil, err
	}
	s, known, err := a.take(p.SessionID, func() *Session { return a.makeSession(p.SessionID, p.CWD, p.servers) })
	if err != nil {
		return nil, err
	}
	result, err := askOwner(s.owner, inquiry[protocol.SessionResult]{ordered: c.ordered, work: func(answer func(protocol.SessionResult, *acp.RequestError)) {
		s.reload(&reload{c.ctx, c.request, p, replay, answer})
	}})
	if err != nil {
		if !known {
			a.forget(s)
			s.stop()
		}
		return nil, err
	}
	return result, nil
}

// reload takes a session/load or session/resume. A running prompt is not
// disturbed: its session cannot be loaded. Loads run one after the other, each
// when the responses before it are written, and prompts wait for them, so that
// the history comes in one piece.
func (s *Session) reload(r *reload) {
	switch {
	case s.ended:
		r.done(protocol.SessionResult{}, errEnding())
	case s.unopened != nil:
		r.done(protocol.SessionResult{}, s.unopened)
	case s.turn != nil || len(s.queue) > 0:
		r.done(protocol.SessionResult{}, invalidRequest("the session works on a prompt; cancel it or wait for its end before you load the session"))
	default:
		s.reloads = append(s.reloads, r)
		s.nextReload()
	}
}

// nextReload begins the first load that waits, when nothing is under way that it
// would cut short: a process that is being started may have other MCP servers and
// was asked for less history, and one that changes its settings must not be left.
func (s *Session) nextReload() {
	if s.reloading || len(s.reloads) == 0 || s.unanswered > 0 || s.proc.starting() || s.proc.calls.busy() || s.ended {
		return
	}
	s.reloading = true
	r := s.reloads[0]
	s.decline(r.params)
	s.proc.crashes.completed() // the user wants droid to be tried again
	limit := 1
	if r.replay {
		limit = wholeHistory
	}
	s.useServers(r.params.servers)
	finish := func(info *stream.SessionInfo, err *acp.RequestError) { s.reloaded(r, info, err) }
	s.withDroid(limit, func(info *stream.SessionInfo, err *acp.RequestError) {
		if err != nil || info != nil {
			finish(info, err)
			return
		}
		s.loadAgain(r.ctx, limit, finish) // the process was there before
	})
}

// reloaded replays what droid told, if that was wanted, and hands the result over.
// From now on the editor knows the session by the id that it asked for.
func (s *Session) reloaded(r *reload, info *stream.SessionInfo, err *acp.RequestError) {
	if s.ended {
		r.done(protocol.SessionResult{}, errEnding())
		return
	}
	if err != nil {
		if err.Code == codeResourceNotFound {
			err = unknownSession(r.params.SessionID)
		}
		s.reloadEnded(r, err)
		if !s.registered {
			s.neverOpened(err)
		}
		return
	}
	s.tellAs(r.params.SessionID)
	if r.replay {
		s.beginReplay(r.ctx, info, func(err *acp.RequestError) { s.reloadEnded(r, err) })
		return
	}
	s.reloadEnded(r, nil)
}

// reloadEnded answers a load that has run. It is called once for each.
func (s *Session) reloadEnded(r *reload, err *acp.RequestError) {
	s.reloads, s.reloading = s.reloads[1:], false
	s.unanswered++
	if err != nil {
		r.done(protocol.SessionResult{}, err)
	} else {
		// The editor begins anew: it is told all that it knew, behind the response.
		s.registered = false
		s.toldCommands, s.toldUsage = nil, droid.ContextStats{}
		modes, list := s.options.tell()
		r.done(protocol.SessionResult{Modes: modes, ConfigOptions: list}, nil)
	}
	r.request.whenAnswered(func() { s.post(func() { s.reloadAnswered(err == nil) }) })
}

// neverOpened gives up a session because the load which was to open it failed. All
// that came behind that load fails alike.
func (s *Session) neverOpened(err *acp.RequestError) {
	s.agent.forget(s)
	s.unopened = err
	for _, r := range s.reloads {
		r.done(protocol.SessionResult{}, err)
	}
	s.reloads = nil
	for _, t := range s.queue {
		s.finish(t, ending{err: err})
	}
	s.queue = nil
}

// reloadAnswered follows the response to a load.
func (s *Session) reloadAnswered(loaded bool) {
	if loaded {
		s.register()
		s.tellUsage()
	}
	s.rest()
	s.answered()
}

// endReloads answers the loads that have not begun when the session ends.
func (s *Session) endReloads() {
	waiting := s.reloads
	if s.reloading {
		waiting = waiting[1:] // the first has its answer from what it waits for
	}
	s.reloads = nil
	for _, r := range waiting {
		r.done(protocol.SessionResult{}, errEnding())
	}
}

// useServers makes these the session's MCP servers. A process that has others ends,
// and the next one takes the session up.
func (s *Session) useServers(servers []stream.MCPServer) {
	if s.servers.Use(servers) && s.proc.client() != nil {
		s.leave()
	}
}

// loadAgainTime bounds a load in a process that has the session; up to 0.25 s
// was seen.
const loadAgainTime = 10 * time.Second

var errLoadHangs = errors.New("droid did not answer within 10 s")

// loadAgain loads the session once more in the process that has it. 0.99 may hang
// for good when that comes within a second of a turn (quirk 32): a process that
// does not answer is replaced by one that loads the session.
func (s *Session) loadAgain(ctx context.Context, limit int, done func(*stream.SessionInfo, *acp.RequestError)) {
	s.alone(func(end func()) {
		client, servers := s.proc.client(), s.servers.List()
		if client == nil { // it has gone while the load waited
			s.withDroid(limit, done)
			end()
			return
		}
		if client.TakesMCPServers() {
			servers = nil // it has them
		}
		load := openStored(droid.LoadParams{SessionID: s.droidID, MessageLimit: limit})
		s.do(func(sctx context.Context) {
			ctx, cancel := context.WithTimeoutCause(ctx, loadAgainTime, errLoadHangs)
			defer cancel()
			defer context.AfterFunc(sctx, cancel)()
			info, err := load(ctx, client, servers)
			if err != nil && context.Cause(ctx) == errLoadHangs {
				err = errLoadHangs
			}
			if !s.post(func() {
				defer end()
				s.loadedAgain(client, limit, info, err, done)
			}) {
				done(nil, errEnding())
			}
		}, end)
	})
}

// loadedAgain takes the outcome of loadAgain.
func (s *Session) loadedAgain(client *droid.Client, limit int, info *stream.SessionInfo, err error, done func(*stream.SessionInfo, *acp.RequestError)) {
	hangs := err == errLoadHangs && s.proc.client() == client
	switch {
	case err == nil:
		s.opened(info)
		done(info, nil)
	case hangs && s.turn != nil && s.turn.command == nil:
		s.log.Warn("droid hangs while it loads the session; it is killed")
		client.KillFor("it did not answer for 10 s while it loaded the session") // a prompt came meanwhile; the end of the process is its end
		done(nil, s.openError(err))
	case hangs:
		s.log.Warn("droid hangs while it loads the session; another one takes it up")
		s.leave()
		s.withDroid(limit, done)
	default:
		done(nil, s.openError(err))
	}
}

// loadWhole calls f with the whole conversation, which droid can tell while no
// turn runs.
func (s *Session) loadWhole(f func(*stream.SessionInfo, *acp.RequestError)) {
	s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			f(nil, err)
			return
		}
		s.loadAgain(s.ctx, wholeHistory, f)
	})
}
