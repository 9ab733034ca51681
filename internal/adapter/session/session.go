// Package session has one conversation of the user: its prompts, and the droid process that works for it. An agent makes sessions, and
// calls their exported methods for requests of its editor; slash commands call them, too. What a session needs of its agent is in Deps.
package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/acp/wire"
	"droid-acp/internal/adapter/instructions"
	"droid-acp/internal/adapter/internal/commands"
	"droid-acp/internal/adapter/internal/monitor"
	"droid-acp/internal/adapter/internal/process"
	"droid-acp/internal/adapter/internal/updates"
	"droid-acp/internal/adapter/mcp"
	"droid-acp/internal/adapter/options"
	"droid-acp/internal/adapter/turns"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/jsonrpc"
	"droid-acp/internal/jsonrpc/flight"
	"droid-acp/internal/render"
	"droid-acp/internal/workspace/trust"
)

// Session is one conversation and the droid process that holds it, while there
// is one.
//
// Its goroutines are one for each request that names it (Enter), its loop (Run), those that others of it begin (mu.Go, async), and those that
// bring something from elsewhere (mu.Post). Each has the lock as long as it touches the session, and gives it up where it waits.
type Session struct {
	deps    *Deps
	log     *zap.Logger
	Context context.Context               // of what it does; ends with the agent's
	Stop    context.CancelFunc            // ends Context, and so the session
	unfit   atomic.Pointer[jsonrpc.Error] // why it takes nothing any more and is about to be stopped
	// an addition to droid's system prompt; may be read without the lock
	systemPrompt atomic.Pointer[instructions.Instructions]

	mu *monitor.Monitor // the lock, which guards what follows
	thread
	commands    commands.List        // droid's and the user's
	shellNotes  []string             // for droid, with the next prompt
	proc        process.Process      // the droid that works for it
	flights     []*flight.Connection // of the last droids that did, see keptFlights
	faultReport string               // the path of a report that the user does not know of
	options     options.State
	modeOrder   modeOrder
	usage       usage
	out         *updates.Sender // to the editor
	prompts     turns.Queue[*userPrompt]
	stopped     *userPrompt // the last one that its user stopped, for a client that sends its text again; nil once another one was taken
	refused     refusedLines
	load        *reload           // that has no response, nil for none
	questions   updates.Questions // what the user is asked
	servers     mcp.Servers       // what it knows of its MCP servers, see mcp.go
	show        *render.View      // what its editor has been shown
	fileCalls   fileCalls         // what goes through the editor's files
	held        *heldEvents       // while something is read for the first of them; nil for none
	titles      turns.Lock        // see untilTitle
	explains    turns.Lock        // see untilExplained
	loop        loop              // what wakes it by itself
	ended       bool
	storeLock   store.Lock // keeps other agents from deleting the session
	shown       shownProject
	declined    trust.Declined // of its project: the user is not asked again
	refreshes   int            // that are wanted in this turn, see lookInTurn
	loading     loadingMark    // keeps other agents from deleting it from before droid loads it until storeLock does
	activity    activity
	row         atomic.Pointer[row]         // nil before the first, and for a client that has no session index
	subagents   map[string]*subagentSession // those that the client is shown as sessions, by their ids
}

// New makes a session that the editor knows by id, and whose thread is in droid's session droidID. It does nothing before Run.
func New(d *Deps, id, droidID, cwd string, servers []stream.MCPServer) *Session {
	s := &Session{
		deps:    d,
		log:     d.Log.With(zap.String("session", id)),
		thread:  thread{droidID: droidID, cwd: cwd},
		proc:    process.New(),
		options: d.NewOptionState(),
		show:    render.New(render.Options{CWD: cwd, Capabilities: d.Client, NewID: uuid.NewString, LoginHint: diagnosis.LoginRemedy()}),
	}
	s.prompts = turns.NewQueue[*userPrompt](uuid.NewString, s.act)
	s.prompts.SetSteering(s.options.Steers())
	s.mu = monitor.New(monitor.Hooks{Refresh: s.pausePrompts, Advance: s.advance, Panicked: s.panicked})
	s.Context, s.Stop = context.WithCancel(d.Context)
	s.loop = newLoop()
	s.out = updates.New(d.Conn, s.mu, d.Log)
	s.out.SetID(id)
	s.servers.Use(servers)
	s.systemPrompt.Store(new(instructions.Instructions))
	return s
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
	s.updateState()
	s.watchServers()
	s.mu.Go(func() { s.lookForCommands(s.Context, askTime) })
	s.lockStored()
	s.proc.ScheduleParking(time.Now(), s.deps.Config.ParkAfter)
}

// answerOpening answers the request that opened the session. Then it sends what was held until then, except for the history of a load, and
// the state that the response does not have.
func (s *Session) answerOpening(c *wire.Call, result protocol.SessionResult) {
	s.register()
	s.notifyExcluded()
	s.notifyProvider()
	s.markReplayEnd(c)
	s.deps.Respond(c, result, nil)
	s.out.Release()
}

// register marks the session as known to the editor, and sends the state that the response does not have.
func (s *Session) register() {
	s.out.MarkOpened()
	s.updateState()
}

// update is the one way from the session to its editor. A Notice that belongs to no turn waits
// for the next prompt: editors drop updates of a session that they do not know yet.
func (s *Session) update(things ...protocol.Update) {
	for _, thing := range things {
		notice, isNotice := thing.(render.Notice)
		switch {
		case isNotice && !s.prompts.RunsOne():
			s.out.AddNotices(string(notice))
		case thing.UpdateKind() == render.AgentText:
			s.update(s.show.ShowAgentText(thing)...)
		default:
			s.out.Send(thing)
		}
	}
}

// notify sends a Notice at once, even if no turn runs.
func (s *Session) notify(text string) { s.update(s.show.ShowAgentText(render.Notice(text))...) }

// notifyInOrder sends a Notice now where the client shows it now, and else with the next prompt: what a load shows comes first.
func (s *Session) notifyInOrder(text string) {
	if !s.isShown() || s.deps.Client.HidesUpdatesOutsidePrompt && !s.prompts.RunsOne() {
		s.out.AddNotices(text)
		return
	}
	s.notify(text)
}

// sendKept sends what was kept for the next prompt, when that begins or will not come.
func (s *Session) sendKept() {
	if s.out.Opened() {
		texts, cut := s.out.TakeTexts()
		if cut {
			s.notify("The beginning of what droid said since your last prompt is left out here, as it was too long. `/export` writes all of it.")
		}
		for _, text := range texts {
			s.update(s.show.ShowLateText(text)...)
		}
		for _, notice := range s.out.TakeNotices() {
			s.notify(notice)
		}
	}
}

// updateState sends mode, options and commands, if the editor was sent others. The
// commands wait for droid's list, so that a client does not refuse a custom one until then.
func (s *Session) updateState() {
	if !s.isShown() || s.proc.NeedsCreate() {
		return // the response has it, or droid has reported nothing yet
	}
	s.update(s.options.Updates()...)
	if s.commands.Known() {
		s.update(protocol.AvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: s.allCommands()})
	}
}
