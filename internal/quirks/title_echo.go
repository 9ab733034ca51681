package quirks

import "droid-acp/internal/droid/stream"

// What droid does: after a manual rename, or a title by the model, it may send the first user message as title again.
// Seen on: 0.225.
// Quirk: 30.
// Fixtures: rename_0.225.txtar.

// firstUserMessage is the updateType of the initial title.
const firstUserMessage = "first_user_message"

// title is the session's title.
type title struct {
	text  string
	named bool
}

func (n *Normalizer) titleUpdated(ev stream.TitleUpdated) {
	switch ev.UpdateType {
	case firstUserMessage:
		if n.title.named {
			return
		}
	case "": // not set by some versions
	default:
		n.title.named = true
	}
	if ev.Title == "" || ev.Title == n.title.text {
		return
	}
	n.title.text = ev.Title
	n.emit(TitleChanged{Title: ev.Title})
}
