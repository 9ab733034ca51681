package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/store"
)

// replay is the history of a loaded session on its way to the editor. A long one
// is shown as the editor takes it, so that it does not wait here a second time.
type replay struct {
	ctx    context.Context // of the request to load
	info   *stream.SessionInfo
	events []quirks.Event // still to be shown
	done   func(*acp.RequestError)
}

// beginReplay shows a loaded session's messages as they looked live, and then
// calls done. No prompt runs meanwhile.
func (s *Session) beginReplay(ctx context.Context, info *stream.SessionInfo, done func(*acp.RequestError)) {
	s.replaying = &replay{ctx, info, quirks.History(info.Messages), done}
	info.Messages = nil // the events have what is shown of them
}

// replayOn goes on with the replay while there is room in the outbox. When there
// is none, it returns a channel that is closed when there is again.
func (s *Session) replayOn() (room <-chan struct{}) {
	r := s.replaying
	if r == nil {
		return nil
	}
	for len(r.events) > 0 {
		if r.ctx.Err() != nil {
			s.endReplay(requestCancelled())
			return nil
		}
		if room := s.agent.out.full(); room != nil {
			return room
		}
		s.put(s.show.History(s.moment(), r.events[0]))
		r.events[0] = nil
		r.events = r.events[1:]
	}
	s.norm.Reserve(s.show.ToolIDs()...)
	if r.info.HasOlderMessages {
		s.tell("The session has older messages that droid did not return.")
	}
	s.tellTitle(r.info.Title)
	s.endReplay(nil)
	return nil
}

// endReplay ends the replay, if there is one.
func (s *Session) endReplay(err *acp.RequestError) {
	if r := s.replaying; r != nil {
		s.replaying = nil
		r.done(err)
	}
}

// tellTitle reports the session's title, unless nothing is left of it without
// what was pasted or injected into the prompt that it was made of.
func (s *Session) tellTitle(title string) {
	if title = store.CleanTitle(title); title != "" {
		s.send(protocol.SessionInfoUpdate{SessionUpdate: "session_info_update", Title: title})
	}
}
