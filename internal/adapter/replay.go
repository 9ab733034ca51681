package adapter

import (
	"path/filepath"
	"regexp"
	"strings"

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

func (s *Session) userText(ev quirks.UserText) userChunk {
	text := userWords(ev, s.cwd)
	return userChunk{"user_message_chunk", ev.MessageID, content{Type: "text", Text: &text}}
}

func userImage(ev quirks.UserImage) userChunk {
	return userChunk{"user_message_chunk", ev.MessageID, content{Type: "image", Data: ev.Data, MimeType: ev.MediaType}}
}

// userWords is what the user wrote, with a word for each attached file that is not
// mentioned in it. The bodies are not shown: the user had them in front of them, and
// they may be long.
func userWords(ev quirks.UserText, cwd string) string {
	text := ev.Text
	if strings.Contains(text, noSuchFile) {
		text = noteOnMention.ReplaceAllString(text, "$1")
	}
	for _, f := range ev.Files {
		if mentions(text, f.Name, cwd) {
			continue
		}
		if text != "" {
			text += "\n\n"
		}
		if f.Name == "" {
			f.Name = "a file"
		}
		text += "[attached: " + f.Name + "]"
	}
	return text
}

// noteOnMention is what link adds to the mention of a file, for the model.
var noteOnMention = regexp.MustCompile(`(@(?:/|[A-Za-z]:\\)[^@\n]*?)` + regexp.QuoteMeta(noSuchFile))

// mentions reports whether text mentions the attached file of this name: by its
// path, or, where droid has the last part of that alone (addResource), by that.
func mentions(text, name, cwd string) bool {
	if name == "" {
		return false
	}
	return strings.Contains(text, "@"+name) || strings.Contains(text, "@"+relative(cwd, name)) ||
		!filepath.IsAbs(name) && strings.Contains(text, string(filepath.Separator)+name)
}
