package quirks

import (
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// turn is a prompt being processed by droid.
type turn struct {
	requestID       string
	text            string   // of the prompt, until droid has echoed it
	messageID       string   // of the user message, once droid has echoed it
	merged          []string // other prompts that droid added to this turn
	queued          bool     // begun while another turn ran, so droid may have queued it
	behindDroidTurn bool     // droid was working on a turn that it had started by itself, see Begin
	echoed          bool     // TurnStarted was emitted
	active          bool     // droid has worked on it, so subsequent events belong to it
	traceIDs        traceIDs // of droid's turns that are reported as this one

	interrupted bool // interrupt_session was sent
	stopped     bool // droid reported the interrupt
	refused     bool // the user refused a request of this turn
	awaiting    bool // the model was called and its message is missing
	complete    bool // the last event was a message without tool calls

	failure   *Failure // last error
	recovered bool     // droid continued after it

	completed      *stream.TurnCompleted
	idle           bool      // idle has arrived but is held back
	concurrentIdle bool      // that idle seems to belong to another turn
	deadline       time.Time // when the turn ends unless another event comes; zero: never
}

// ending has the part of an ended turn that late events need.
type ending struct {
	messageID string
	cancelled bool
}

// Begin announces that a prompt is about to be sent. Its turn starts now, or if a turn is running, as when droid starts a queued message by
// itself, after that one.
func (n *Normalizer) Begin(now time.Time, requestID, text string) []Event {
	n.now = now
	t := &turn{requestID: requestID, text: text}
	if n.turn == nil {
		n.turn = t
		t.behindDroidTurn = n.Working() // caused by a message to the model only, such as a late subagent report
	} else {
		t.queued = true
		n.waitingTurns = append(n.waitingTurns, t)
	}
	return n.take()
}

// Abort records that droid did not accept a prompt. It ends its turn with everything open in it, but emits no TurnEnded, as the caller
// knows the reason.
func (n *Normalizer) Abort(now time.Time, requestID string) []Event {
	n.now = now
	switch t := n.waitingTurn(requestID); {
	case t != nil:
		n.endedPrompts[requestID] = struct{}{}
		n.waitingTurns = slices.DeleteFunc(n.waitingTurns, func(w *turn) bool { return w == t })
	case n.turn != nil && n.turn.requestID == requestID:
		n.endedPrompts[requestID] = struct{}{}
		n.withdrawRequests(pendingRequest.endsWithTurn)
		n.endTools()
		n.next()
	}
	return n.take()
}

// Interrupted records that interrupt_session was sent: missing messages will not come.
func (n *Normalizer) Interrupted(now time.Time) []Event {
	n.now = now
	if t := n.turn; t != nil {
		t.interrupted = true
		if t.idle && !t.concurrentIdle {
			n.finish()
		}
	}
	return n.take()
}

// Deadline returns when Tick must be called next, if at all.
func (n *Normalizer) Deadline() (time.Time, bool) {
	if n.turn == nil || n.turn.deadline.IsZero() {
		return time.Time{}, false
	}
	return n.turn.deadline, true
}

// Tick ends a turn whose end was held back until now.
func (n *Normalizer) Tick(now time.Time) []Event {
	n.now = now
	if at, ok := n.Deadline(); ok && !now.Before(at) {
		n.finish()
	}
	return n.take()
}

// DroidExited ends everything that is open. A running turn fails with stream.ReasonProcessExit, unless droid had ended it before.
func (n *Normalizer) DroidExited(now time.Time) []Event {
	n.now = now
	n.endSubagents()
	for n.turn != nil {
		t := n.turn
		if t.completed != nil || t.idle && !n.completes && !n.cutOff(t) {
			n.finish()
			continue
		}
		if !t.failing() {
			n.showFailure(t)
		}
		n.finishAs(t.fail(stream.ReasonProcessExit))
	}
	n.withdrawRequests(pendingRequest.endsWithTurn)
	n.endTools()
	return n.take()
}

// busy records that droid works. After agent_turn_completed that is the next turn, so the running one ends. Otherwise it shows that a
// preceding idle did not end the running turn.
func (n *Normalizer) busy() {
	if n.turn != nil && n.turn.completed != nil {
		n.finish()
	}
	t := n.turn
	if t == nil {
		return
	}
	t.active = true
	t.complete = false
	t.idle, t.concurrentIdle = false, false
	t.deadline = time.Time{}
}

// start makes t the running turn and emits TurnStarted.
func (n *Normalizer) start(t *turn, messageID string) {
	n.turn = t
	t.messageID = messageID
	t.echoed = true
	t.text = ""
	t.active = true
	n.emit(TurnStarted{RequestID: t.requestID, MessageID: messageID})
}

// finish ends the running turn as droid ended it.
func (n *Normalizer) finish() { n.finishAs(n.ending(n.turn)) }

// finishAs ends the running turn with everything open in it, and continues with the next waiting prompt.
func (n *Normalizer) finishAs(end TurnEnded) {
	t := n.turn
	n.withdrawRequests(pendingRequest.endsWithTurn)
	n.endTools()
	if t.completed != nil {
		end.Used = t.completed.TokenUsage
	}
	for _, id := range append([]string{t.requestID}, t.merged...) {
		end.RequestID = id
		n.endedPrompts[id] = struct{}{}
		n.emit(end)
		end.Used = stream.TokenUsage{} // counted
	}
	n.lastTurn = ending{messageID: t.messageID, cancelled: end.Outcome == Cancelled}
	if end.Outcome == Cancelled {
		n.closeMessages()
	}
	n.live = nil
	n.next()
}

func (n *Normalizer) next() {
	n.turn = nil
	if len(n.waitingTurns) > 0 {
		n.turn, n.waitingTurns = n.waitingTurns[0], n.waitingTurns[1:]
	}
}

// drop ends a turn that droid never started.
func (n *Normalizer) drop(t *turn, end TurnEnded) {
	if t == n.turn {
		n.next()
	} else {
		n.waitingTurns = slices.DeleteFunc(n.waitingTurns, func(w *turn) bool { return w == t })
	}
	end.RequestID = t.requestID
	n.endedPrompts[t.requestID] = struct{}{}
	n.emit(end)
}

// unechoed returns the announced turn with this request ID that droid has not echoed, or nil.
func (n *Normalizer) unechoed(requestID string) *turn {
	if t := n.turn; t != nil && !t.echoed && t.requestID == requestID {
		return t
	}
	return n.waitingTurn(requestID)
}

func (n *Normalizer) waitingTurn(requestID string) *turn {
	for _, t := range n.waitingTurns {
		if !t.echoed && t.requestID == requestID {
			return t
		}
	}
	return nil
}
