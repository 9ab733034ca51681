package quirks

import "droid-acp/internal/droid/stream"

// What droid does: after a manual rename, or a title by the model, it may send
// the first user message as title once more.
// Seen on: 0.225.
// Quirk: 30.
// Fixtures: rename_0.225.txtar.

// firstUserMessage is the updateType of the title that droid makes at once.
const firstUserMessage = "first_user_message"

// title is the session's title and whether it is better than the first one.
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
	case "": // versions that do not say
	default:
		n.title.named = true
	}
	if ev.Title == "" || ev.Title == n.title.text {
		return
	}
	n.title.text = ev.Title
	n.emit(TitleChanged{Title: ev.Title})
}
