package render

import (
	"encoding/json"
	"slices"
	"time"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
)

// announceAfter bounds how long the announcement of a call waits for its input. droid names a call when the model starts to write it, and
// some clients keep the title of the announcement.
const announceAfter = 150 * time.Millisecond

// unannounced is a call that has not been announced yet.
type unannounced struct {
	id, name string
	input    json.RawMessage
	at       time.Time // when to announce it without input; zero for never
}

// postpone delays the announcement of a call. A client that keeps the first title gets it only with the input.
func (v *View) postpone(now time.Time, ev quirks.ToolStarted) {
	h := unannounced{id: ev.ID, name: ev.Name, input: ev.Input}
	if !v.client.KeepsFirstTitle {
		h.at = now.Add(announceAfter)
	}
	v.unannounced = append(v.unannounced, h)
}

// announceFor announces the calls that must precede an event: the calls that it is about, and before text of the model all of them. It
// reports whether nothing else of the event needs to be shown.
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
	case quirks.QuestionRequested:
		v.announce(ev.ToolID)
	case quirks.PermissionRequested:
		for _, tool := range ev.Tools {
			v.announce(tool.ToolUse.ID)
		}
	case quirks.Text, quirks.TurnEnded, quirks.UserText:
		v.announceDue(time.Time{})
	}
	return false
}

// announceKnown announces the call with the input of ev, if it was postponed.
func (v *View) announceKnown(ev quirks.ToolInput) bool {
	i := v.unannouncedAt(ev.ID)
	if i < 0 {
		return false
	}
	v.unannounced[i].name, v.unannounced[i].input = ev.Name, ev.Input
	v.announce(ev.ID)
	return true
}

// announceDue announces the calls that are due; all of them if now is zero.
func (v *View) announceDue(now time.Time) {
	for _, h := range slices.Clone(v.unannounced) {
		if now.IsZero() || (!h.at.IsZero() && !now.Before(h.at)) {
			v.announce(h.id)
		}
	}
}

// announce announces a postponed call. It does nothing for one that has been announced.
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
