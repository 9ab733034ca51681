package quirks

// What droid does: one permission request may contain several tools, and several requests may be open at once. droid does not announce on
// the request itself that it withdraws it: permission_resolved names it if an interrupt resolved it, and nothing does for ask_user.
// Seen on: 0.99 (one request for all tools), 0.215, 0.225 (one for each
// run of tools of one kind).
// Quirk: 18, 19.
// Fixtures: parallel_permissions_0.99.txtar, parallel_permissions_0.225.txtar,
// interrupt_permission_0.225.txtar.

import (
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// pendingRequest is a request of droid to the user.
type pendingRequest struct {
	requestID string
	event     Event
	subagent  *subagent // requesting subagent, nil for droid itself
	emitted   bool
}

// RequestAnswered records that a request was answered; refused means by cancel. It returns the next request that was held back, if any.
func (n *Normalizer) RequestAnswered(now time.Time, requestID string, refused bool) []Event {
	n.now = now
	if n.turn != nil && refused && !slices.ContainsFunc(n.requests, func(a pendingRequest) bool { return a.requestID == requestID && a.subagent != nil }) {
		n.turn.refused = true
	}
	n.removeRequest(requestID)
	return n.take()
}

func (n *Normalizer) permissionRequest(ev stream.PermissionRequest) {
	if s := n.requestingSubagent(ev.Sessions); s != nil {
		n.subagentAsks(s, ev)
		return
	}
	n.busy()
	uses := slices.Clone(ev.ToolUses)
	for i, u := range uses {
		c := n.claim(u.ToolUse, true)
		if c == nil {
			continue
		}
		c.started = true
		if c.redirectedTo(u.ToolUse.Input) {
			uses[i].ToolUse.Input = c.latest
		}
		n.reportInput(c, input(uses[i].ToolUse.Input))
		uses[i].ToolUse.Input = c.shared(uses[i].ToolUse.Input)
		uses[i].ToolUse.ID = c.id
	}
	n.addRequest(pendingRequest{requestID: ev.RequestID, event: PermissionRequested{RequestID: ev.RequestID, Tools: uses, Options: ev.Options}})
}

func (n *Normalizer) questionRequest(ev stream.QuestionRequest) {
	n.busy()
	q := QuestionRequested{RequestID: ev.RequestID, ToolID: ev.ToolCallID, Questions: ev.Questions}
	if c := n.openCall(ev.ToolCallID, "AskUser"); c != nil {
		n.run(c)
		q.ToolID = c.id
		q.Questions = dropInventedOptions(ev.Questions, c.latest)
	}
	n.addRequest(pendingRequest{requestID: ev.RequestID, event: q})
}

// addRequest queues a request; see take.
func (n *Normalizer) addRequest(a pendingRequest) {
	if _, ok := n.knownRequests[a.requestID]; ok {
		return
	}
	n.knownRequests[a.requestID] = struct{}{}
	n.requests = append(n.requests, a)
}

// removeRequest removes a request.
func (n *Normalizer) removeRequest(requestID string) {
	n.requests = slices.DeleteFunc(n.requests, func(a pendingRequest) bool { return a.requestID == requestID })
}

// permissionResolved withdraws a request that was answered elsewhere, and marks the allowed tools as running.
func (n *Normalizer) permissionResolved(ev stream.PermissionResolved) {
	n.withdrawRequests(func(a pendingRequest) bool { return a.requestID == ev.RequestID })
	if n.subagentResolved(ev) {
		return
	}
	for _, raw := range ev.ToolUseIDs {
		if c := n.tools.newest[raw]; c != nil && !c.ended {
			n.run(c)
		}
	}
}

// withdrawRequests withdraws and removes requests for which droid no longer waits.
func (n *Normalizer) withdrawRequests(which func(pendingRequest) bool) {
	if len(n.requests) > 0 && n.requests[0].emitted && which(n.requests[0]) {
		n.emit(RequestWithdrawn{RequestID: n.requests[0].requestID})
	}
	n.requests = slices.DeleteFunc(n.requests, which)
}

// endsWithTurn reports whether a request ends with the running turn.
func (a pendingRequest) endsWithTurn() bool { return a.subagent == nil || !a.subagent.background }
