package quirks

// What droid does: a failed model call is reported twice, as the event error with the provider's message and as a system message with
// advice for the user; since 0.215 the reason in agent_turn_completed is a third version. An error does not always end the turn.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 29.
// Fixtures: llm_401_0.99.txtar, llm_401_0.225.txtar, no_login_0.225.txtar.

import (
	"cmp"
	"strings"

	"droid-acp/internal/droid/stream"
)

// failed keeps an error until it is known whether it ended the turn.
func (n *Normalizer) failed(ev stream.Failure) {
	f := Failure{Name: errorName(ev), Message: ev.Message}
	f.Message = cmp.Or(f.Message, ev.Detail.Message)
	t := n.turn
	switch {
	case isInterruptText(f.Message) && (t != nil && t.interrupted || n.late()):
		return
	case t == nil:
		n.strayError = f.Message
		n.emit(Notice{Text: f.Message})
		return
	case t.failure != nil && t.failure.Message != f.Message:
		n.showFailure(t)
	}
	t.active = true
	t.failure, t.recovered = &f, false
}

// errorName returns the more specific of droid's two error names.
func errorName(ev stream.Failure) string {
	if ev.ErrorType != "" && ev.ErrorType != "Error" {
		return ev.ErrorType
	}
	if ev.Detail.Name != "" {
		return ev.Detail.Name
	}
	return ev.ErrorType
}

// advice adds a system message to an error, and reports whether it belongs to one.
func (n *Normalizer) advice(text string) bool {
	if t := n.turn; t != nil {
		if !t.failing() || t.failure.Advice != "" {
			return false
		}
		t.failure.Advice = text
		return true
	}
	said := n.strayError != "" && strings.Contains(text, n.strayError)
	n.strayError = ""
	return said
}

// failing reports whether t has an error after which droid did not continue.
func (t *turn) failing() bool { return t.failure != nil && !t.recovered }

// showFailure emits an error that did not end the turn.
func (n *Normalizer) showFailure(t *turn) {
	if t.failure == nil {
		return
	}
	text := cmp.Or(t.failure.Advice, t.failure.Message)
	t.failure = nil
	if text != "" {
		n.emit(Notice{Text: text})
	}
}
