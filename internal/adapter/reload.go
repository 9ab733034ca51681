package adapter

import (
	"context"
	"errors"
	"slices"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/problem"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
)

// take is one session/load or session/resume.
type reload struct {
	instructions.Wanted
	s      *Session
	target string // where the symbolic links of its directory lead

	call   *wire.Call // its context ends when it is cancelled
	ids    []string   // of the thread, the newest last
	replay bool
	done   func(protocol.SessionResult, *acp.RequestError) // called once

	turn  *turns.Change   // its place among what is asked of the session
	over  func(why error) // ends that
	moved bool            // the thread goes on in what another window made of it
	kept  bool            // it was cancelled, and the session stays, as others wait for it; set before it is answered
}

// refuse answers a load that did not succeed.
func (r *reload) refuse(err *acp.RequestError) { r.done(protocol.SessionResult{}, err) }

// loadSession opens a stored session and replays its history.
func (a *Agent) loadSession(c *wire.Call) (any, *acp.RequestError) { return a.reopen(c, true) }

// resumeSession opens a stored session without its history.
func (a *Agent) resumeSession(c *wire.Call) (any, *acp.RequestError) { return a.reopen(c, false) }

// reopen loads a session: in the process it has, if it is open here, else in a new
// one.
func (a *Agent) reopen(c *wire.Call, replay bool) (any, *acp.RequestError) {
	p, place, err := a.decodeNamed(c)
	if err != nil {
		return nil, err
	}
	defer place.Leave()
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	r := &reload{Wanted: w, target: a.opener.Target(c.Context, w.CWD), call: c, replay: replay}
	s, known, ids, err := a.takeThread(c.Context, place, w)
	if err != nil {
		return nil, err
	}
	r.s, r.ids = s, ids
	followUp := ""
	if !known { // an open session has its value
		followUp = a.threads.FollowUp(c.Context, ids)
	}
	result, err := owner.Ask(s.Owner, owner.Inquiry[protocol.SessionResult]{
		Ordered: place.Leave,
		Work: func(answer func(protocol.SessionResult, *acp.RequestError)) {
			r.done = answer
			s.useFollowUp(followUp)
			r.take()
		},
		Context:   c.Context,
		Cancelled: func(func(protocol.SessionResult, *acp.RequestError)) { r.cancel() },
	})
	if err != nil {
		if !known && !r.kept {
			a.sessions.Forget(s)
			s.Stop()
		}
		return nil, err
	}
	return result, nil
}

// take takes a session/load or session/resume. A session that works on a prompt
// is not loaded, since that would disturb the prompt. Each load begins when the
// responses before it are written, and is over when its own is.
func (r *reload) take() {
	s := r.s
	switch err := s.takesNothing(); {
	case err != nil:
		r.refuse(err)
	case s.prompts.Busy():
		r.refuse(problem.InvalidRequest("the session works on a prompt; cancel it or wait for its end before you load the session"))
	default:
		r.turn = s.inTurn(turns.Session, func(over func(error)) {
			if err := s.takesNothing(); err != nil {
				defer over(nil)
				r.refuse(err)
				return
			}
			r.over = over
			s.load.Begin(r)
			// A process that is being started may have other MCP servers and was asked for less
			// history; one that changes its settings must not be replaced.
			s.line.When("a load", r.begin, needWritten, needStart, needCalls)
		})
	}
}

// begin begins a load when nothing is under way that it would cut short.
func (r *reload) begin() {
	s := r.s
	if !s.load.Has(r) {
		return // it was cancelled while it waited
	}
	s.out.Keep(r.Notices...) // of MCP servers that droid cannot have
	s.prompts.Forgive()      // the user wants droid to be tried again
	limit := 1
	if r.replay {
		limit = wholeHistory
	}
	if s.servers.Use(r.Servers) && s.proc.Client() != nil {
		s.retireDroid() // it has others; the next process loads the session
	}
	s.useInstructions(r.Wanted)
	from := s.droidID
	s.catchUp(r.ids)
	r.moved = s.droidID != from
	stayThere := s.useDirectory(r.CWD, r.target)
	finish := func(info *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			stayThere()
		}
		if err != nil || !r.replay || slices.Index(r.ids, s.droidID) < 1 {
			r.loaded(info, err, "")
			return
		}
		id, show := s.droidID, func(summary string) { r.loaded(info, err, summary) }
		s.Do(func(ctx context.Context) {
			summary := s.agent.threads.Summary(ctx, id)
			s.Post(func() { show(summary) })
		}, func() { show("") })
	}
	s.withDroid(limit, func(info *stream.SessionInfo, err *acp.RequestError) {
		if err != nil || info != nil {
			finish(info, err)
			return
		}
		s.loadAgain(r.call.Context, limit, problem.Loading, finish) // the process was there before
	})
}

// loaded replays what droid told, if that was wanted, and hands the result over. summary is what the
// conversation before became, "" for none.
// From now on the editor knows the session by the id that it asked for.
func (r *reload) loaded(info *stream.SessionInfo, err *acp.RequestError, summary string) {
	s := r.s
	switch {
	case !s.load.Has(r): // a panic ended it, or the user
		if r.kept {
			r.openedForOthers(err)
		}
		return
	case s.ended:
		r.refuse(problem.Ending())
		return
	case err != nil:
		if err.Code == problem.CodeNoSession {
			err = problem.UnknownSession(r.SessionID)
		}
		r.end(err)
		if !s.out.Known() {
			r.neverOpened(err)
		}
		return
	}
	s.out.Use(r.SessionID)
	s.out.Forget() // the editor begins anew: it is told everything again
	if r.replay {
		if summary != "" {
			tellNow(s, summary+"\n\nThat is a summary of what was said before, in place of which the model has it. `/fork before` makes "+
				"a thread of its own from the conversation before; `/sessions` lists all of them.")
		}
		show := func() {
			if s.load.Has(r) {
				others, _ := s.lock.Others()
				s.load.Show(info, others)
			}
		}
		if quirks.CutOff(info.Messages) {
			s.line.When("a load", show, needOthers) // where what was cut off may go on
			return
		}
		show()
		return
	}
	r.told()
}

// told answers the load when the commands and the use of the context window are known:
// all that a load tells comes before its response (the conformance kit's ACP-LOAD-002).
func (r *reload) told() {
	s := r.s
	s.load.Told()
	s.tellUsage()
	s.line.When("a load", func() { r.end(nil) }, needAnswers)
}

// end answers the load that runs.
func (r *reload) end(err *acp.RequestError) {
	s := r.s
	if !s.load.Answer(r) {
		return
	}
	if err != nil {
		r.refuse(err)
		if r.moved && s.out.Known() {
			s.out.Keep("In another window this conversation was compacted or rewound, and this thread goes on in what became of it. Load it again to see that.")
		}
	} else {
		s.tellLeftOut()
		result := s.sessionResult()
		s.register()
		r.done(result, nil)
	}
	r.call.Response.WhenWritten(func() { s.Post(r.answered) })
}

// cancel ends a load that the user has taken back, however far it is. If it was to open
// the session, and prompts or other requests wait behind it, the session is opened for them
// all the same.
func (r *reload) cancel() {
	s := r.s
	switch {
	case r.turn == nil: // it was refused
	case s.withdraw(r.turn):
		r.refuse(problem.Cancelled())
	case !s.load.Has(r): // it has its answer
	default:
		r.kept = s.prompts.Queued() || s.prompts.Changing() > 1
		opens := !s.out.Known() && !s.load.Opened() // and droid has not opened it yet
		r.end(problem.Cancelled())
		switch {
		case s.out.Known():
		case !r.kept:
			r.neverOpened(problem.InvalidRequest("the session was not opened, since its load was cancelled; load it again"))
		case !opens:
			r.openedForOthers(nil)
		}
	}
}

// openedForOthers goes on when a session was opened, or not, after the load that was to do
// it had been cancelled.
func (r *reload) openedForOthers(err *acp.RequestError) {
	s := r.s
	switch {
	case s.out.Known() || s.ended:
	case err != nil:
		r.neverOpened(err)
		s.Stop()
	default:
		s.register()
	}
}

// loseLoads ends the load of a session in which something panicked: what it waits for may
// never come, and prompts wait for it.
func (s *Session) loseLoads(err *acp.RequestError) {
	if r := s.load.Open(); r != nil {
		r.end(err)
	}
}

// neverOpened gives up a session because the load which was to open it failed. All
// that came behind that load fails alike.
func (r *reload) neverOpened(err *acp.RequestError) {
	s := r.s
	s.agent.sessions.Forget(s)
	s.Refuse(err)
	s.prompts.Do(s.prompts.FailWaiting(err))
}

// answered goes on when the response to a load is written.
func (r *reload) answered() {
	s := r.s
	s.proc.Rest(time.Now(), s.agent.cfg.ParkAfter)
	s.load.Written(r)
	r.over(nil)
}

// loadAgainTime bounds a load in a process that has the session; up to 0.25 s
// was seen.
const loadAgainTime = 10 * time.Second

var errLoadHangs = errors.New("droid did not answer within 10 s")

// loadAgain loads the session once more in the process that has it. 0.99 may hang
// for good when that comes within a second of a turn (quirk 32): a process that
// does not answer is replaced by one that loads the session. asked says, for errors,
// what the load is for.
func (s *Session) loadAgain(ctx context.Context, limit int, asked problem.Work, done func(*stream.SessionInfo, *acp.RequestError)) {
	s.line.Take(aCall, needCalls, func(end func()) { loadInCall(ctx, s, limit, asked, done, end) })
}

// loadInCall is loadAgain for the call whose turn it is. It ends, with end, when the settings are those from before:
// a change that came first would be undone.
func loadInCall(ctx context.Context, s *Session, limit int, asked problem.Work, done func(*stream.SessionInfo, *acp.RequestError), end func()) {
	var loaded *stream.SessionInfo
	inCall(s, limit, func(err *acp.RequestError) { done(nil, err) }, func(client *droid.Client, info *stream.SessionInfo) func(context.Context) error {
		if info != nil { // the one before had gone while the load waited
			done(info, nil)
			return nil
		}
		servers := s.servers.List()
		if client.TakesRuntime() {
			servers = nil // it has them
		}
		load := s.openStored(droid.LoadParams{SessionID: s.droidID, MessageLimit: limit})
		return func(sctx context.Context) (err error) {
			ctx, cancel := context.WithTimeoutCause(ctx, loadAgainTime, errLoadHangs)
			defer cancel()
			defer context.AfterFunc(sctx, cancel)()
			if loaded, err = load(ctx, client, servers); err != nil && context.Cause(ctx) == errLoadHangs {
				err = errLoadHangs
			}
			return err
		}
	}, func(client *droid.Client, err error) {
		restores := false
		defer func() {
			if !restores { // also where this panics
				end()
			}
		}()
		switch {
		case err == nil:
			before := s.options.Before()
			s.opened(loaded)
			s.restoreSettings(before, func() {
				defer end()
				done(loaded, nil)
			})
			restores = true
		case err == errLoadHangs && s.proc.Client() == client:
			s.log.Warn("droid hangs while it loads the session; another one takes it up")
			s.retireDroid()
			s.withDroid(limit, done)
		default:
			done(nil, problem.NotLoaded(asked, s.out.Session(), err, s.prompts.GaveUp()))
		}
	}, end)
}

// loadWhole calls f with the whole conversation. droid tells it only while no turn
// runs.
func (s *Session) loadWhole(f func(*stream.SessionInfo, *acp.RequestError)) {
	s.withDroid(1, func(_ *stream.SessionInfo, err *acp.RequestError) {
		if err != nil {
			f(nil, err)
			return
		}
		s.loadAgain(s.Context, wholeHistory, problem.Telling, f)
	})
}

// showHistory goes on with the history of a load while there is room in the outbox: it is sent as
// fast as the editor reads, so that a long one does not fill the outbox. When there is no
// room, it returns a channel that is closed when there is again. No prompt runs meanwhile.
func (r *reload) showHistory() (room <-chan struct{}) {
	s := r.s
	for {
		if r.call.Context.Err() != nil {
			r.cancel()
			return nil
		}
		if room := s.out.Full(); room != nil {
			return room
		}
		ev := s.load.Next()
		if ev == nil {
			break
		}
		s.tell(s.show.History(s.moment(), ev)...)
	}
	s.proc.Norm().Reserve(s.show.ToolIDs()...)
	for _, words := range s.load.Lacks() {
		tellNow(s, words)
	}
	s.tellTitle(s.load.Title())
	r.told()
	return nil
}
