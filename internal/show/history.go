package show

import (
	"path/filepath"
	"regexp"
	"strings"

	"droid-acp/internal/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/visible"
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
	text := ev.Text
	if strings.Contains(text, NoSuchFile) {
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
		text += "[attached: " + visible.Line(f.Name) + "]"
	}
	return text
}

// NoSuchFile follows the mention of a file that is not there, in a prompt to droid.
const NoSuchFile = " (there is no such file)"

// noteOnMention is what a prompt adds to the mention of a file, for the model.
var noteOnMention = regexp.MustCompile(`(@(?:/|[A-Za-z]:\\)[^@\n]*?)` + regexp.QuoteMeta(NoSuchFile))

// mentions reports whether text mentions the attached file of this name: by its
// path, or, where droid has the last part of that alone (addResource), by that.
func mentions(text, name, cwd string) bool {
	if name == "" {
		return false
	}
	return strings.Contains(text, "@"+name) || strings.Contains(text, "@"+Relative(cwd, name)) ||
		!filepath.IsAbs(name) && strings.Contains(text, string(filepath.Separator)+name)
}
