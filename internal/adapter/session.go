package adapter

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
)

// Session is one conversation and the droid process that holds it, while there
// is one. All fields below "owner" are touched by the goroutine in run alone;
// everybody else posts work to it.
type Session struct {
	agent  *Agent
	log    *zap.Logger
	mail   *mailbox
	beside sync.WaitGroup // blocking calls that run beside the owner
	ctx    context.Context
	stop   context.CancelFunc // ends the session
	over   chan struct{}      // closed when it has ended
	panics alarm
	before *departure         // what the session waits for before it starts droid
	polite context.Context    // a process that leaves may take its time until this ends
	hurry  context.CancelFunc // ends polite

	departing *departure // set when the agent has forgotten the session; guarded by Agent.mu

	// owner
	controls
	id         string // by which the editor used the session last, one of droid's
	cwd        string
	servers    []droid.MCPServer
	droidID    string        // of the session that the process works on, see thread.go
	client     *droid.Client // nil while no process runs
	events     <-chan stream.Event
	paused     bool // they are not read at present, see nextEvent
	dying      bool // the process was killed although a prompt may wait; its end is awaited
	norm       *quirks.Normalizer
	waiting    []func(*stream.SessionInfo, *acp.RequestError) // for the process being started
	leaving    *droid.Client                                  // the parked process, until it is gone
	parkAt     time.Time                                      // zero when it is not to be parked
	crashes    int                                            // in a row
	lastCrash  error
	settings   stream.Settings
	toldMode   stream.Mode // what the editor believes
	registered bool        // the editor knows the session, so it takes updates
	notices    []string    // told with the next prompt
	turn       *turn       // runs
	unanswered int         // prompts of droid that have ended, but have no response yet
	interrupts int         // sent and not answered yet
	queue      []*turn
	replaying  *replay            // the history of the load that runs; nil for none
	calls      []func(end func()) // that wait for each other, see alone; the first one runs
	reloads    []*reload          // the first one runs when reloading
	reloading  bool
	unopened   *acp.RequestError // why the session was never opened
	silence    silence
	quiet      []func() // called when the running prompt has ended
	dialog     dialog
	starting   *starting         // MCP servers of the process, until all have started or failed
	logins     map[string]*login // to MCP servers, that have begun
	loggingIn  *loginCommand     // waits for where to log in
	show       *show.View
	reported   map[string]struct{} // what was said once
	reading    reading
	chunk      chunkPrefix
	ended      bool
	holding    holding
}

// chunkPrefix is the encoded beginning of the text chunk sent last. Most deltas
// continue the message of the one before.
type chunkPrefix struct {
	messageID string
	thought   bool
	encoded   string
}

func (a *Agent) makeSession(id, cwd string, servers []droid.MCPServer) *Session {
	s := &Session{
		agent:    a,
		id:       id,
		log:      a.log.With(zap.String("session", id)),
		mail:     newMailbox(),
		over:     make(chan struct{}),
		cwd:      cwd,
		servers:  servers,
		droidID:  id,
		controls: controls{followUp: a.cfg.Defaults.FollowUp},
		show:     show.New(show.Options{CWD: cwd, Capabilities: a.client, NewID: uuid.NewString}),
	}
	s.ctx, s.stop = context.WithCancel(a.ctx)
	s.polite, s.hurry = context.WithCancel(context.Background())
	return s
}

// post leaves work for the owner; false means that the session has ended.
func (s *Session) post(f func()) bool { return s.mail.post(f) }

// do runs a blocking call beside the owner. The session waits for it before it
// ends; ctx ends when the session does. Should the call panic, the session loses
// its turn and its process, and the owner does failed.
func (s *Session) do(f func(ctx context.Context), failed ...func()) {
	s.beside.Go(func() {
		defer s.besidePanicked(failed)
		f(s.ctx)
	})
}

// run is the owner goroutine. It ends when the session is stopped or the agent
// ends, with droid gone and every prompt answered.
func (s *Session) run() {
	defer close(s.over)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next, events, room := time.Hour, (<-chan stream.Event)(nil), (<-chan struct{})(nil)
		s.guard(func() {
			events, room = s.nextEvent()
			next = s.nextTick()
		})
		timer.Reset(next)
		select {
		case <-s.mail.wake:
			for _, f := range s.mail.take() {
				s.guard(f)
			}
		case ev, ok := <-events:
			s.guard(func() { s.droidSaid(ev, ok) })
		case <-room:
			s.silence.broken(time.Now()) // droid was not heard
		case <-timer.C:
			s.guard(s.tick)
		case <-s.ctx.Done():
			s.guard(s.end)
			s.guard(s.afterEnd)
			return
		}
	}
}

// opened takes what droid said when it opened or loaded the session.
func (s *Session) opened(info *stream.SessionInfo) {
	s.drainEvents()
	if s.client == nil {
		return // it died right after; the next prompt starts it again
	}
	if info.CWD != "" {
		s.cwd = info.CWD // a loaded session keeps its own
		s.show.SetCWD(info.CWD)
	}
	s.norm.SetVersion(s.client.Version())
	if len(info.AvailableModels) > 0 {
		s.models = info.AvailableModels
	}
	s.apply(s.norm.Settings(info.Settings))
	s.tellOptions()
	s.watchServers()
	s.listCommands()
	s.holdStored()
	s.rest()
}

// drainEvents handles the events that droid sent before the response that was
// just received: they are in the channel already.
func (s *Session) drainEvents() {
	for {
		select {
		case ev, ok := <-s.events:
			s.droidSaid(ev, ok)
			if !ok {
				return
			}
		default:
			return
		}
	}
}

// droidSaid takes one event, or the end of the process.
func (s *Session) droidSaid(ev stream.Event, ok bool) {
	if !ok {
		s.droidGone()
		return
	}
	switch ev := ev.(type) {
	case stream.LateError:
		if s.turn != nil && s.turn.message.RequestID == ev.RequestID {
			s.abortTurn(promptError(ev.Err))
		}
		return
	case stream.LateResult:
		s.lateResult(ev)
		return
	case stream.Unknown:
		s.log.Debug("droid said something unknown", zap.String("type", ev.Type), zap.NamedError("decode", ev.Err))
	}
	now := time.Now()
	s.silence.broken(now)
	s.apply(s.norm.Push(now, ev))
}

// nextTick is how long the owner may wait before something is due.
func (s *Session) nextTick() time.Duration {
	next := time.Hour
	consider := func(at time.Time) { next = min(next, max(0, time.Until(at))) }
	if s.norm != nil && s.client != nil && !s.paused {
		if at, ok := s.norm.Deadline(); ok {
			consider(at)
		}
	}
	if at, ok := s.show.Due(); ok {
		consider(at)
	}
	if s.turn != nil && !s.turn.interruptAt.IsZero() {
		consider(s.turn.interruptAt)
	}
	if at, ok := s.silenceDue(); ok {
		consider(at)
	}
	if at, ok := s.starting.due(); ok {
		consider(at)
	}
	if !s.parkAt.IsZero() {
		consider(s.parkAt)
	}
	return next
}

func (s *Session) tick() {
	now := time.Now()
	if s.norm != nil && s.client != nil && !s.paused {
		s.apply(s.norm.Tick(now))
	}
	s.put(s.show.Tick(s.moment()))
	s.insist(now)
	s.tellSilence(now)
	s.tellStarting(now)
	s.park(now)
}

// end finishes the session: every prompt is answered, droid is gone.
func (s *Session) end() {
	s.ended = true
	s.readNoMore()
	s.cancelTurns()
	s.dialog.withdrawAny()
	s.endLogins()
	s.endReplay(errEnding())
	if s.client != nil {
		s.endDroid()
	}
	for {
		s.beside.Wait()
		mail := s.mail.take()
		if len(mail) == 0 {
			break
		}
		for _, f := range mail {
			s.guard(f)
		}
	}
	for _, f := range s.mail.close() {
		s.guard(f)
	}
	for _, f := range s.waiting {
		f(nil, errEnding())
	}
	s.endReloads()
	s.finishAll()
	s.beside.Wait()
	s.letGo()
}

// afterEnd does what end did not come to, where that panicked.
func (s *Session) afterEnd() {
	s.finishAll()
	if s.client != nil {
		<-s.client.Exited()
	}
}

// endDroid ends the process politely, and hears how its turn ends.
func (s *Session) endDroid() {
	closed := make(chan struct{})
	client := s.client
	s.do(func(context.Context) {
		defer close(closed)
		defer client.Kill() // it is gone by then, unless Close panicked
		// The bound is Close's own; it returns with the process gone.
		if err := client.Close(s.polite); err != nil {
			s.log.Debug("droid ended", zap.Error(err))
		}
	})
	for ev := range s.events {
		s.apply(s.norm.Push(time.Now(), ev))
	}
	<-closed
}

// tellAs has all updates go out under this id from now on.
func (s *Session) tellAs(id string) {
	if id != s.id {
		s.id, s.chunk = id, chunkPrefix{}
	}
}

// notification is a JSON-RPC notification to the editor.
type notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// send queues an update for the editor.
func (s *Session) send(update any) {
	s.write("session/update", protocol.SessionNotification{SessionID: s.id, Update: update})
}

// write queues a notification for the editor.
func (s *Session) write(method string, params any) {
	line, err := json.Marshal(notification{"2.0", method, params})
	if err != nil {
		s.log.Error("a notification could not be encoded", zap.String("method", method), zap.Error(err))
		return
	}
	// An error means that the editor is gone, which ends the session by itself.
	_ = s.agent.out.put(append(line, '\n'))
}

// sendChunk queues a piece of a message or of a thought.
func (s *Session) sendChunk(t show.Text) {
	if s.chunk.encoded == "" || s.chunk.messageID != t.MessageID || s.chunk.thought != t.Thought {
		kind := "agent_message_chunk"
		if t.Thought {
			kind = "agent_thought_chunk"
		}
		session, _ := json.Marshal(s.id) // strings always encode
		message, _ := json.Marshal(t.MessageID)
		s.chunk = chunkPrefix{t.MessageID, t.Thought,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + string(session) +
				`,"update":{"sessionUpdate":"` + kind + `","messageId":` + string(message) + `,"content":{"type":"text","text":`}
	}
	s.agent.out.sendText(s.chunk.encoded, t.Text)
}

// sendText says something of droid-acp's own, as a piece of a message or of a thought.
func (s *Session) sendText(messageID, text string, thought bool) {
	s.put(s.show.Text(messageID, text, thought))
}

// tell says something of droid-acp's own to the user, as a thought: it is no
// part of the model's answer.
func (s *Session) tell(text string) { s.put(s.show.Tell(text)) }
