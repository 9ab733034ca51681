package quirks

// What droid does: one permission request may hold several tools, and several
// requests may be open at once. droid takes a request back without a word to
// the request itself: permission_resolved names it when an interrupt resolved
// it, and nothing does for ask_user.
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

// ask is a request of droid that waits for the user.
type ask struct {
	requestID string
	event     Event
}

// Answered says that the request was answered; refused is whether the answer
// was cancel. It returns the next request that was held back, if there is one.
func (n *Normalizer) Answered(now time.Time, requestID string, refused bool) []Event {
	n.now = now
	if n.turn != nil && refused {
		n.turn.refused = true
	}
	n.removeAsk(requestID)
	return n.take()
}

func (n *Normalizer) permissionRequest(ev stream.PermissionRequest) {
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
	n.ask(ev.RequestID, PermissionAsked{RequestID: ev.RequestID, Tools: uses, Options: ev.Options})
}

func (n *Normalizer) questionRequest(ev stream.QuestionRequest) {
	n.busy()
	q := QuestionAsked{RequestID: ev.RequestID, ToolID: ev.ToolCallID, Questions: ev.Questions}
	if c := n.openCall(ev.ToolCallID, "AskUser"); c != nil {
		n.run(c)
		q.ToolID = c.id
		q.Questions = withoutInvented(ev.Questions, c.latest)
	}
	n.ask(ev.RequestID, q)
}

// ask passes a request on, or holds it back while another one is open.
func (n *Normalizer) ask(requestID string, ev Event) {
	if _, ok := n.answered[requestID]; ok {
		return
	}
	n.answered[requestID] = struct{}{}
	n.asks = append(n.asks, ask{requestID: requestID, event: ev})
	if len(n.asks) == 1 {
		n.emit(ev)
	}
}

// removeAsk forgets a request and lets the next one out.
func (n *Normalizer) removeAsk(requestID string) {
	i := slices.IndexFunc(n.asks, func(a ask) bool { return a.requestID == requestID })
	if i < 0 {
		return
	}
	n.asks = slices.Delete(n.asks, i, i+1)
	if i == 0 && len(n.asks) > 0 {
		n.emit(n.asks[0].event)
	}
}

// permissionResolved withdraws a request that somebody else answered, and notes
// that the tools it allows now run.
func (n *Normalizer) permissionResolved(ev stream.PermissionResolved) {
	if len(n.asks) > 0 && n.asks[0].requestID == ev.RequestID {
		n.emit(AskWithdrawn{RequestID: ev.RequestID})
	}
	n.removeAsk(ev.RequestID)
	for _, raw := range ev.ToolUseIDs {
		if c := n.tools.newest[raw]; c != nil && !c.ended {
			n.run(c)
		}
	}
}

// withdrawAsks takes back the open request and forgets the others: droid waits
// for none of them any more.
func (n *Normalizer) withdrawAsks() {
	if len(n.asks) > 0 {
		n.emit(AskWithdrawn{RequestID: n.asks[0].requestID})
	}
	n.asks = nil
}
