package adapter

import (
	"encoding/json"
	"slices"
	"time"

	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
)

// announceAfter bounds how long a call is held back until its input is known.
// droid names a call when the model begins to spell it out, and some clients keep
// the title that it has then.
const announceAfter = 150 * time.Millisecond

// heldCall is a call that is not announced yet.
type heldCall struct {
	id, name string
	input    json.RawMessage
	at       time.Time // when it is announced without its input; zero for never
}

// hold keeps a call back. Clients that never change a title wait until it is
// known, all others for a moment.
func (s *Session) hold(ev quirks.ToolStarted) {
	h := heldCall{id: ev.ID, name: ev.Name, input: ev.Input}
	if !s.agent.client.FirstTitle {
		h.at = time.Now().Add(announceAfter)
	}
	s.views.held = append(s.views.held, h)
}

// announceFor announces the held calls that come before an event: those that it is
// about, and all that were begun before what the model says next. It reports
// whether that showed all there is to the event.
func (s *Session) announceFor(ev quirks.Event) bool {
	if len(s.views.held) == 0 {
		return false
	}
	switch ev := ev.(type) {
	case quirks.ToolInput:
		return s.announceKnown(ev)
	case quirks.ToolRunning:
		s.announce(ev.ID)
	case quirks.ToolProgress:
		s.announce(ev.ID)
	case quirks.ToolEnded:
		s.announce(ev.ID)
	case quirks.QuestionAsked:
		s.announce(ev.ToolID)
	case quirks.PermissionAsked:
		for _, tool := range ev.Tools {
			s.announce(tool.ToolUse.ID)
		}
	case quirks.Text, quirks.TurnEnded, quirks.UserText:
		s.announceDue(time.Time{})
	}
	return false
}

// announceKnown announces a held call with its input, if it is one.
func (s *Session) announceKnown(ev quirks.ToolInput) bool {
	for i := range s.views.held {
		if h := &s.views.held[i]; h.id == ev.ID {
			h.name, h.input = ev.Name, ev.Input
			s.announce(ev.ID)
			return true
		}
	}
	return false
}

// announceDue announces the held calls whose time has come; all when now is zero.
func (s *Session) announceDue(now time.Time) {
	for _, h := range slices.Clone(s.views.held) {
		if now.IsZero() || (!h.at.IsZero() && !now.Before(h.at)) {
			s.announce(h.id)
		}
	}
}

// announce shows a held call; one that is shown already stays as it is.
func (s *Session) announce(id string) {
	i := slices.IndexFunc(s.views.held, func(h heldCall) bool { return h.id == id })
	if i < 0 {
		return
	}
	h := s.views.held[i]
	s.views.held = slices.Delete(s.views.held, i, i+1)
	call := s.describe(h.id, h.name, h.input)
	call.SessionUpdate = "tool_call"
	call.Status = protocol.StatusPending
	if s.views.get(id).command != nil {
		s.commandStarted(&call)
	}
	s.send(call)
}
