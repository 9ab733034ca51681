package quirks

import (
	"slices"
	"time"

	"droid-acp/internal/droid/stream"
)

// turn is one prompt on its way through droid.
type turn struct {
	requestID string
	text      string   // of the prompt, until droid echoed it
	messageID string   // of the user message, once droid echoed it
	folded    []string // other prompts begun that droid took into this turn
	queued    bool     // it was begun while another one ran, so droid may keep it back
	behindOwn bool     // droid worked on a turn that it had begun by itself, see Begin
	echoed    bool     // TurnStarted is out
	stirred   bool     // droid did something for it, so what comes next belongs to it
	traces    traces   // of droid's turns that are told as this one

	interrupted bool // we asked droid to stop
	stopped     bool // droid said that it was interrupted
	refused     bool // the user refused a request of this turn
	awaiting    bool // the model was called and its message is not there yet
	complete    bool // the last thing that came is a message without tool calls

	failure   *Failure // last error
	recovered bool     // droid went on after it

	completed *stream.TurnCompleted
	idle      bool      // idle came but does not count yet
	beside    bool      // that idle seems to be of another turn
	hold      time.Time // when the turn ends if nothing else comes; zero: never
}

// ending is what a turn leaves behind for events that come late.
type ending struct {
	messageID string
	cancelled bool
}

// Begin announces that the prompt with this request id and text is about to be sent.
// The turn runs from here on. If one runs already, as when droid takes up a
// queued message by itself, the prompt waits until that one has ended.
func (n *Normalizer) Begin(now time.Time, requestID, text string) []Event {
	n.now = now
	t := &turn{requestID: requestID, text: text}
	if n.turn == nil {
		n.turn = t
		t.behindOwn = n.Working() // for a message that only the model sees, such as a subagent's late report
	} else {
		t.queued = true
		n.waiting = append(n.waiting, t)
	}
	return n.take()
}

// Abort says that droid did not take the prompt with this request id. Its turn
// is over, and what is open in it ends. There is no TurnEnded for it, as the caller
// knows better why it ended.
func (n *Normalizer) Abort(now time.Time, requestID string) []Event {
	n.now = now
	switch t := n.waitingTurn(requestID); {
	case t != nil:
		n.over[requestID] = struct{}{}
		n.waiting = slices.DeleteFunc(n.waiting, func(w *turn) bool { return w == t })
	case n.turn != nil && n.turn.requestID == requestID:
		n.over[requestID] = struct{}{}
		n.withdrawAsks(ask.ofTurn)
		n.endTools()
		n.next()
	}
	return n.take()
}

// Interrupted says that interrupt_session was sent: messages that are still
// missing will not come.
func (n *Normalizer) Interrupted(now time.Time) []Event {
	n.now = now
	if t := n.turn; t != nil {
		t.interrupted = true
		if t.idle && !t.beside {
			n.finish()
		}
	}
	return n.take()
}

// Deadline returns when Tick is wanted next, if at all.
func (n *Normalizer) Deadline() (time.Time, bool) {
	if n.turn == nil || n.turn.hold.IsZero() {
		return time.Time{}, false
	}
	return n.turn.hold, true
}

// Tick ends a turn whose end was held back until now.
func (n *Normalizer) Tick(now time.Time) []Event {
	n.now = now
	if at, ok := n.Deadline(); ok && !now.Before(at) {
		n.finish()
	}
	return n.take()
}

// Exited says that droid is gone. All that is open ends; a turn that runs
// fails with stream.ReasonProcessExit, unless droid had ended it before.
func (n *Normalizer) Exited(now time.Time) []Event {
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
	n.withdrawAsks(ask.ofTurn)
	n.endTools()
	return n.take()
}

// busy notes that droid works. After agent_turn_completed it works on the next
// turn, so the running one ends. Otherwise its work shows that an idle which came
// before did not end the running turn.
func (n *Normalizer) busy() {
	if n.turn != nil && n.turn.completed != nil {
		n.finish()
	}
	t := n.turn
	if t == nil {
		return
	}
	t.stirred = true
	t.complete = false
	t.idle, t.beside = false, false
	t.hold = time.Time{}
}

// start makes t the running turn and reports that droid works on it.
func (n *Normalizer) start(t *turn, messageID string) {
	n.turn = t
	t.messageID = messageID
	t.echoed = true
	t.text = ""
	t.stirred = true
	n.emit(TurnStarted{RequestID: t.requestID, MessageID: messageID})
}

// finish ends the running turn the way droid ended it.
func (n *Normalizer) finish() { n.finishAs(n.ending(n.turn)) }

// finishAs ends the running turn and what is open in it, and moves on to the
// next prompt that waits.
func (n *Normalizer) finishAs(end TurnEnded) {
	t := n.turn
	n.withdrawAsks(ask.ofTurn)
	n.endTools()
	if t.completed != nil {
		end.Used = t.completed.TokenUsage
	}
	for _, id := range append([]string{t.requestID}, t.folded...) {
		end.RequestID = id
		n.over[id] = struct{}{}
		n.emit(end)
		end.Used = stream.TokenUsage{} // counted
	}
	n.last = ending{messageID: t.messageID, cancelled: end.Outcome == Cancelled}
	if end.Outcome == Cancelled {
		n.closeMessages()
	}
	n.live = nil
	n.next()
}

func (n *Normalizer) next() {
	n.turn = nil
	if len(n.waiting) > 0 {
		n.turn, n.waiting = n.waiting[0], n.waiting[1:]
	}
}

// drop ends a turn that droid never started.
func (n *Normalizer) drop(t *turn, end TurnEnded) {
	if t == n.turn {
		n.next()
	} else {
		n.waiting = slices.DeleteFunc(n.waiting, func(w *turn) bool { return w == t })
	}
	end.RequestID = t.requestID
	n.over[t.requestID] = struct{}{}
	n.emit(end)
}

// unechoed returns the announced turn with this request id that droid has not
// echoed yet, or nil.
func (n *Normalizer) unechoed(requestID string) *turn {
	if t := n.turn; t != nil && !t.echoed && t.requestID == requestID {
		return t
	}
	return n.waitingTurn(requestID)
}

func (n *Normalizer) waitingTurn(requestID string) *turn {
	for _, t := range n.waiting {
		if !t.echoed && t.requestID == requestID {
			return t
		}
	}
	return nil
}
