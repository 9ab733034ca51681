package adapter

import (
	"context"

	acp "github.com/coder/acp-go-sdk"

	"droid-acp/internal/droid/stream"
	"droid-acp/internal/paths"
	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/store"
	"droid-acp/internal/visible"
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
	s.views.past = true
	defer func() { s.views.past = false }()
	for len(r.events) > 0 {
		if r.ctx.Err() != nil {
			s.endReplay(requestCancelled())
			return nil
		}
		if room := s.agent.out.full(); room != nil {
			return room
		}
		s.translate(r.events[0])
		r.events[0] = nil
		r.events = r.events[1:]
	}
	s.proc.reserve(s.toolIDs)
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

func (s *Session) userText(ev quirks.UserText) protocol.UserMessageChunk {
	text := userWords(ev, s.cwd)
	return protocol.UserMessageChunk{SessionUpdate: "user_message_chunk", MessageID: ev.MessageID, Content: protocol.Content{Type: "text", Text: &text}}
}

func userImage(ev quirks.UserImage) protocol.UserMessageChunk {
	return protocol.UserMessageChunk{SessionUpdate: "user_message_chunk", MessageID: ev.MessageID, Content: protocol.Content{Type: "image", Data: ev.Data, MimeType: ev.MediaType}}
}

// userWords is what the user wrote, with a word for each attached file that is not
// mentioned in it. The bodies are not shown: the user had them in front of them, and
// they may be long.
func userWords(ev quirks.UserText, cwd string) string {
	text := paths.UnmarkMissing(ev.Text)
	for _, f := range ev.Files {
		if paths.Mentions(text, f.Name, cwd) {
			continue
		}
		if text != "" {
			text += "\n\n"
		}
		if f.Name == "" {
			f.Name = "a file"
		}
		text += "[attached: " + visible.Line(f.Name) + "]"
	}
	return text
}
