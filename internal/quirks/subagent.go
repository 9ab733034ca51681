package quirks

// What droid does: a subagent works in a process and a session of its own. droid tells once that there is one, for which
// call of Task, and asks the user in its place, also when the turn that began it is over. The calls that it asks for, and
// how they end, are told nowhere but in the subagent's own file, nor is what it does meanwhile. Its ids of calls are its
// model's, as droid's are. Unless it is waited for, the result of Task comes at once and says so, to the model; its end is
// then a message to the model that begins a turn of droid's own.
// Seen on: 0.215, 0.225.
// Quirk: 40.
// Fixtures: subagent_asks_0.215.txtar, subagent_asks_0.225.txtar, subagent_refused_0.225.txtar,
// subagent_background_0.225.txtar, two_subagents_0.225.txtar.
//
// Who has the Normalizer reads the files, from SubagentBegan on, and gives it their lines (Wrote). At SubagentStops
// it reads the last ones. A call whose end is in no line, as the file is not there, ends by Lost.

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// subagent is a session that works for droid's.
type subagent struct {
	id, name string
	task     *openCall // the call of Task that it works for; nil where droid did not say
	nested   bool      // it works for a subagent of that call's
	since    time.Time // what its file has from before is of an earlier call; zero for nothing
	fresh    bool      // its file has something from after

	background bool      // nobody waits for it: it goes on when its call has ended
	rests      time.Time // its file said then that its turn has ended; zero while it did not
	stopped    bool      // it has ended
	told       bool      // SubagentEnded is out
	reason     string
	answer     string
	steps      []Step // that are not told yet

	asked []*childCall       // that the user was asked for and that have not ended, oldest first
	uses  map[string]toolUse // in its file without a result, by the model's id
}

// unnamed is what one is called that droid and the model gave no name.
const unnamed = "subagent"

// childCall is a call of a subagent.
type childCall struct {
	openCall
	raw string // the model's id
}

const (
	// clockSlack is how much earlier than droid's announcement a line may say that it was written.
	clockSlack = 2 * time.Second
	// reportTime is how long after its last turn a subagent of the background may take to report. 0.6 s were seen; one
	// that the model stops need not report at all.
	reportTime = 10 * time.Second
)

// childAvailable notes a subagent, or that one works again.
func (n *Normalizer) childAvailable(ev stream.ChildSessionAvailable) {
	if old := n.subagents[ev.ChildID]; !stream.ValidSessionID(ev.ChildID) || old != nil && !old.stopped {
		return
	}
	s := &subagent{id: ev.ChildID, name: cmp.Or(ev.Description, ev.Type, unnamed), task: n.tools.newest[ev.ToolUseID]}
	if ev.Timestamp > 0 {
		s.since = time.UnixMilli(int64(ev.Timestamp)).Add(-clockSlack)
	}
	n.beginSubagent(s)
}

func (n *Normalizer) beginSubagent(s *subagent) {
	if old := n.subagents[s.id]; old != nil {
		n.loseCalls(old)
		n.tellEnd(old, false)
	}
	s.uses = map[string]toolUse{}
	n.subagents[s.id] = s
	n.emit(SubagentBegan{ID: s.id})
}

// asking is the subagent that a request comes from, nil for droid itself. One that was not announced works for another
// subagent, and ends with that.
func (n *Normalizer) asking(sessions []string) *subagent {
	if len(sessions) < 2 || !stream.ValidSessionID(sessions[0]) {
		return nil
	}
	if s := n.subagents[sessions[0]]; s != nil && !s.stopped {
		return s
	}
	s := &subagent{id: sessions[0], name: unnamed, nested: true}
	for _, id := range sessions {
		if of := n.subagents[id]; of != nil {
			s.name, s.task, s.background = of.name, of.task, of.background
			break
		}
	}
	n.beginSubagent(s)
	return s
}

// subagentAsks announces the calls that a subagent asks for. Their ids have its own before them, as two may use the same.
func (n *Normalizer) subagentAsks(s *subagent, ev stream.PermissionRequest) {
	if _, again := n.opened[ev.RequestID]; again {
		return
	}
	uses, calls := slices.Clone(ev.ToolUses), []*childCall{}
	for i, u := range uses {
		c := n.subagentCall(s, u.ToolUse)
		calls, uses[i].ToolUse.ID = append(calls, c), c.id
	}
	n.allowing[ev.RequestID] = calls
	n.ask(ask{requestID: ev.RequestID, of: s,
		event: PermissionAsked{RequestID: ev.RequestID, Tools: uses, Options: ev.Options, Subagent: s.name}})
}

// subagentCall is the open call that a subagent asks for, which begins where it asks for the first time.
func (n *Normalizer) subagentCall(s *subagent, u stream.ToolUse) *childCall {
	in := input(u.Input)
	for _, c := range s.asked {
		if c.raw == u.ID && c.name == u.Name && sameJSON(c.latest, in) {
			return c
		}
	}
	c := &childCall{openCall{id: n.tools.uniqueID(s.id + "." + u.ID), name: u.Name, first: in, latest: in, told: true}, u.ID}
	s.asked = append(s.asked, c)
	n.emit(ToolStarted{ID: c.id, Name: c.name, Input: in})
	return c
}

// subagentResolved takes the answer to a request of a subagent's; false when the request was another's. The ids in it are
// the subagent's, and may be those of other calls.
func (n *Normalizer) subagentResolved(ev stream.PermissionResolved) bool {
	calls, ofSubagent := n.allowing[ev.RequestID]
	delete(n.allowing, ev.RequestID)
	for _, c := range calls {
		if slices.Contains(ev.ToolUseIDs, c.raw) && !c.ended {
			n.run(&c.openCall)
		}
	}
	return ofSubagent
}

// taskEnds takes the end of a call, with which its subagents end unless they work in the background. It reports whether
// they do.
func (n *Normalizer) taskEnds(c *openCall, end ToolEnded) (goOn bool) {
	all, id := n.ofTask(c), launchedID(end)
	goOn = slices.ContainsFunc(all, func(s *subagent) bool { return s.id == id })
	for _, s := range all {
		if s.background = goOn; !goOn {
			n.stop(s)
		}
	}
	return goOn
}

// ofTask are the subagents that work for a call.
func (n *Normalizer) ofTask(c *openCall) (all []*subagent) {
	for _, s := range n.allSubagents() {
		if c != nil && s.task == c && !s.stopped {
			all = append(all, s)
		}
	}
	return all
}

// stop notes that a subagent has ended.
func (n *Normalizer) stop(s *subagent) {
	s.stopped = true
	n.withdrawAsks(func(a ask) bool { return a.of == s })
	n.emit(SubagentStops{ID: s.id})
}

// reported takes the message in which a subagent reports.
func (n *Normalizer) reported(r report) {
	s := n.subagents[r.id]
	if s == nil {
		return
	}
	if !s.stopped {
		s.reason, s.answer = r.reason, cmp.Or(r.output, s.answer)
		n.stopAll(s)
	}
	n.emit(SubagentReports{ID: s.id, Name: s.name, Reason: r.reason})
}

// stopAll stops a subagent and those that work for it.
func (n *Normalizer) stopAll(s *subagent) {
	for _, other := range n.ofTask(s.task) {
		if other != s {
			n.stop(other)
		}
	}
	n.stop(s)
}

// Works reports whether a subagent has not ended.
func (n *Normalizer) Works(id string) bool {
	s := n.subagents[id]
	return s != nil && !s.stopped
}

// SubagentsWork reports whether one has not ended.
func (n *Normalizer) SubagentsWork() bool {
	return slices.ContainsFunc(n.allSubagents(), func(s *subagent) bool { return !s.stopped })
}

// Lacks reports whether the user was asked for calls of a subagent's that have no end yet.
func (n *Normalizer) Lacks(id string) bool {
	s := n.subagents[id]
	return s != nil && len(s.asked) > 0
}

// Lost says that a subagent's file tells no more. How those of its calls ended that ran and have no end is not known.
func (n *Normalizer) Lost(now time.Time, id string) []Event {
	n.now = now
	if s := n.subagents[id]; s != nil {
		n.loseCalls(s)
	}
	return n.take()
}

// EndSubagents says that droid is gone, and its subagents with it.
func (n *Normalizer) EndSubagents(now time.Time) []Event {
	n.now = now
	n.endSubagents()
	return n.take()
}

func (n *Normalizer) endSubagents() {
	for _, s := range n.allSubagents() {
		n.withdrawAsks(func(a ask) bool { return a.of == s })
		n.loseCalls(s)
		n.tellEnd(s, !s.stopped)
		s.stopped = true
	}
}

// loseCalls ends calls of which no end came. Those that nobody allowed did not run.
func (n *Normalizer) loseCalls(s *subagent) {
	for _, c := range s.asked {
		n.endSubagentCall(c, ToolEnded{Unfinished: true, IsError: !c.running})
	}
	s.asked = nil
}

func (n *Normalizer) endSubagentCall(c *childCall, end ToolEnded) {
	c.ended = true
	end.ID, end.Name = c.id, c.name
	n.emit(end)
}

func (n *Normalizer) tellEnd(s *subagent, gone bool) {
	if s.told {
		return
	}
	s.told = true
	end := SubagentEnded{ID: s.id, Name: s.name, Gone: gone, Reason: s.reason, Answer: s.answer}
	if s.task != nil && s.background && !s.nested {
		end.ToolID = s.task.id
	}
	n.emit(end)
}

// allSubagents are all of them, in an order that does not change.
func (n *Normalizer) allSubagents() (all []*subagent) {
	for _, id := range slices.Sorted(maps.Keys(n.subagents)) {
		all = append(all, n.subagents[id])
	}
	return all
}
