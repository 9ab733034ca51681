package adapter

import (
	"context"
	"fmt"

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
	lacks  []string                // what the history has not, in words for the user
	events []quirks.Event          // still to be shown
	done   func(*acp.RequestError) // nil when no replay runs
}

// begin takes up the history that droid returned. done is called when it is shown,
// or with why it is not.
func (r *replay) begin(ctx context.Context, info *stream.SessionInfo, done func(*acp.RequestError)) {
	*r = replay{ctx, info.Title, lacks(info), quirks.History(info.Messages), done}
	info.Messages = nil // the events have all that is shown
}

// lacks says what droid has of the conversation and its history does not show.
func lacks(info *stream.SessionInfo) (lacks []string) {
	if info.HasOlderMessages {
		lacks = append(lacks, "The session has older messages that droid did not return.")
	}
	if info.Unreadable > 0 {
		lacks = append(lacks, fmt.Sprintf("Not shown are %d of the session's messages: droid told them in a form that droid-acp cannot read.", info.Unreadable))
	}
	return lacks
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
	for _, words := range s.replay.lacks {
		s.tell(show.Thought(words))
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
