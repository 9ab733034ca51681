package show

import (
	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/visible"
)

func userText(ev quirks.UserText, cwd string) protocol.UserMessageChunk {
	text := UserWords(ev, cwd)
	return protocol.UserMessageChunk{SessionUpdate: "user_message_chunk", MessageID: ev.MessageID, Content: protocol.Content{Type: "text", Text: &text}}
}

func userImage(ev quirks.UserImage) protocol.UserMessageChunk {
	return protocol.UserMessageChunk{SessionUpdate: "user_message_chunk", MessageID: ev.MessageID, Content: protocol.Content{Type: "image", Data: ev.Data, MimeType: ev.MediaType}}
}

// UserWords is what the user wrote, with a word for each attached file that is not
// mentioned in it. The bodies are not shown: the user had them in front of them, and
// they may be long.
func UserWords(ev quirks.UserText, cwd string) string {
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
