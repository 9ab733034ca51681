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

// ask is a request of droid to the user.
type ask struct {
	requestID string
	event     Event
	of        *subagent // requesting subagent, nil for droid itself
	out       bool      // emitted
}

// Answered records that a request was answered; refused means by cancel. It returns the next request that was held back, if any.
func (n *Normalizer) Answered(now time.Time, requestID string, refused bool) []Event {
	n.now = now
	if n.turn != nil && refused && !slices.ContainsFunc(n.asks, func(a ask) bool { return a.requestID == requestID && a.of != nil }) {
		n.turn.refused = true
	}
	n.removeAsk(requestID)
	return n.take()
}

func (n *Normalizer) permissionRequest(ev stream.PermissionRequest) {
	if s := n.asking(ev.Sessions); s != nil {
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
		c.acted = true
		if c.redirectedTo(u.ToolUse.Input) {
			uses[i].ToolUse.Input = c.latest
		}
		n.tellInput(c, input(uses[i].ToolUse.Input))
		uses[i].ToolUse.Input = c.once(uses[i].ToolUse.Input)
		uses[i].ToolUse.ID = c.id
	}
	n.ask(ask{requestID: ev.RequestID, event: PermissionAsked{RequestID: ev.RequestID, Tools: uses, Options: ev.Options}})
}

func (n *Normalizer) questionRequest(ev stream.QuestionRequest) {
	n.busy()
	q := QuestionAsked{RequestID: ev.RequestID, ToolID: ev.ToolCallID, Questions: ev.Questions}
	if c := n.openCall(ev.ToolCallID, "AskUser"); c != nil {
		n.run(c)
		q.ToolID = c.id
		q.Questions = withoutInvented(ev.Questions, c.latest)
	}
	n.ask(ask{requestID: ev.RequestID, event: q})
}

// ask queues a request; see take.
func (n *Normalizer) ask(a ask) {
	if _, ok := n.opened[a.requestID]; ok {
		return
	}
	n.opened[a.requestID] = struct{}{}
	n.asks = append(n.asks, a)
}

// removeAsk removes a request.
func (n *Normalizer) removeAsk(requestID string) {
	n.asks = slices.DeleteFunc(n.asks, func(a ask) bool { return a.requestID == requestID })
}

// permissionResolved withdraws a request that was answered elsewhere, and marks the allowed tools as running.
func (n *Normalizer) permissionResolved(ev stream.PermissionResolved) {
	if len(n.asks) > 0 && n.asks[0].requestID == ev.RequestID {
		n.emit(AskWithdrawn{RequestID: ev.RequestID})
	}
	n.removeAsk(ev.RequestID)
	if n.subagentResolved(ev) {
		return
	}
	for _, raw := range ev.ToolUseIDs {
		if c := n.tools.newest[raw]; c != nil && !c.ended {
			n.run(c)
		}
	}
}

// withdrawAsks withdraws and removes requests for which droid no longer waits.
func (n *Normalizer) withdrawAsks(which func(ask) bool) {
	if len(n.asks) > 0 && n.asks[0].out && which(n.asks[0]) {
		n.emit(AskWithdrawn{RequestID: n.asks[0].requestID})
	}
	n.asks = slices.DeleteFunc(n.asks, which)
}

// ofTurn reports whether a request ends with the running turn.
func (a ask) ofTurn() bool { return a.of == nil || !a.of.background }
