package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/show"
	"droid-acp/internal/store"
)

// replay is the history of a loaded session on its way to the editor. It is sent as
// fast as the editor reads, so that a long one does not fill the outbox.
type replay struct {
	ctx    context.Context // of the request to load
	title  string
	older  bool                    // droid has messages that it did not return
	events []quirks.Event          // still to be shown
	done   func(*acp.RequestError) // nil when no replay runs
}

// begin takes up the history that droid returned. done is called when it is shown,
// or with why it is not.
func (r *replay) begin(ctx context.Context, info *stream.SessionInfo, done func(*acp.RequestError)) {
	*r = replay{ctx, info.Title, info.HasOlderMessages, quirks.History(info.Messages), done}
	info.Messages = nil // the events have all that is shown
}

// runs reports whether a history is being shown.
func (r *replay) runs() bool { return r.done != nil }

// next takes what is to be shown next, nil when all is shown.
func (r *replay) next() quirks.Event {
	if len(r.events) == 0 {
		return nil
	}
	ev := r.events[0]
	r.events[0] = nil
	r.events = r.events[1:]
	return ev
}

// end ends the replay, if there is one.
func (r *replay) end(err *acp.RequestError) {
	if done := r.done; done != nil {
		*r = replay{}
		done(err)
	}
}

// replayOn goes on with the replay while there is room in the outbox. When there
// is none, it returns a channel that is closed when there is again. No prompt runs
// meanwhile.
func (s *Session) replayOn() (room <-chan struct{}) {
	if !s.replay.runs() {
		return nil
	}
	for len(s.replay.events) > 0 {
		if s.replay.ctx.Err() != nil {
			s.cancelLoad(s.loads.open())
			return nil
		}
		if room := s.out.Full(); room != nil {
			return room
		}
		s.tell(s.show.History(s.moment(), s.replay.next())...)
	}
	s.proc.norm.Reserve(s.show.ToolIDs()...)
	if s.replay.older {
		s.tell(show.Thought("The session has older messages that droid did not return."))
	}
	s.tellTitle(s.replay.title)
	s.replay.end(nil)
	return nil
}

// tellTitle reports the session's title without the text that was pasted or injected
// into the prompt it was made from. If nothing else is left, it reports none.
func (s *Session) tellTitle(title string) {
	if title = store.CleanTitle(title); title != "" {
		s.tell(protocol.SessionInfoUpdate{SessionUpdate: "session_info_update", Title: title})
	}
}
