package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
)

// Session is one conversation and the droid process that holds it. All fields
// below "owner" are touched by the goroutine in run alone; everybody else posts
// work to it.
type Session struct {
	agent  *Agent
	cwd    string
	mail   *mailbox
	beside sync.WaitGroup // blocking calls that run beside the owner

	// owner
	id         string // droid's own; "" until droid has opened the session
	log        *zap.Logger
	servers    []droid.MCPServer
	client     *droid.Client // nil while no process runs
	events     <-chan droid.Event
	norm       *quirks.Normalizer
	settings   droid.Settings
	models     []droid.Model // that droid offered when it opened the session
	toldMode   droid.Mode    // what the editor believes
	registered bool          // the editor knows the session: its session/new is answered
	notices    []string      // told with the next prompt
	turn       *turn         // runs
	unanswered *turn         // has ended, but its response is not written yet
	queue      []*turn
	ask        *ask
	views      views
	tools      map[string]string   // ACP status last sent of the calls that have not ended
	toolIDs    map[string]struct{} // shown so far; a new droid must not use them again
	chunk      chunkPrefix
	ended      bool
}

// chunkPrefix is the encoded beginning of the text chunk sent last. Most deltas
// continue the message of the one before.
type chunkPrefix struct {
	messageID string
	thought   bool
	encoded   string
}

func (a *Agent) makeSession(cwd string, servers []droid.MCPServer) *Session {
	return &Session{
		agent:   a,
		cwd:     cwd,
		mail:    newMailbox(),
		log:     a.log,
		servers: servers,
		tools:   make(map[string]string),
		toolIDs: make(map[string]struct{}),
	}
}

// post leaves work for the owner; false means that the session has ended.
func (s *Session) post(f func()) bool { return s.mail.post(f) }

// do runs a blocking call beside the owner. The session waits for it before it
// ends; ctx ends when the session does.
func (s *Session) do(f func(ctx context.Context)) {
	ctx := s.agent.ctx
	s.beside.Go(func() { f(ctx) })
}

// run is the owner goroutine. It ends when the agent does, with droid gone and
// every prompt answered.
func (s *Session) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(s.nextTick())
		select {
		case <-s.mail.wake:
			for _, f := range s.mail.take() {
				s.guard(f)
			}
		case ev, ok := <-s.events:
			s.guard(func() { s.droidSaid(ev, ok) })
		case <-timer.C:
			s.guard(s.tick)
		case <-s.agent.ctx.Done():
			s.guard(s.end)
			return
		}
	}
}

// guard keeps a panic from taking the other sessions along: this one loses its
// turn and its process, both with a word to the user.
func (s *Session) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in a session", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			s.failTurn(internalError("internal_error", fmt.Sprintf("droid-acp failed: %v. The details are in its log; please report this.", p)))
			if s.client != nil {
				s.client.Kill()
			}
		}
	}()
	f()
}

// adopt makes client the session's process. Its events are read from now on.
func (s *Session) adopt(client *droid.Client) {
	s.client, s.events = client, client.Events()
	s.norm = quirks.New(client.Version())
}

// opened takes what droid said when it opened or loaded the session.
func (s *Session) opened(info *droid.SessionInfo) {
	s.drainEvents()
	if s.client == nil {
		return // it died right after; the next prompt starts it again
	}
	s.norm.SetVersion(s.client.Version())
	s.models = info.AvailableModels
	s.apply(s.norm.Settings(info.Settings))
	s.id = info.SessionID
	s.log = s.agent.log.With(zap.String("session", s.id))
	if names := s.ignoredServers(); names != "" {
		s.notices = append(s.notices, "This version of droid ignores MCP servers that an editor passes: "+names+". Update droid, or add them with `droid mcp add`.")
	} else {
		s.watchServers()
	}
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

// ignoredServers names the editor's MCP servers if this droid will not start
// them (quirk 24).
func (s *Session) ignoredServers() string {
	if s.client.Version().Features().MCPServers {
		return ""
	}
	names := make([]string, len(s.servers))
	for i, server := range s.servers {
		names[i] = server.Name
	}
	return strings.Join(names, ", ")
}

// droidSaid takes one event, or the end of the process.
func (s *Session) droidSaid(ev droid.Event, ok bool) {
	if !ok {
		s.droidGone()
		return
	}
	switch ev := ev.(type) {
	case droid.LateError:
		if s.turn != nil && s.turn.message.RequestID == ev.RequestID {
			s.abortTurn(internalError("droid_refused", "droid refused the prompt: "+ev.Err.Message))
		}
		return
	case droid.Unknown:
		s.log.Debug("droid said something unknown", zap.String("type", ev.Type), zap.NamedError("decode", ev.Err))
	}
	s.apply(s.norm.Push(time.Now(), ev))
}

// apply translates honest events, in order.
func (s *Session) apply(events []quirks.Event) {
	for _, ev := range events {
		s.translate(ev)
	}
}

// droidGone ends what the process was doing.
func (s *Session) droidGone() {
	client := s.client
	awaitExit(client)
	err := client.ExitError()
	s.log.Warn("droid has ended", zap.Error(err))
	s.client, s.events = nil, nil
	if s.turn != nil {
		s.turn.crash = err
	}
	s.apply(s.norm.Exited(time.Now()))
	s.withdrawAsk()
	if s.turn != nil && !s.turn.starting {
		s.failTurn(crashError(err)) // it had not reached droid yet
	}
}

// exitTime bounds how long a process may live on after it closed its output.
const exitTime = 2 * time.Second

// awaitExit returns when the process is gone.
func awaitExit(client *droid.Client) {
	patience := time.NewTimer(exitTime)
	defer patience.Stop()
	select {
	case <-client.Exited():
	case <-patience.C:
		client.Kill()
		<-client.Exited()
	}
}

// nextTick is how long the owner may wait before something is due.
func (s *Session) nextTick() time.Duration {
	next := time.Hour
	consider := func(at time.Time) { next = min(next, max(0, time.Until(at))) }
	if s.norm != nil && s.client != nil {
		if at, ok := s.norm.Deadline(); ok {
			consider(at)
		}
	}
	if at, ok := s.views.due(); ok {
		consider(at)
	}
	if s.turn != nil && !s.turn.interruptAt.IsZero() {
		consider(s.turn.interruptAt)
	}
	return next
}

func (s *Session) tick() {
	now := time.Now()
	if s.norm != nil && s.client != nil {
		s.apply(s.norm.Tick(now))
	}
	s.flushViews(now)
	s.insist(now)
}

// end finishes the session: every prompt is answered, droid is gone.
func (s *Session) end() {
	s.ended = true
	s.cancelTurns()
	s.withdrawAsk()
	if s.client != nil {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			// The bound is Close's own; it returns with the process gone.
			if err := s.client.Close(context.Background()); err != nil {
				s.log.Debug("droid ended", zap.Error(err))
			}
		}()
		for ev := range s.events {
			s.apply(s.norm.Push(time.Now(), ev))
		}
		<-closed
	}
	s.finishAll()
	for _, f := range s.mail.close() {
		s.guard(f)
	}
	s.finishAll()
	s.beside.Wait()
	for _, f := range s.mail.close() {
		s.guard(f)
	}
}

// send queues an update for the editor.
func (s *Session) send(update any) {
	if s.id == "" {
		return // droid has not opened the session; the response will tell
	}
	line, err := json.Marshal(notification{"2.0", "session/update", sessionNotification{s.id, update}})
	if err != nil {
		s.log.Error("an update could not be encoded", zap.Error(err))
		return
	}
	// An error means that the editor is gone, which ends the session by itself.
	_, _ = s.agent.out.Write(append(line, '\n'))
}

// sendText queues a piece of a message or of a thought.
func (s *Session) sendText(messageID, text string, thought bool) {
	if s.chunk.encoded == "" || s.chunk.messageID != messageID || s.chunk.thought != thought {
		kind := "agent_message_chunk"
		if thought {
			kind = "agent_thought_chunk"
		}
		session, _ := json.Marshal(s.id) // strings always encode
		message, _ := json.Marshal(messageID)
		s.chunk = chunkPrefix{messageID, thought,
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":` + string(session) +
				`,"update":{"sessionUpdate":"` + kind + `","messageId":` + string(message) + `,"content":{"type":"text","text":`}
	}
	s.agent.out.sendText(s.chunk.encoded, text)
}

// tell says something of droid-acp's own to the user, as a thought: it is no
// part of the model's answer.
func (s *Session) tell(text string) { s.sendText(uuid.NewString(), text, true) }
