package quirks

import "droid-acp/internal/droid/stream"

// What droid does: create_message also carries what only the model should see: user messages without content, system messages such as "Your
// previous response ended before completion". They are marked by visibility. System messages that the user may see are notices, not answers
// of the model. An interrupt leaves "Request interrupted by user", "Request cancelled by user" and "Error: Request was aborted." behind,
// hidden in some versions and visible in others.
// Seen on: 0.99, 0.215, 0.225.
// Quirk: 11.
// Fixtures: finish_length_0.225.txtar, interrupt_midstream_0.99.txtar.

// hidden reports whether a user message is not by the user.
func hidden(msg stream.Message) bool {
	return msg.Visibility == stream.VisibilityLLMOnly || len(msg.Content) == 0
}

// isInterruptText reports whether text is droid's message after an interrupt.
func isInterruptText(text string) bool {
	switch text {
	case "Request interrupted by user", "Request cancelled by user",
		"Error: Request was aborted.", "Request was aborted.":
		return true
	}
	return false
}

func (n *Normalizer) systemMessage(msg stream.Message) {
	if seenBefore(n.seen, msg.ID) {
		return
	}
	if r, is := reportOf(msg); is {
		n.reported(r)
		return
	}
	text, t := plainText(msg), n.turn
	if isInterruptText(text) {
		if t != nil && t.active {
			t.stopped = true
		}
		if t != nil && t.interrupted || n.late() {
			return
		}
	}
	if isContinuation(msg) {
		n.emit(AnswerContinues{})
	}
	if msg.Visibility == stream.VisibilityLLMOnly || text == "" || n.advice(text) {
		return
	}
	n.emit(Notice{Text: text})
}
