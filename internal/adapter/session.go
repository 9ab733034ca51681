package adapter

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/internal/owner"
	"droid-acp/internal/adapter/internal/process"
	"droid-acp/internal/adapter/internal/telling"
	"droid-acp/internal/adapter/internal/usage"
	"droid-acp/internal/adapter/internal/waiting"
	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/show"
	"droid-acp/internal/sys/files"
	"droid-acp/internal/sys/memory"
	"droid-acp/internal/workspace/trust"
)

// Session is one conversation and the droid process that holds it, while there
// is one. From thread on, all fields are touched by the owner and its tasks alone;
// everybody else posts work to it.
type Session struct {
	*owner.Owner // its context ends with the agent's
	agent        *Agent
	log          *zap.Logger
	// what is added to droid's system prompt; anybody may read it
	instructed atomic.Pointer[instructions.Instructions]

	thread
	commands   commands.List   // droid's and the user's
	shellNotes []string        // for droid, with the next prompt
	proc       process.Process // the droid that works for it
	options    options.State
	usage      usage.Usage
	out        *telling.Way // to the editor
	prompts    turns.Queue[*userPrompt]
	load       *reload           // that has no response, nil for none
	questions  telling.Questions // what the user is asked
	servers    mcp.Servers       // what it knows of its MCP servers, see mcp.go
	show       *show.View        // what its editor has been shown
	fileCalls  fileCalls         // what goes through the editor's files
	line       *waiting.Waits    // what waits in it, see waits.go
	ended      bool
	lock       store.Lock // keeps other agents from deleting the session
	shown      shownProject
	declined   trust.Declined // of its project: the user is not asked again
	looks      int            // that are wanted in this turn, see lookInTurn
	loading    loadingMark    // does so from before droid loads it until it is locked
	activity   activity
}

func (a *Agent) makeSession(id, cwd string, servers []stream.MCPServer) *Session {
	s := &Session{
		agent:   a,
		log:     a.log.With(zap.String("session", id)),
		thread:  thread{droidID: id, cwd: cwd},
		proc:    process.New(),
		options: options.New(a.cfg.Defaults.FollowUp, a.client.BooleanOptions, a.client.NarrowOptions),
		show:    show.New(show.Options{CWD: cwd, Capabilities: a.client, NewID: uuid.NewString, LoginHint: diagnosis.LogIn()}),
	}
	s.prompts = turns.NewQueue[*userPrompt](turns.New(uuid.NewString), s.act)
	s.prompts.SetSteering(s.options.Steers())
	s.Owner = owner.New(a.ctx, s.log, s.panicked)
	s.line = waiting.New(s.Owner, s.there, s.holdPrompts)
	s.out = telling.New(a.conn, s.Owner, a.log)
	s.out.Use(id)
	s.servers.Use(servers)
	s.instructed.Store(new(instructions.Instructions))
	return s
}

// Run is the owner's goroutine. It ends when the session is stopped or the agent
// ends, with droid gone and every prompt answered.
func (s *Session) Run() {
	owner.Run(s.Owner, owner.Duties[stream.Event]{
		Await: func() (events <-chan stream.Event, room <-chan struct{}, due time.Time) {
			events, room = s.nextEvent()
			return events, room, s.nextTick()
		},
		Event: s.droidSaid,
		Room:  func() { s.proc.Spoke(time.Now()) }, // droid was not read until now, so it was not silent
		Tick:  s.tick,
		After: s.goOn,
		End:   s.end,
		Ended: s.afterEnd,
	})
}

// goOn has go on what may, after each step of the owner.
func (s *Session) goOn() {
	for again := true; again; {
		s.line.Proceed()
		again = s.prompts.GoOn() // then a change may have begun, or the prompt have ended already
	}
	s.reportActivity()
}

// opened takes what droid said when it opened or loaded the session.
func (s *Session) opened(info *stream.SessionInfo) {
	s.drainEvents()
	if s.proc.Client() == nil {
		return // it died right after; another one is started now, or by the next prompt
	}
	if info.CWD != "" {
		s.cwd = info.CWD // as droid names it
		s.show.SetCWD(info.CWD)
	}
	s.options.Offered(info.AvailableModels)
	s.options.SetLoggedOut(s.proc.Client().LacksLogin())
	s.apply(s.proc.Opened(info.Settings))
	s.tellState()
	s.watchServers()
	s.Go(func(t *owner.Task) { s.lookForCommands(t, askTime) })
	s.lockStored()
	s.proc.Rest(time.Now(), s.agent.cfg.ParkAfter)
}

// answerOpening answers the request that opened the session. What was told of it before that, but for the history of a load, and
// the state that the response does not have, follow.
func (s *Session) answerOpening(c *wire.Call, result protocol.SessionResult) {
	s.register()
	s.tellLeftOut()
	s.agent.respond(c, result, nil)
	s.out.Release()
}

// register marks the session as known to the editor and tells it the state that the
// response does not have.
func (s *Session) register() {
	s.out.Know()
	s.tellState()
}

// nextTick is when something is due, zero for never.
func (s *Session) nextTick() (next time.Time) {
	consider := func(at time.Time, ok bool) {
		if ok && at.IsZero() {
			at = time.Unix(0, 0) // at once, not never
		}
		if ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	consider(s.proc.Due())
	consider(s.show.Due())
	consider(s.prompts.Due())
	consider(s.silenceDue())
	consider(s.servers.Due())
	consider(s.usage.Due())
	consider(s.commands.Due())
	consider(s.activity.again, !s.activity.again.IsZero())
	return next
}

func (s *Session) tick() {
	now := time.Now()
	s.apply(s.proc.Tick(now))
	s.lookAtSubagents(now)
	s.tell(s.show.Tick(s.moment())...)
	s.prompts.Tick(now)
	if at, ok := s.silenceDue(); ok && !now.Before(at) {
		s.tell(s.show.Text(s.proc.TellSilence(s.prompts.Sending()))...)
	}
	s.tell(show.Notices(s.servers.Tick(now, s.prompts.RunsOne()))...)
	if at, ok := s.usage.Due(); ok && !now.Before(at) {
		s.tellUsage()
	}
	if at, ok := s.commands.Due(); ok && !now.Before(at) {
		s.commands.NotDue()
		s.Go(func(t *owner.Task) {
			s.refreshCommands(s.Context, t, s.prompts.Idle)
			t.Beside(func(context.Context) { memory.Release() }) // what the turn has left
		})
	}
	s.park(now)
}

// end finishes the session: every prompt is answered, droid is gone.
func (s *Session) end() {
	s.ended = true
	s.readNoMore()
	s.prompts.Close(time.Now())
	s.questions.End()
	s.servers.EndLogins()
	s.fileCalls.End()
	s.loseLoads(s.EndError())
	s.endDroid(atEnd, "its session ends")
	if norm := s.proc.Norm(); norm != nil {
		s.apply(norm.EndSubagents(time.Now()))
	}
	s.line.End(errEnded)
	s.Settle()
	s.prompts.Finish()
	s.WaitBeside()
	for _, lock := range []*store.Lock{&s.lock, &s.loading.Lock} {
		if release := lock.Begin(""); release != nil {
			s.agent.atEnd("release", files.ReleaseTime, release)
		}
	}
}

// errEnded is why nobody waits in a session that has ended.
var errEnded = errors.New("the session has ended")

// afterEnd makes sure, in case end panicked, that every prompt is answered and droid
// is gone.
func (s *Session) afterEnd() {
	s.prompts.Finish()
	if client := s.proc.Client(); client != nil {
		<-client.Exited()
	}
	s.log.Info("session ended")
}

// tell is the one way from the session to its editor. A Notice that belongs to no turn waits
// for the next prompt: editors drop updates of a session that they do not know yet.
func (s *Session) tell(things ...protocol.Update) {
	for _, thing := range things {
		notice, isNotice := thing.(show.Notice)
		switch {
		case isNotice && !s.prompts.RunsOne():
			s.out.Keep(string(notice))
		case thing.UpdateKind() == show.AgentText:
			s.tell(s.show.ShowAgentText(thing)...)
		default:
			s.out.Tell(thing)
		}
	}
}

// tellNow tells a Notice though no turn runs.
func (s *Session) tellNow(text string) { s.tell(s.show.ShowAgentText(show.Notice(text))...) }

// tellSafely tells a Notice now where the client shows it now, and else with the next prompt: what a load shows comes first.
func (s *Session) tellSafely(text string) {
	if s.load != nil || !s.out.Known() || s.agent.client.HidesUpdatesOutsidePrompt && !s.prompts.RunsOne() {
		s.out.Keep(text)
		return
	}
	s.tellNow(text)
}

// tellKept tells what waits for a prompt, which begins or will not come.
func (s *Session) tellKept() {
	if s.out.Known() {
		texts, cut := s.out.KeptTexts()
		if cut {
			s.tellNow("The beginning of what droid said since your last prompt is left out here, as it was too long. `/export` writes all of it.")
		}
		for _, text := range texts {
			s.tell(s.show.ShowLateText(text)...)
		}
		for _, notice := range s.out.Kept() {
			s.tellNow(notice)
		}
	}
}

// tellState tells mode, options and commands, as far as the editor was told others. The
// commands wait for droid's list, so that a client does not refuse a custom one until then.
func (s *Session) tellState() {
	if !s.out.Known() || s.load != nil || s.proc.Unmade() {
		return // the response tells it, or droid has told nothing yet
	}
	s.tell(s.options.Updates()...)
	if s.commands.Known() {
		s.tell(protocol.AvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: s.allCommands()})
	}
}
