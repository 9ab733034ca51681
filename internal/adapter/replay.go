package adapter

import (
	"droid-acp/internal/droid"
	"droid-acp/internal/quirks"
	"droid-acp/internal/store"
)

// replay shows a loaded session's messages as they looked live.
func (s *Session) replay(info *droid.SessionInfo) {
	s.views.past = true
	for _, ev := range quirks.History(info.Messages) {
		s.translate(ev)
	}
	s.views.past = false
	for id := range s.toolIDs {
		s.norm.Reserve(id)
	}
	if info.HasOlderMessages {
		s.tell("The session has older messages that droid did not return.")
	}
	s.tellTitle(info.Title)
}

// tellTitle reports the session's title, unless nothing is left of it without
// what was pasted or injected into the prompt that it was made of.
func (s *Session) tellTitle(title string) {
	if title = store.CleanTitle(title); title != "" {
		s.send(sessionInfoUpdate{"session_info_update", title})
	}
}

// userChunk is a user_message_chunk.
type userChunk struct {
	SessionUpdate string  `json:"sessionUpdate"`
	MessageID     string  `json:"messageId,omitempty"`
	Content       content `json:"content"`
}

func userText(ev quirks.UserText) userChunk {
	return userChunk{"user_message_chunk", ev.MessageID, content{Type: "text", Text: &ev.Text}}
}

func userImage(ev quirks.UserImage) userChunk {
	return userChunk{"user_message_chunk", ev.MessageID, content{Type: "image", Data: ev.Data, MimeType: ev.MediaType}}
}

// userFile names an attached file. Its body is not shown: the user had it in
// front of them, and it may be long.
func userFile(ev quirks.UserFile) userChunk {
	text := "[attached: " + ev.Name + "]"
	return userChunk{"user_message_chunk", ev.MessageID, content{Type: "text", Text: &text}}
}
