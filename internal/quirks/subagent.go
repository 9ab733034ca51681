package quirks

// What droid does: a subagent works in its own process and session. droid announces it once, with its Task call, and asks the user on its
// behalf, even after the turn that started it. The calls that it asks for, their outcomes and its other steps are only in the subagent's
// own file. Its call IDs are its model's, like droid's. If it is not waited for, the result of Task comes at once and says so, to the
// model; its end is then a message to the model that starts a turn by droid itself.
// Seen on: 0.215, 0.225.
// Quirk: 40.
// Fixtures: subagent_asks_0.215.txtar, subagent_asks_0.225.txtar, subagent_refused_0.225.txtar,
// subagent_background_0.225.txtar, two_subagents_0.225.txtar.
//
// The owner of the Normalizer reads the files, from SubagentStarted on, and passes their lines to HandleSubagentLines, the last ones at
// SubagentStopped. A call without an end in the file ends by EndSubagentFile.

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// subagent is a session that works for droid's.
type subagent struct {
	id, name    string
	kind        string    // such as "worker"; "" if not known
	parent      string    // the subagent that it works for; "" for droid itself
	task        *openCall // its Task call; nil if droid did not name it
	nested      bool      // works for a subagent of that call
	since       time.Time // earlier lines of its file are of a previous call
	hasNewLines bool      // its file has later lines

	background  bool      // not waited for: continues when its call has ended
	turnEndedAt time.Time // when its file reported the end of its turn; zero if it did not
	stopped     bool      // it has ended
	endReported bool      // SubagentEnded was emitted
	reason      string
	answer      string
	steps       []Step // not emitted yet

	requested []*subagentCall    // calls in requests to the user, not ended, oldest first
	uses      map[string]toolUse // calls in its file without a result, by the model's ID
}

// unnamedSubagent is the name of a subagent without one.
const unnamedSubagent = "subagent"

// subagentCall is a call of a subagent.
type subagentCall struct {
	openCall
	raw       string // the model's ID
	of        *subagent
	announced bool // ToolStarted was emitted
}

const (
	// clockSlack is how much earlier than droid's announcement a line may be dated.
	clockSlack = 2 * time.Second
	// reportTime is how long after its last turn a background subagent may take to report. 0.6 s were seen; one that the model stops need
	// not report at all.
	reportTime = 10 * time.Second
)

// subagentAvailable records a new subagent, or one that works again.
func (n *Normalizer) subagentAvailable(ev stream.ChildSessionAvailable) {
	if old := n.subagents[ev.ChildID]; !stream.ValidSessionID(ev.ChildID) || old != nil && !old.stopped {
		return
	}
	n.beginSubagent(&subagent{id: ev.ChildID, name: cmp.Or(ev.Description, ev.Type, unnamedSubagent), kind: ev.Type, task: n.tools.newest[ev.ToolUseID],
		since: time.UnixMilli(int64(ev.Timestamp)).Add(-clockSlack)})
}

func (n *Normalizer) beginSubagent(s *subagent) {
	if old := n.subagents[s.id]; old != nil {
		n.loseCalls(old)
		n.reportSubagentEnd(old, false)
	}
	s.uses = map[string]toolUse{}
	n.subagents[s.id] = s
	n.emit(s.started())
}

// requestingSubagent returns the subagent that a request comes from, nil for droid itself. One that was not announced works for another
// subagent, and ends with it.
func (n *Normalizer) requestingSubagent(sessions []string) *subagent {
	if len(sessions) < 2 || !stream.ValidSessionID(sessions[0]) {
		return nil
	}
	if s := n.subagents[sessions[0]]; s != nil && !s.stopped {
		return s
	}
	s := &subagent{id: sessions[0], name: unnamedSubagent, nested: true}
	for _, id := range sessions {
		if of := n.subagents[id]; of != nil {
			s.name, s.task, s.background = of.name, of.task, of.background
			if of.id != s.id { // else it works again
				s.parent = of.id
			}
			break
		}
	}
	n.beginSubagent(s)
	return s
}

// subagentAsks announces the calls in a subagent's request. Their IDs are prefixed by its own, as two subagents may use the same.
func (n *Normalizer) subagentAsks(s *subagent, ev stream.PermissionRequest) {
	if _, again := n.knownRequests[ev.RequestID]; again {
		return
	}
	if n.showsSubagents {
		n.emit(SubagentAsks{ID: s.id})
	}
	uses, calls := slices.Clone(ev.ToolUses), []*subagentCall{}
	for i, u := range uses {
		c := n.findSubagentCall(s, u.ToolUse)
		if !n.showsSubagents {
			n.announce(c)
		}
		calls, uses[i].ToolUse.ID = append(calls, c), c.id
	}
	n.subagentRequests[ev.RequestID] = calls
	n.addRequest(pendingRequest{requestID: ev.RequestID, subagent: s,
		event: PermissionRequested{RequestID: ev.RequestID, Tools: uses, Options: ev.Options, Subagent: s.name, SessionID: s.id}})
}

// announce emits the beginning of a call, once.
func (n *Normalizer) announce(c *subagentCall) {
	if !c.announced {
		c.announced = true
		n.emitFor(c.of, ToolStarted{ID: c.id, Name: c.name, Input: c.latest})
		if c.running { // it is shown again
			n.emitFor(c.of, ToolRunning{ID: c.id})
		}
	}
}

// findSubagentCall returns the open call in a subagent's request, or a new one.
func (n *Normalizer) findSubagentCall(s *subagent, u stream.ToolUse) *subagentCall {
	in := input(u.Input)
	for _, c := range s.requested {
		if c.raw == u.ID && c.name == u.Name && sameJSON(c.latest, in) {
			return c
		}
	}
	c := &subagentCall{openCall: openCall{id: n.tools.uniqueID(s.id + "." + u.ID), name: u.Name, first: in, latest: in, inputReported: true}, raw: u.ID, of: s}
	s.requested = append(s.requested, c)
	return c
}

// subagentResolved handles the answer to a subagent's request; it returns false if the request is not a subagent's. The call IDs are the
// subagent's and may equal those of other calls.
func (n *Normalizer) subagentResolved(ev stream.PermissionResolved) bool {
	calls, ofSubagent := n.subagentRequests[ev.RequestID]
	delete(n.subagentRequests, ev.RequestID)
	for _, c := range calls {
		if slices.Contains(ev.ToolUseIDs, c.raw) && !c.ended {
			n.runSubagentCall(c)
		}
	}
	return ofSubagent
}

// runSubagentCall records that a subagent's call is executing.
func (n *Normalizer) runSubagentCall(c *subagentCall) {
	c.started = true
	if !c.running {
		c.running = true
		n.emitFor(c.of, ToolRunning{ID: c.id})
	}
}

// taskEnded handles the end of a Task, with which its subagents end unless they work in the background. It reports whether they do.
func (n *Normalizer) taskEnded(c *openCall, end ToolEnded) (goOn bool) {
	all, id := n.ofTask(c), launchedID(end)
	goOn = slices.ContainsFunc(all, func(s *subagent) bool { return s.id == id })
	for _, s := range all {
		if s.background = goOn; !goOn {
			n.stop(s)
		}
	}
	return goOn
}

// ofTask returns the running subagents of a call.
func (n *Normalizer) ofTask(c *openCall) (all []*subagent) {
	for _, s := range n.allSubagents() {
		if c != nil && s.task == c && !s.stopped {
			all = append(all, s)
		}
	}
	return all
}

// stop records that a subagent has ended.
func (n *Normalizer) stop(s *subagent) {
	s.stopped = true
	n.withdrawRequests(func(a pendingRequest) bool { return a.subagent == s })
	n.emit(SubagentStopped{ID: s.id})
}

// reported handles the message in which a subagent reports.
func (n *Normalizer) reported(r report) {
	s := n.subagents[r.id]
	if s == nil {
		return
	}
	if !s.stopped {
		s.reason, s.answer = r.reason, cmp.Or(r.output, s.answer)
		n.stopAll(s)
	}
	n.emit(SubagentReported{ID: s.id, Name: s.name, Reason: r.reason})
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

// SubagentRunning reports whether the subagent is running.
func (n *Normalizer) SubagentRunning(id string) bool {
	s := n.subagents[id]
	return s != nil && !s.stopped
}

// AnySubagentRunning reports whether any subagent is running.
func (n *Normalizer) AnySubagentRunning() bool {
	return slices.ContainsFunc(n.allSubagents(), func(s *subagent) bool { return !s.stopped })
}

// HasOpenSubagentCalls reports whether a subagent has unfinished calls that the user was asked about.
func (n *Normalizer) HasOpenSubagentCalls(id string) bool {
	s := n.subagents[id]
	return s != nil && len(s.requested) > 0
}

// EndSubagentFile records that a subagent's file has no more lines. The outcome of its calls that ran without an end is unknown.
func (n *Normalizer) EndSubagentFile(now time.Time, id string) []Event {
	n.now = now
	if s := n.subagents[id]; s != nil {
		n.loseCalls(s)
	}
	return n.take()
}

// EndSubagents records that droid has exited together with its subagents.
func (n *Normalizer) EndSubagents(now time.Time) []Event {
	n.now = now
	n.endSubagents()
	return n.take()
}

func (n *Normalizer) endSubagents() {
	for _, s := range n.allSubagents() {
		n.withdrawRequests(func(a pendingRequest) bool { return a.subagent == s })
		n.loseCalls(s)
		n.reportSubagentEnd(s, !s.stopped)
		s.stopped = true
	}
}

// loseCalls ends calls without an end. Those that were not allowed did not run.
func (n *Normalizer) loseCalls(s *subagent) {
	for _, c := range s.requested {
		n.endSubagentCall(c, ToolEnded{Unfinished: true, IsError: !c.running})
	}
	s.requested = nil
}

func (n *Normalizer) endSubagentCall(c *subagentCall, end ToolEnded) {
	c.ended = true
	n.announce(c)
	end.ID, end.Name = c.id, c.name
	n.emitFor(c.of, end)
}

func (n *Normalizer) reportSubagentEnd(s *subagent, gone bool) {
	if s.endReported {
		return
	}
	s.endReported = true
	end := SubagentEnded{ID: s.id, Name: s.name, Gone: gone, Reason: s.reason, Answer: s.answer}
	if s.task != nil && s.background && !s.nested {
		end.ToolID = s.task.id
	}
	n.emit(end)
}

// allSubagents returns all subagents in a stable order.
func (n *Normalizer) allSubagents() (all []*subagent) {
	for _, id := range slices.Sorted(maps.Keys(n.subagents)) {
		all = append(all, n.subagents[id])
	}
	return all
}
