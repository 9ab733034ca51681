package show

import (
	"encoding/json"
	"slices"
	"time"

	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// AnnounceAfter bounds how long a call is held back until its input is known.
// droid names a call when the model begins to spell it out, and some clients keep
// the title that it has then.
const AnnounceAfter = 150 * time.Millisecond

// heldCall is a call that is not announced yet.
type heldCall struct {
	id, name string
	input    json.RawMessage
	at       time.Time // when it is announced without its input; zero for never
}

// hold keeps a call back for a moment. Clients that keep the first title get it only
// when its input is known.
func (v *View) hold(now time.Time, ev quirks.ToolStarted) {
	h := heldCall{id: ev.ID, name: ev.Name, input: ev.Input}
	if !v.client.FirstTitle {
		h.at = now.Add(AnnounceAfter)
	}
	v.held = append(v.held, h)
}

// announceFor announces the held calls that have to come before an event: the calls
// that it is about, and before the model's next words all of them. It reports whether
// that showed everything there is to show of the event.
func (v *View) announceFor(ev quirks.Event) bool {
	if len(v.held) == 0 {
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

// announceKnown announces a held call with its input, if it is one.
func (v *View) announceKnown(ev quirks.ToolInput) bool {
	i := v.heldAt(ev.ID)
	if i < 0 {
		return false
	}
	v.held[i].name, v.held[i].input = ev.Name, ev.Input
	v.announce(ev.ID)
	return true
}

// announceDue announces the held calls whose time has come; all when now is zero.
func (v *View) announceDue(now time.Time) {
	for _, h := range slices.Clone(v.held) {
		if now.IsZero() || (!h.at.IsZero() && !now.Before(h.at)) {
			v.announce(h.id)
		}
	}
}

// announce shows a held call. One that is shown already stays as it is.
func (v *View) announce(id string) {
	i := v.heldAt(id)
	if i < 0 {
		return
	}
	h := v.held[i]
	v.held = slices.Delete(v.held, i, i+1)
	view := v.call(id)
	shown := v.describe(view, h.name, h.input)
	shown.SessionUpdate, shown.Name, shown.Status = "tool_call", protocol.Line(h.name), protocol.StatusPending
	view.announced(&shown)
	v.send(shown)
}

func (v *View) heldAt(id string) int {
	return slices.IndexFunc(v.held, func(h heldCall) bool { return h.id == id })
}
