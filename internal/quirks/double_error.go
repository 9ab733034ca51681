package quirks

// What droid does: a failed model call is told twice, as the event error with
// the provider's words and as a system message with advice for the user; the
// reason in agent_turn_completed is a third version since 0.215. An error does
// not always end the turn.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 29.
// Fixtures: llm_401_0.99.txtar, llm_401_0.225.txtar, no_login_0.225.txtar.

import (
	"cmp"
	"strings"

	"droid-acp/internal/droid/stream"
)

// failed keeps an error until the turn's end shows whether the turn ended by it.
func (n *Normalizer) failed(ev stream.Failure) {
	f := Failure{Name: errorName(ev), Message: ev.Message}
	f.Message = cmp.Or(f.Message, ev.Detail.Message)
	t := n.turn
	switch {
	case ofInterrupt(f.Message) && (t != nil && t.interrupted || n.late()):
		return
	case t == nil:
		n.stray = f.Message
		n.emit(Notice{Text: f.Message})
		return
	case t.failure != nil && t.failure.Message != f.Message:
		n.showFailure(t)
	}
	t.stirred = true
	t.failure, t.recovered = &f, false
}

// errorName picks the more telling one of droid's two error names.
func errorName(ev stream.Failure) string {
	if ev.ErrorType != "" && ev.ErrorType != "Error" {
		return ev.ErrorType
	}
	if ev.Detail.Name != "" {
		return ev.Detail.Name
	}
	return ev.ErrorType
}

// advice reports whether a system message belongs to an error, and adds it.
func (n *Normalizer) advice(text string) bool {
	if t := n.turn; t != nil {
		if !t.failing() || t.failure.Advice != "" {
			return false
		}
		t.failure.Advice = text
		return true
	}
	said := n.stray != "" && strings.Contains(text, n.stray)
	n.stray = ""
	return said
}

// failing reports whether t has an error after which droid did not go on.
func (t *turn) failing() bool { return t.failure != nil && !t.recovered }

// showFailure shows an error that did not end the turn.
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
