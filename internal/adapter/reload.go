package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/acperr"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

// reload is one session/load or session/resume. Prompts and other loads wait for it, so that the history comes in one
// piece.
type reload struct {
	instructions.Wanted
	s      *Session
	target string // where the symbolic links of its directory lead

	call   *wire.Call // its context ends when it is cancelled
	ids    []string   // of the thread, the newest last
	replay bool
	ended  chan struct{} // closed when it has its answer, which is result or err
	result protocol.SessionResult
	err    *jsonrpc.Error

	// what counted before, see revert
	servers    []stream.MCPServer
	instructed *instructions.Instructions
	cwd        string

	turn   *turns.Change // its turn among what is asked of the session, nil before that has come
	moved  bool          // the thread goes on in what another window made of it
	opened bool          // droid has opened the session for it
	shows  bool          // its history is being shown
	kept   bool          // it was cancelled, and the session stays, as others wait for it; set before it is answered
}

// answer says what came of a load. Only the first time counts.
func (r *reload) answer(result protocol.SessionResult, err *jsonrpc.Error) {
	select {
	case <-r.ended:
	default:
		r.result, r.err = result, err
		close(r.ended)
	}
}

// refuse answers a load that did not succeed.
func (r *reload) refuse(err *jsonrpc.Error) { r.answer(protocol.SessionResult{}, err) }

// showsHistory reports whether the history of a load is being shown.
func (s *Session) showsHistory() bool { return s.load != nil && s.load.shows }

// loadSession opens a stored session and replays its history.
func (a *Agent) loadSession(c *wire.Call) (any, *jsonrpc.Error) { return a.reopen(c, true) }

// resumeSession opens a stored session without its history.
func (a *Agent) resumeSession(c *wire.Call) (any, *jsonrpc.Error) { return a.reopen(c, false) }

// reopen loads a session: in the process it has, if it is open here, else in a new
// one.
func (a *Agent) reopen(c *wire.Call, replay bool) (any, *jsonrpc.Error) {
	p, place, err := a.decodeNamed(c)
	if err != nil {
		return nil, err
	}
	defer place.Release()
	w, err := a.readSession(c.Context, p)
	if err != nil {
		return nil, err
	}
	r := &reload{Wanted: w, target: a.opener.Target(c.Context, w.CWD), call: c, replay: replay, ended: make(chan struct{})}
	s, known, ids, err := a.takeThread(c.Context, place, w)
	if err != nil {
		return nil, err
	}
	r.s, r.ids = s, ids
	followUp := ""
	if !known { // an open session has its value
		followUp = a.threads.FollowUp(c.Context, ids)
	}
	if err = r.begin(place.Release, followUp); err == nil {
		select {
		case <-r.ended:
		case <-c.Context.Done():
			s.mu.Post(r.cancel)
			<-r.ended
		}
		err = r.err
	}
	if err != nil {
		if !known && !r.kept {
			a.sessions.Forget(s)
			s.Stop()
		}
		return nil, err
	}
	return r.result, nil
}

// begin begins a load, which goes on where it is cancelled and others wait for the session.
func (r *reload) begin(ordered func(), followUp string) (err *jsonrpc.Error) {
	if err = r.s.enter(ordered); err != nil {
		return err
	}
	defer r.s.exit(&err)
	r.s.useFollowUp(followUp)
	r.s.mu.Go(func() { r.run(r.s.Context) })
	return nil
}

// run loads the session. A session that works on a prompt is not loaded, since that would disturb the
// prompt. A load is over when it has its response.
func (r *reload) run(ctx context.Context) {
	defer r.refuse(acperr.Lost()) // where this panics
	s := r.s
	if err := s.takesNothing(); err != nil {
		r.refuse(err)
		return
	}
	if s.prompts.Busy() {
		r.refuse(acperr.InvalidRequest("the session works on a prompt; cancel it or wait for its end before you load the session"))
		return
	}
	turn, err := s.awaitTurn(r.call.Context, turns.Session)
	if err != nil {
		r.refuse(err)
		return
	}
	r.turn = turn
	s.load = r
	if !r.replay {
		s.out.Hold() // also where the session is open already
	}
	// A process that is being started may have other MCP servers and was asked for less
	// history; one that changes its settings must not be replaced.
	if err := s.waitFor(s.Context, "a load", needStart, needCalls); err != nil {
		r.end(err)
		return
	}
	if s.load != r {
		return // it was cancelled while it waited
	}
	info, summary, err := r.load(ctx)
	if (err != nil || s.load != r) && s.out.Opened() {
		r.revert()
	}
	switch {
	case s.load != r: // a panic ended it, or the user
		if r.kept {
			r.openedForOthers(err)
		}
		return
	case err != nil:
		if err.Code == acperr.CodeNoSession {
			err = acperr.UnknownSession(r.SessionID)
		}
		r.end(err)
		return
	}
	r.opened = true
	// From now on the editor knows the session by the id that it asked for. It begins anew: it is told
	// everything again.
	s.out.SetID(r.SessionID)
	s.out.Reset()
	if !r.replay {
		s.announceSubagents("")
	} else {
		s.out.Release()
		if !r.showsAll(ctx, info, summary) {
			return // it has its answer
		}
	}
	s.setFirst(ctx, r.First)
	// All that a load tells comes before its response (the conformance kit's ACP-LOAD-002): the
	// commands and the use of the context window, too.
	s.updateUsage()
	r.end(s.waitFor(s.Context, "a load", needAnswers))
}

// load has droid load the session, in the process that it has or in a new one: what a cancelled turn had said
// is in the memory of its process alone (0.99.0 to 0.225.2). summary is what the
// conversation before became, "" for none or where it is not shown.
func (r *reload) load(ctx context.Context) (info *stream.SessionInfo, summary string, err *jsonrpc.Error) {
	s := r.s
	s.out.AddNotices(r.Notices...) // of MCP servers that droid cannot have
	s.prompts.Forgive()            // the user wants droid to be tried again
	limit := 1
	if r.replay {
		limit = wholeHistory
	}
	r.servers, r.instructed, r.cwd = s.servers.List(), s.systemPrompt.Load(), s.cwd
	if s.servers.Use(r.Servers) {
		s.endDroid(replaced, "it has other MCP servers")
	}
	s.useInstructions(r.Wanted)
	from := s.droidID
	s.catchUp(r.ids)
	r.moved = s.droidID != from
	s.useDirectory(r.CWD, r.target)
	if _, info, err = s.awaitDroid(s.Context, limit); err == nil && info == nil { // the process was there before
		info, err = s.loadAgain(r.call.Context, limit, acperr.Loading)
	}
	if err != nil {
		return nil, "", err
	}
	if r.replay && slices.Index(r.ids, s.droidID) > 0 {
		id := s.droidID
		s.unlocked(ctx, func(ctx context.Context) { summary = s.agent.threads.Summary(ctx, id) })
	}
	return info, summary, nil
}

// revert has a session that was open before go on as it was: what a load asked for counts with its success alone.
func (r *reload) revert() {
	s := r.s
	if s.servers.Use(r.servers) {
		s.endDroid(replaced, "it has the MCP servers of a load that did not succeed")
	}
	if !s.systemPrompt.Load().Equal(*r.instructed) {
		s.endDroid(replaced, "it has the instructions of a load that did not succeed")
	}
	s.systemPrompt.Store(r.instructed)
	if s.cwd != r.cwd {
		s.workIn(r.cwd)
	}
}

// showsAll shows what droid told, as fast as the editor reads, so that a long history does not fill the outbox. No prompt
// runs meanwhile. It reports false where the load ended before.
func (r *reload) showsAll(ctx context.Context, info *stream.SessionInfo, summary string) bool {
	s := r.s
	if summary != "" {
		s.notify(summary + "\n\nThat is a summary of what was said before, in place of which the model has it. `/fork before` makes " +
			"a thread of its own from the conversation before; `/sessions` lists all of them.")
	}
	s.findBackground(ctx, info.Messages)
	if quirks.EndsWithOpenCalls(info.Messages) { // it may go on elsewhere
		if err := s.waitFor(s.Context, "a load", needOthers); err != nil {
			r.end(err)
		}
	}
	if s.load != r {
		return false
	}
	others, _ := s.storeLock.Others()
	replay := r.replaysSubagents()
	if replay == nil {
		s.loseSubagentCalls()
	}
	history := quirks.History(info.Messages)
	lacks := notShown(info, others && quirks.MarkElsewhere(history))
	info.Messages = nil // the events have all that is shown
	r.shows = true
	defer func() { r.shows = false }()
	for i, ev := range history {
		if !r.awaitRoom(r.call.Context) {
			return false
		}
		history[i] = nil // it is not kept until all are shown
		if end, is := ev.(quirks.SubagentEnded); is && end.Reason == "" && s.proc.Norm().SubagentRunning(end.ID) {
			continue // its file tells
		}
		if end, is := ev.(quirks.ToolEnded); is && end.Unfinished && s.proc.Norm().CallOpen(end.ID) {
			continue // droid's own turn goes on with it
		}
		s.update(s.show.History(s.moment(), ev)...)
		if !replay.behind(r.call.Context, ev) {
			return false
		}
	}
	s.proc.Norm().Reserve(s.show.ToolIDs()...)
	for _, words := range lacks {
		s.notify(words)
	}
	s.updateTitle(info.Title)
	return true
}

// awaitRoom waits until the editor reads on. It reports false where the load ended before.
func (r *reload) awaitRoom(ctx context.Context) bool {
	s := r.s
	for room := s.out.Full(); room != nil && s.load == r && ctx.Err() == nil; room = s.out.Full() {
		s.unlockedAs(ctx, "a load", needRoom, func(ctx context.Context) {
			select {
			case <-room:
			case <-ctx.Done():
			}
		})
	}
	if ctx.Err() != nil {
		r.cancel()
	}
	return s.load == r
}

// notShown says, in words for the user, what droid has of a conversation and its history does not show. elsewhere is whether calls
// at its end may go on in another program.
func notShown(info *stream.SessionInfo, elsewhere bool) (lacks []string) {
	if info.HasOlderMessages {
		lacks = append(lacks, "The session has older messages that droid did not return.")
	}
	if info.Unreadable > 0 {
		lacks = append(lacks, fmt.Sprintf("Not shown are %d of the session's messages: droid told them in a form that droid-acp cannot read.", info.Unreadable))
	}
	if elsewhere {
		lacks = append(lacks, "What has no result above had not ended as this was loaded: it runs, or waits for an answer in the other window.")
	}
	return lacks
}

// movedOn is told where the thread goes on in what the editor does not show.
const movedOn = "In another window this conversation was compacted or rewound, and this thread goes on in what became of it. Load it again to see that."

// end answers the load that runs, and ends it.
func (r *reload) end(err *jsonrpc.Error) {
	s := r.s
	if s.load != r {
		return
	}
	s.load = nil
	defer r.over() // also where this panics
	if err == nil {
		if r.moved && !r.replay && s.out.Opened() {
			s.out.AddNotices(movedOn)
		}
		result := s.sessionResult()
		s.answerOpening(r.call, result)
		r.answer(result, nil)
		return
	}
	if r.moved && s.out.Opened() {
		s.out.AddNotices(movedOn)
	}
	notOpened := !s.out.Opened() && !r.kept
	if notOpened {
		s.agent.sessions.Forget(s) // who loads it next begins anew
	}
	s.agent.respond(r.call, nil, err)
	r.refuse(err)
	if s.out.Opened() {
		s.out.Release()
	}
	s.updateState() // which is told by no response
	switch {
	case notOpened && err.Code == acperr.CodeCancelled:
		r.neverOpened(acperr.InvalidRequest("the session was not opened, since its load was cancelled; load it again"))
	case notOpened:
		r.neverOpened(err)
	case r.opened:
		r.openedForOthers(nil)
	}
}

// over ends a load that has its response, and what waits for it goes on.
func (r *reload) over() {
	s := r.s
	s.proc.Rest(time.Now(), s.agent.cfg.ParkAfter)
	s.prompts.FinishChange(r.turn, nil)
}

// cancel ends a load that the user has taken back, however far it is. If it was to open
// the session, and prompts or other requests wait behind it, the session is opened for them
// all the same.
func (r *reload) cancel() {
	s := r.s
	switch {
	case r.turn == nil: // it was refused, or waits for its turn, which the same cancel ends
	case s.load != r: // it has its answer
	default:
		r.kept = s.prompts.Queued() || s.prompts.Changing() > 1
		r.end(acperr.Cancelled())
	}
}

// openedForOthers goes on when a session was opened, or not, after the load that was to do
// it had been cancelled.
func (r *reload) openedForOthers(err *jsonrpc.Error) {
	s := r.s
	switch {
	case s.out.Opened() || s.ended:
	case err != nil:
		r.neverOpened(err)
		s.loseLoads(err)
	default:
		s.register()
		s.out.Release()
	}
}

// loseLoads ends the load of a session in which something panicked: what it waits for may
// never come, and prompts wait for it.
func (s *Session) loseLoads(err *jsonrpc.Error) {
	if r := s.load; r != nil {
		r.end(err)
	}
}

// neverOpened gives up a session because the load which was to open it failed. All
// that came behind that load fails alike.
func (r *reload) neverOpened(err *jsonrpc.Error) {
	s := r.s
	s.agent.sessions.Forget(s)
	s.unfit.Store(err)
	s.prompts.FailWaiting(err)
	s.Stop()
}

// loadAgainTime bounds a load in a process that has the session; up to 0.25 s
// was seen.
const loadAgainTime = 10 * time.Second

var errLoadHangs = errors.New("droid did not answer within 10 s")

// loadAgain loads the session once more in the process that has it, when the calls before have ended.
func (s *Session) loadAgain(ctx context.Context, limit int, asked acperr.Work) (*stream.SessionInfo, *jsonrpc.Error) {
	release, err := s.lockRPC(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.loadInCall(s.Context, limit, asked)
}

// loadInCall is loadAgain for the call whose turn it is. Whoever cancels that, it returns when the settings are those from before:
// droid loads all the same, and takes those of the session's file. 0.99 may hang for good when a load comes within a second of a turn (quirk 32): a
// process that does not answer is replaced by one that loads the session. asked says, for errors, what the load is for.
func (s *Session) loadInCall(ctx context.Context, limit int, asked acperr.Work) (*stream.SessionInfo, *jsonrpc.Error) {
	// The load reads the project's settings (0.99, 0.215), and may ask the model for a title (0.225).
	if err := s.renewStale(s.Context); err != nil {
		return nil, err
	}
	var call droidCall
	var loaded *stream.SessionInfo
	for call.next(s.Context, s, limit) {
		if call.info != nil { // the one before had gone while the load waited
			return call.info, nil
		}
		servers := s.servers.List()
		if call.client.TakesRuntime() {
			servers = nil // it has them
		}
		load := s.openStored(limit, s.markLoading(ctx))
		s.unlocked(ctx, func(ctx context.Context) {
			ctx, cancel := context.WithTimeoutCause(ctx, loadAgainTime, errLoadHangs)
			defer cancel()
			if loaded, call.err = s.agent.opener.OpenIn(ctx, call.client, servers, load); call.err != nil && context.Cause(ctx) == errLoadHangs {
				call.err = errLoadHangs
			}
		})
	}
	switch why := whyNoDroid(call.err); {
	case why != nil:
		return nil, why
	case call.err == nil:
		before := s.options.Before()
		_ = s.syncEvents(ctx)
		s.opened(loaded)
		s.restoreSettings(ctx, before)
		if s.proc.Working() {
			s.lookInTurn() // droid has read the project's settings again (0.99, 0.215)
		}
		return loaded, nil
	case call.err == errLoadHangs && s.proc.Client() == call.client:
		s.endDroid(replaced, "it hangs while it loads the session")
		_, info, err := s.awaitDroid(s.Context, limit)
		return info, err
	}
	s.notLoading()
	return nil, acperr.NotLoaded(asked, s.out.Session(), call.err, s.prompts.GaveUp())
}

// loadWhole returns the whole conversation. droid tells it only while no turn
// runs.
func (s *Session) loadWhole(ctx context.Context) (*stream.SessionInfo, *jsonrpc.Error) {
	if _, _, err := s.awaitDroid(ctx, 1); err != nil {
		return nil, err
	}
	release, err := s.lockRPC(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.loadInCall(s.Context, wholeHistory, acperr.Telling)
}
