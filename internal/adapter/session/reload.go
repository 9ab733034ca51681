package session

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
	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/quirks"
)

// reload is one session/load or session/resume. Prompts and other loads wait for it, so that the history comes in one
// piece.
type reload struct {
	LoadRequest
	s *Session

	call   *wire.Call    // its context ends when it is cancelled
	ended  chan struct{} // closed when it has its answer, which is result or err
	result protocol.SessionResult
	err    *jsonrpc.Error

	// what counted before, see revert
	servers      []stream.MCPServer
	systemPrompt *instructions.Instructions
	cwd          string

	phase loadPhase
	ctx   context.Context // ends when the load is over
	stop  context.CancelFunc
	turn  *turns.Change // its turn among what is asked of the session, nil before that has come
	moved bool          // the thread continues in a session that another window made of it
	kept  bool          // it was cancelled, and the session stays, as others wait for it; set before it is answered
}

// LoadRequest describes a request to load a session.
type LoadRequest struct {
	instructions.Wanted
	Target   string   // where the symbolic links of its directory lead
	IDs      []string // of the thread, the newest last
	Replay   bool     // the editor is shown the history
	FollowUp string   // the value of options.FollowUp for a session that was not open, "" for none
}

// loadPhase is the progress of a load. Session.load is the load that is in one of the phases between the first and the last.
type loadPhase int

const (
	loadQueued  loadPhase = iota // waits for its turn, or was refused
	loadRunning                  // waits for droid, which is to load the session
	loadShowing                  // droid has loaded the session, and its history is being shown
	loadLoaded                   // droid has loaded the session
	loadOver                     // has its response; droid may still be loading the session
)

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
func (s *Session) showsHistory() bool { return s.load != nil && s.load.phase == loadShowing }

// isShown reports whether the editor knows the session as it is: it has been opened, and no load is under way.
func (s *Session) isShown() bool { return s.out.Opened() && s.load == nil }

// Load loads the session for a call, in its process or in a new one, and waits for the end of that. The response has been sent when it
// returns. After an error stays reports whether the session remains open because other requests wait for it. The end of c's context cancels
// the load. See Enter for ordered.
func (s *Session) Load(c *wire.Call, ordered func(), l LoadRequest) (result protocol.SessionResult, stays bool, err *jsonrpc.Error) {
	r := &reload{LoadRequest: l, s: s, call: c, ended: make(chan struct{})}
	if err = r.begin(ordered); err != nil {
		return result, false, err
	}
	select {
	case <-r.ended:
	case <-c.Context.Done():
		s.mu.Post(r.cancel)
		<-r.ended
	}
	return r.result, r.kept, r.err
}

// begin begins a load, which continues after a cancel if others wait for the session.
func (r *reload) begin(ordered func()) (err *jsonrpc.Error) {
	if err = r.s.Enter(ordered); err != nil {
		return err
	}
	defer r.s.Exit(&err)
	r.s.useFollowUp(r.FollowUp)
	r.s.mu.Go(func() { r.run(r.s.Context) })
	return nil
}

// run loads the session.
func (r *reload) run(ctx context.Context) {
	defer r.refuse(acperr.Lost()) // where this panics
	if err := r.awaitTurn(r.call.Context); err != nil {
		r.refuse(err)
		return
	}
	r.end(r.perform(ctx))
	r.s.prompts.FinishChange(r.turn, nil) // after a panic, Session.panicked ends all changes
}

// awaitTurn waits for the load's turn, until ctx ends. A session that works on a prompt is not loaded, since that would disturb the prompt.
func (r *reload) awaitTurn(ctx context.Context) (err *jsonrpc.Error) {
	s := r.s
	if err = s.checkOpen(); err != nil {
		return err
	}
	if s.prompts.Busy() {
		return acperr.InvalidRequest("the session works on a prompt; cancel it or wait for its end before you load the session")
	}
	if r.turn, err = s.beginChange(ctx, turns.General); err != nil {
		return err
	}
	r.phase, s.load = loadRunning, r
	r.ctx, r.stop = context.WithCancel(s.Context)
	return nil
}

// perform carries out the load until it has its response: a cancel or a panic may end it at each wait.
func (r *reload) perform(ctx context.Context) *jsonrpc.Error {
	s := r.s
	if !r.Replay {
		s.out.Hold() // also where the session is open already
	}
	// A process that is being started may have other MCP servers and was asked for less
	// history; one that changes its settings must not be replaced.
	if err := s.waitFor(r.ctx, "a load", needStart, needCalls); err != nil {
		return err
	}
	wasOpen := s.out.Opened()
	info, summary, err := r.load(ctx)
	over := r.phase == loadOver
	switch {
	case over && r.kept && !wasOpen:
		r.openedForOthers(err)
		return nil
	case err != nil && err.Code == acperr.CodeNoSession:
		err = acperr.UnknownSession(r.SessionID)
	case err == nil && !over:
		err = r.show(ctx, info, summary)
	}
	if (err != nil || r.phase == loadOver) && wasOpen {
		r.revert()
	}
	return err
}

// show has the editor know the session as droid has loaded it.
func (r *reload) show(ctx context.Context, info *stream.SessionInfo, summary string) *jsonrpc.Error {
	s := r.s
	r.phase = loadLoaded
	if info.Title != "" { // since 0.215
		s.name.Set(info.Title, false)
	}
	// From now on the editor knows the session by the id that it asked for. It starts over: it is sent
	// everything again.
	s.out.SetID(r.SessionID)
	s.out.Reset()
	if !r.Replay {
		s.announceSubagents("")
	} else {
		s.out.Release()
		if err := r.showAll(ctx, info, summary); err != nil {
			return err
		}
	}
	s.setFirst(ctx, r.First)
	// All updates of a load come before its response (the conformance kit's ACP-LOAD-002): the
	// commands and the use of the context window, too.
	s.updateUsage()
	return s.waitFor(r.ctx, "a load", needAnswers)
}

// load makes droid load the session, in its present process or in a new one: the text of a cancelled turn is only in the memory of its
// process (0.99.0 to 0.225.2). summary is the summary that replaced the earlier conversation, "" for none or if it is not shown.
func (r *reload) load(ctx context.Context) (info *stream.SessionInfo, summary string, err *jsonrpc.Error) {
	s := r.s
	s.out.AddNotices(r.Notices...) // of MCP servers that droid cannot have
	s.prompts.ResetCrashes()       // the user wants droid to be tried again
	limit := 1
	if r.Replay {
		limit = wholeHistory
	}
	r.servers, r.systemPrompt, r.cwd = s.servers.List(), s.systemPrompt.Load(), s.cwd
	if s.servers.Use(r.Servers) {
		s.endDroid(replaced, "it has other MCP servers")
	}
	s.useInstructions(r.Wanted)
	from := s.droidID
	s.catchUp(r.IDs)
	r.moved = s.droidID != from
	s.useDirectory(r.CWD, r.Target)
	if _, info, err = s.awaitDroid(s.Context, limit); err == nil && info == nil { // the process was there before
		info, err = s.loadAgain(r.call.Context, limit, acperr.Loading)
	}
	if err != nil {
		return nil, "", err
	}
	if r.Replay && slices.Index(r.IDs, s.droidID) > 0 {
		id := s.droidID
		s.unlocked(ctx, func(ctx context.Context) { summary = s.deps.Threads.Summary(ctx, id) })
	}
	return info, summary, nil
}

// revert restores a session that was open before: what a load asked for takes effect only if it succeeds.
func (r *reload) revert() {
	s := r.s
	if s.servers.Use(r.servers) {
		s.endDroid(replaced, "it has the MCP servers of a load that did not succeed")
	}
	if !s.systemPrompt.Load().Equal(*r.systemPrompt) {
		s.endDroid(replaced, "it has the instructions of a load that did not succeed")
	}
	s.systemPrompt.Store(r.systemPrompt)
	if s.cwd != r.cwd {
		s.workIn(r.cwd)
	}
}

// showAll shows the history that droid reported, as fast as the editor reads, so that a long history does not fill the outbox. No prompt
// runs in the meantime.
func (r *reload) showAll(ctx context.Context, info *stream.SessionInfo, summary string) *jsonrpc.Error {
	s := r.s
	if summary != "" {
		s.notify(summary + "\n\nThat is a summary of what was said before, in place of which the model has it. `/fork before` makes " +
			"a thread of its own from the conversation before; `/sessions` lists all of them.")
	}
	s.findBackground(ctx, info.Messages)
	if quirks.EndsWithOpenCalls(info.Messages) { // it may continue elsewhere
		if err := s.waitFor(r.ctx, "a load", needOthers); err != nil {
			return err
		}
	}
	if r.ctx.Err() != nil {
		return acperr.Cancelled()
	}
	others, _ := s.storeLock.Others()
	replay := r.replaysSubagents()
	if replay == nil {
		s.loseSubagentCalls()
	}
	history := quirks.History(info.Messages)
	lacks := notShown(info, others && quirks.MarkElsewhere(history))
	info.Messages = nil // the events have all that is shown
	r.phase = loadShowing
	for i, ev := range history {
		if !r.awaitRoom(r.ctx) {
			return acperr.Cancelled()
		}
		history[i] = nil // it is not kept until all are shown
		if end, is := ev.(quirks.SubagentEnded); is && end.Reason == "" && s.proc.Normalizer().SubagentRunning(end.ID) {
			continue // its file shows it
		}
		if end, is := ev.(quirks.ToolEnded); is && end.Unfinished && s.proc.Normalizer().CallOpen(end.ID) {
			continue // droid's own turn continues with it
		}
		s.update(s.show.History(s.moment(), ev)...)
		if !replay.behind(r.ctx, ev) {
			return acperr.Cancelled()
		}
	}
	r.phase = loadLoaded
	s.proc.Normalizer().Reserve(s.show.ToolIDs()...)
	for _, words := range lacks {
		s.notify(words)
	}
	s.updateTitle(s.name.Title())
	return nil
}

// awaitRoom waits until the editor reads. It reports whether the load, whose context is ctx, continues.
func (r *reload) awaitRoom(ctx context.Context) bool {
	s := r.s
	for room := s.out.Full(); room != nil && ctx.Err() == nil; room = s.out.Full() {
		s.unlockedAs(ctx, "a load", untilRoom, func(ctx context.Context) {
			select {
			case <-room:
			case <-ctx.Done():
			}
		})
	}
	if r.call.Context.Err() != nil {
		r.cancel()
	}
	return ctx.Err() == nil
}

// notShown describes, for the user, the parts of a conversation that droid has and its history does not show. elsewhere says that calls at
// its end may still run in another program.
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

// movedOn is shown when the thread continues in a conversation that the editor does not show.
const movedOn = "In another window this conversation was compacted or rewound, and this thread goes on in what became of it. Load it again to see that."

// end answers a load and ends it, unless it is over. Each load whose turn has come ends here. What was asked later waits until perform has
// returned, since that may have to restore the session.
func (r *reload) end(err *jsonrpc.Error) {
	s, before := r.s, r.phase
	if before == loadQueued || before == loadOver {
		return
	}
	r.phase, s.load = loadOver, nil
	r.stop()
	s.proc.ScheduleParking(time.Now(), s.deps.Config.ParkAfter)
	if r.moved && s.out.Opened() && (err != nil || !r.Replay) {
		s.out.AddNotices(movedOn)
	}
	if err == nil {
		result := s.sessionResult()
		s.answerOpening(r.call, result)
		r.answer(result, nil)
		return
	}
	notOpened := !s.out.Opened() && !r.kept
	if notOpened {
		s.deps.Sessions.Forget(s) // the next load starts over
	}
	s.deps.Respond(r.call, nil, err)
	r.refuse(err)
	if s.out.Opened() {
		s.out.Release()
	}
	s.updateState() // which no response sends
	switch {
	case notOpened && err.Code == acperr.CodeCancelled:
		r.neverOpened(acperr.InvalidRequest("the session was not opened, since its load was cancelled; load it again"))
	case notOpened:
		r.neverOpened(err)
	case before != loadRunning:
		r.openedForOthers(nil)
	}
}

// cancel ends a load that the user has taken back, if its turn has come; while it waits for that, the same cancel ends the wait. If it was
// to open the session, and prompts or other requests wait behind it, the session is opened for them all the same.
func (r *reload) cancel() {
	if s := r.s; s.load == r {
		r.kept = s.prompts.Queued() || s.prompts.Changing(turns.General) > 1
		r.end(acperr.Cancelled())
	}
}

// openedForOthers continues after a session was opened for others because its load had been cancelled, or was not, with why.
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
	s.deps.Sessions.Forget(s)
	s.unfit.Store(err)
	s.prompts.FailSince(0, err)
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

// loadInCall is loadAgain for the call whose turn it is. A cancel does not end it: it returns when the settings are those from before:
// droid loads all the same, and takes those of the session's file. 0.99 may hang for good when a load comes within a second of a turn (quirk 32): a
// process that does not answer is replaced by one that loads the session. asked says, for errors, what the load is for.
func (s *Session) loadInCall(ctx context.Context, limit int, asked acperr.Work) (*stream.SessionInfo, *jsonrpc.Error) {
	// The load reads the project's settings (0.99, 0.215), and may ask the model for a title (0.225).
	if err := s.renewStale(s.Context); err != nil {
		return nil, err
	}
	var loader *droid.Client
	var loaded, started *stream.SessionInfo
	err := s.withDroid(s.Context, limit, func(client *droid.Client, info *stream.SessionInfo) (err error) {
		if loader, started = client, info; started != nil { // the one before had gone while the load waited
			return nil
		}
		servers := s.servers.List()
		if client.TakesRuntime() {
			servers = nil // it has them
		}
		load := s.openStored(limit, s.markLoading(ctx))
		s.unlocked(ctx, func(ctx context.Context) {
			ctx, cancel := context.WithTimeoutCause(ctx, loadAgainTime, errLoadHangs)
			defer cancel()
			if loaded, err = s.deps.Launcher.OpenIn(ctx, client, servers, load); err != nil && context.Cause(ctx) == errLoadHangs {
				err = errLoadHangs
			}
		})
		return err
	})
	switch why := whyNoDroid(err); {
	case why != nil:
		return nil, why
	case started != nil:
		return started, nil
	case err == nil:
		before := s.options.Loading()
		_ = s.syncEvents(ctx)
		s.opened(loaded)
		s.restoreSettings(ctx, before)
		if s.proc.Working() {
			s.lookInTurn() // droid has read the project's settings again (0.99, 0.215)
		}
		return loaded, nil
	case err == errLoadHangs && s.proc.Client() == loader:
		s.endDroid(replaced, "it hangs while it loads the session")
		_, info, err := s.awaitDroid(s.Context, limit)
		return info, err
	}
	s.notLoading()
	return nil, acperr.NotLoaded(asked, s.out.Session(), err, s.prompts.GaveUp())
}

// loadWhole returns the whole conversation. droid reports it only while no turn
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
