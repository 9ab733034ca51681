package session

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/droid/diagnosis"
	"droid-acp/internal/droid/store"
	"droid-acp/internal/droid/stream"
	"droid-acp/internal/quirks"
	"droid-acp/internal/render"
)

// Only the file of a subagent shows what it does (quirk 40). While it works, the file is read periodically; when droid reports its end,
// later events wait until the file was read to its end.

// lookAtSubagents reads on in the files whose time has come.
func (s *Session) lookAtSubagents(now time.Time) {
	for _, id := range s.proc.NextSubagents(now) {
		s.mu.Go(func() {
			norm := s.proc.Normalizer()
			from, to, lines := s.readSubagent(s.Context, id)
			if s.proc.Normalizer() != norm || s.held != nil || s.showsHistory() || !s.proc.Subagents.Read(id, from, to, lines) {
				return // droid is another one, or what was read has to wait: it is read again
			}
			s.subagentWrote(norm, id)
		})
	}
}

// fileTime bounds the wait for a subagent's file: what droid says may have to wait for it.
const fileTime = 2 * time.Second

// readSubagent reads a subagent's file on, without the lock.
func (s *Session) readSubagent(ctx context.Context, id string) (from, to store.Offset, lines []stream.ChildLine) {
	from = s.proc.Subagents.Offset(id)
	_ = s.unlockedFor(ctx, fileTime, func(ctx context.Context) error { lines, to = s.deps.Threads.Subagent(ctx, id, from); return nil })
	return from, to, lines
}

// subagentWrote applies what was read of a subagent's file, and then what waited for that.
func (s *Session) subagentWrote(norm *quirks.Normalizer, id string, behind ...quirks.Event) {
	now := time.Now()
	s.apply(append(norm.HandleSubagentLines(now, id, s.proc.Subagents.Take(id)), behind...))
	if !norm.SubagentRunning(id) && s.proc.Subagents.Stopped(now, id, norm.HasOpenSubagentCalls(id)) {
		s.apply(norm.EndSubagentFile(now, id))
	}
}

// mostReads bounds how often a file is read on for its end, so that one which grows without an end has one.
const mostReads = 64

// readToEnd reads the file of a subagent that has ended, for which events are held.
func (s *Session) readToEnd(ctx context.Context, held *heldEvents, id string) {
	norm := s.proc.Normalizer()
	for range mostReads {
		from, to, lines := s.readSubagent(ctx, id)
		if s.held != held {
			return // the turn was cancelled in the meantime, or droid or the session has ended
		}
		if !s.proc.Subagents.Read(id, from, to, lines) || from == to {
			break
		}
	}
	s.subagentWrote(norm, id, s.releaseEvents(held)[1:]...)
}

// subagentToRead returns the subagent whose file is read before an event is applied; ok is false if that reads none.
func subagentToRead(ev quirks.Event) (id string, ok bool) {
	switch ev := ev.(type) {
	case quirks.SubagentStopped:
		return ev.ID, true
	case quirks.SubagentAsks:
		return ev.ID, true
	}
	return "", false
}

// loseSubagentCalls ends the calls of subagents that still run: the editor is about to get the conversation again, without these calls.
func (s *Session) loseSubagentCalls() {
	if norm := s.proc.Normalizer(); norm != nil {
		for _, id := range s.proc.Subagents.IDs() {
			s.apply(norm.EndSubagentFile(time.Now(), id))
		}
	}
}

// Subagents are separate sessions for a client that declares them: each is announced before all its updates, then the content of its files
// and its requests come under its session id. They cannot be cancelled: an interrupt does not reach one in the background.

// subagentSession is a subagent as the client is shown it.
type subagentSession struct {
	parent    string // the subagent that it works for; "" for the session itself
	announced protocol.Update
	view      *render.View
	asks      int // open requests
}

// adoptSubagents makes the droid that the session has just got report its subagents as sessions, where the client takes that.
func (s *Session) adoptSubagents() {
	if s.deps.Client.Subagents != "" {
		s.proc.Normalizer().ShowSubagents()
	}
}

// beginSubagent announces a subagent that begins, or works again.
func (s *Session) beginSubagent(ev quirks.SubagentStarted) {
	if s.deps.Client.Subagents == "" {
		return
	}
	if s.subagents == nil {
		s.subagents = make(map[string]*subagentSession)
	}
	one := s.subagents[ev.ID]
	if one == nil {
		one = &subagentSession{view: render.New(render.Options{CWD: s.cwd, Capabilities: s.deps.Client, NewID: uuid.NewString, LoginHint: diagnosis.LoginRemedy()})}
		s.subagents[ev.ID] = one
	}
	if one.parent = ""; s.subagents[ev.Parent] != nil {
		one.parent = ev.Parent
	}
	update := protocol.SubagentIn(ev.ID, protocol.SubagentRunning, "")
	update.Title, update.Description = protocol.Line(cmp.Or(ev.Type, "subagent")), protocol.Line(ev.Description)
	parent := cmp.Or(one.parent, s.out.Session())
	if s.deps.Client.Subagents == protocol.AirSubagents {
		one.announced = update.AirSpawned(ev.Prompt)
		s.out.SendFor(parent, one.announced)
		return
	}
	one.announced = update
	s.out.SendFor(parent, update)
	if ev.Prompt != "" {
		s.out.SendFor(ev.ID, protocol.MessageFrom(parent, cmp.Or(ev.ToolID, ev.ID)+".prompt", ev.Prompt))
	}
}

// sendSubagentState sends the parent the state of a subagent, stopReason with protocol.SubagentIdle.
func (s *Session) sendSubagentState(id, state, stopReason string) {
	update := protocol.Update(protocol.SubagentIn(id, state, stopReason))
	if s.deps.Client.Subagents == protocol.AirSubagents {
		update = protocol.SubagentIn(id, state, stopReason).AirState()
	}
	if update != nil {
		s.out.SendFor(cmp.Or(s.subagents[id].parent, s.out.Session()), update)
	}
}

// inSubagent shows an event of a subagent's session, and does what else it wants done.
func (s *Session) inSubagent(ev quirks.InSubagent) {
	if _, ended := ev.Event.(quirks.ToolEnded); ended {
		s.fileCalls.Handle(ev.Event, s.cwd)
		s.lookInTurn()
	}
	if !s.showsHistory() {
		s.handleBackground(ev.Event)
	}
	s.showSubagent(ev)
}

// showSubagent shows an event of a subagent's session.
func (s *Session) showSubagent(ev quirks.InSubagent) {
	if one := s.subagents[ev.ID]; one != nil {
		s.updateIn(ev.ID, one.view.History(s.moment(), ev.Event)...)
	}
}

// updateIn sends updates of a subagent's session, and with the id "" of this one.
func (s *Session) updateIn(id string, things ...protocol.Update) {
	one := s.subagents[id]
	if one == nil {
		s.update(things...)
		return
	}
	for _, thing := range things {
		switch text, isText := thing.(render.Text); {
		case thing.UpdateKind() == render.AgentText:
			s.updateIn(id, one.view.ShowAgentText(thing)...)
		case isText && text.MessageID == "":
			text.MessageID = uuid.NewString()
			s.out.SendFor(id, text)
		default:
			s.out.SendFor(id, thing)
		}
	}
}

// asker returns the session of the subagent that asks, if it is shown as one, and else "", with the view in which that is shown.
func (s *Session) asker(ev quirks.PermissionRequested) (id string, view *render.View) {
	one := s.subagents[ev.SessionID]
	if one == nil {
		return "", s.show
	}
	for _, tool := range ev.Tools {
		s.fileCalls.Handle(quirks.ToolStarted{ID: tool.ToolUse.ID, Name: tool.ToolUse.Name, Input: tool.ToolUse.Input}, s.cwd)
	}
	return ev.SessionID, one.view
}

// subagentAsks notes that a subagent has begun to ask the user, or has its answer.
func (s *Session) subagentAsks(id string, by int) {
	one := s.subagents[id]
	if one == nil {
		return
	}
	switch one.asks += by; {
	case by > 0 && one.asks == 1:
		s.sendSubagentState(id, protocol.SubagentRequiresAction, "")
	case by < 0 && one.asks == 0 && s.proc.Normalizer().SubagentRunning(id):
		s.sendSubagentState(id, protocol.SubagentRunning, "")
	}
}

// subagentRests reports that a subagent has ended its work, and how.
func (s *Session) subagentRests(ev quirks.SubagentEnded) {
	if one := s.subagents[ev.ID]; one != nil {
		s.sendSubagentState(ev.ID, protocol.SubagentIdle, subagentStopReason(ev))
	}
}

// subagentStopReason returns ACP's word for how a subagent has ended, "" where that is not known. What the user refused ends with end_turn,
// as everywhere.
func subagentStopReason(ev quirks.SubagentEnded) string {
	switch {
	case ev.Gone:
		return "error"
	case ev.Reason == "":
		return ""
	case ev.Reason == stream.ReasonCompleted, ev.Reason == stream.ReasonPermissionRejected:
		return "end_turn"
	case ev.Reason == stream.ReasonCancelled:
		return "cancelled"
	}
	return "error"
}

// announceSubagents announces the subagents that work for one, or with "" for the session, and those that work for these: for a client that
// resumes the session.
func (s *Session) announceSubagents(parent string) {
	for id, one := range s.subagents {
		if one.parent == parent && s.proc.Normalizer().SubagentRunning(id) {
			s.out.SendFor(cmp.Or(one.parent, s.out.Session()), one.announced)
			if one.asks > 0 {
				s.sendSubagentState(id, protocol.SubagentRequiresAction, "")
			}
			s.announceSubagents(id)
		}
	}
}

// subagentReplay shows the subagents of a history, each behind the call of Task that began it.
type subagentReplay struct {
	r     *reload
	tasks map[string]json.RawMessage // inputs of calls, by their IDs
	asks  map[string]int             // open requests of those that work
}

// replaysSubagents begins to show a history's subagents; nil for a client that is shown none.
func (r *reload) replaysSubagents() *subagentReplay {
	if r.s.deps.Client.Subagents == "" {
		return nil
	}
	asks := make(map[string]int)
	for id, one := range r.s.subagents {
		asks[id] = one.asks
	}
	r.s.subagents = nil // the client is shown them again
	return &subagentReplay{r, make(map[string]json.RawMessage), asks}
}

// behind shows the subagent that an event of the history has begun. It reports false where the load ended before.
func (r *subagentReplay) behind(ctx context.Context, ev quirks.Event) bool {
	if r == nil {
		return true
	}
	switch ev := ev.(type) {
	case quirks.ToolStarted:
		if ev.Name == "Task" {
			r.tasks[ev.ID] = ev.Input
		}
	case quirks.ToolEnded:
		input, isTask := r.tasks[ev.ID]
		if id := quirks.TaskSession(ev); isTask && id != "" && r.r.s.subagents[id] == nil {
			return r.replay(ctx, ev.ID, id, input)
		}
	}
	return true
}

// replay shows one subagent, by its file.
func (r *subagentReplay) replay(ctx context.Context, call, id string, input json.RawMessage) bool {
	s := r.r.s
	var in struct {
		Type        string `json:"subagent_type"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(input, &in) // nothing of another form
	norm := s.proc.Normalizer()
	running := norm.SubagentRunning(id)
	if running {
		norm.RestartSubagent(id)
		s.proc.Subagents.Restart(id)
	}
	var lines []stream.ChildLine
	from := store.Offset{}
	for range mostReads {
		var more []stream.ChildLine
		var to store.Offset
		_ = s.unlockedFor(ctx, fileTime, func(ctx context.Context) error {
			more, to = s.deps.Threads.Subagent(ctx, id, from)
			return nil
		})
		if lines = append(lines, more...); to == from {
			break
		}
		from = to
	}
	if s.load != r.r {
		return false
	}
	s.beginSubagent(quirks.SubagentStarted{ID: id, ToolID: call, Type: in.Type, Description: in.Description, Prompt: quirks.TaskPrompt(input)})
	if running && norm == s.proc.Normalizer() {
		s.proc.Subagents.Read(id, store.Offset{}, from, nil)
		s.apply(norm.HandleSubagentLines(time.Now(), id, lines))
		for range r.asks[id] {
			s.subagentAsks(id, +1)
		}
		return true
	}
	for _, ev := range quirks.SubagentHistory(time.Now(), id, lines) {
		if !r.r.awaitRoom(ctx) {
			return false
		}
		switch ev := ev.(type) {
		case quirks.InSubagent:
			s.showSubagent(ev)
		case quirks.SubagentEnded:
			s.subagentRests(ev)
		}
	}
	return true
}
