package show

import (
	"encoding/json"
	"slices"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

// AnnounceAfter bounds how long a call is held back until its input is known.
// droid names a call when the model begins to spell it out, and some clients keep
// the title that it has then.
const AnnounceAfter = 150 * time.Millisecond

// unannounced is a call that is not announced yet.
type unannounced struct {
	id, name string
	input    json.RawMessage
	at       time.Time // when it is announced without its input; zero for never
}

// postpone keeps a call back for a moment. Clients that keep the first title get it only
// when its input is known.
func (v *View) postpone(now time.Time, ev quirks.ToolStarted) {
	h := unannounced{id: ev.ID, name: ev.Name, input: ev.Input}
	if !v.client.FirstTitle {
		h.at = now.Add(AnnounceAfter)
	}
	v.unannounced = append(v.unannounced, h)
}

// announceFor announces those calls that have to come before an event: the calls
// that it is about, and before the model's next words all of them. It reports whether
// that showed everything there is to show of the event.
func (v *View) announceFor(ev quirks.Event) bool {
	if len(v.unannounced) == 0 {
		return false
	}
	switch ev := ev.(type) {
	case quirks.ToolInput:
		return v.announceKnown(ev)
	case quirks.ToolRunning:
		v.announce(ev.ID)
	case quirks.ToolProgress:
		v.announce(ev.ID)
	case quirks.ToolEnded:
		v.announce(ev.ID)
	case quirks.QuestionAsked:
		v.announce(ev.ToolID)
	case quirks.PermissionAsked:
		for _, tool := range ev.Tools {
			v.announce(tool.ToolUse.ID)
		}
	case quirks.Text, quirks.TurnEnded, quirks.UserText:
		v.announceDue(time.Time{})
	}
	return false
}

// announceKnown announces a call with its input, if it is one.
func (v *View) announceKnown(ev quirks.ToolInput) bool {
	i := v.unannouncedAt(ev.ID)
	if i < 0 {
		return false
	}
	v.unannounced[i].name, v.unannounced[i].input = ev.Name, ev.Input
	v.announce(ev.ID)
	return true
}

// announceDue announces the calls whose time has come; all when now is zero.
func (v *View) announceDue(now time.Time) {
	for _, h := range slices.Clone(v.unannounced) {
		if now.IsZero() || (!h.at.IsZero() && !now.Before(h.at)) {
			v.announce(h.id)
		}
	}
}

// announce shows a call. One that is shown already stays as it is.
func (v *View) announce(id string) {
	i := v.unannouncedAt(id)
	if i < 0 {
		return
	}
	h := v.unannounced[i]
	v.unannounced = slices.Delete(v.unannounced, i, i+1)
	view := v.call(id)
	shown := v.describe(view, h.name, h.input)
	shown.SessionUpdate, shown.Name, shown.Status = "tool_call", protocol.Line(h.name), protocol.StatusPending
	view.announced(&shown)
	v.send(shown)
}

func (v *View) unannouncedAt(id string) int {
	return slices.IndexFunc(v.unannounced, func(h unannounced) bool { return h.id == id })
}
