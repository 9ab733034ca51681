package show

import (
	"cmp"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/visible"
)

// Output is one thing to be told: a Text, an update of package protocol, or words of this
// agent's own.
type Output = protocol.Update

// Text is a piece of a message, or of a thought. Pieces with the same id follow on each
// other.
type Text struct {
	MessageID string
	Text      string
	Thought   bool
	Notice    bool // a message that this agent adds to the conversation: no part of any answer
}

// UpdateKind implements protocol.Update.
func (t Text) UpdateKind() string {
	if t.Thought {
		return "agent_thought_chunk"
	}
	return "agent_message_chunk"
}

// What this agent says itself to the user. Each is an Output that View.Tell makes into others.
type (
	// Thought is what the user can do without: many clients fold thoughts away.
	Thought string
	// Notice asks the user to do something, or says that what they have read does not count. It is a
	// message, marked as no part of an answer. What a client cannot show otherwise is one, too. Where no
	// turn runs it waits for the next.
	Notice string
	// Message answers what the user asked of this agent, by a slash command.
	Message string
	// Echo is what the user said in another place than a prompt, as their message.
	Echo string
	// Announcement belongs to no session: Title in one line for a client that shows
	// notices, else Text as a message.
	Announcement struct{ Title, Text string }
)

// OwnWords is the kind of all these.
const OwnWords = "own words"

// Each of these implements protocol.Update.

func (Thought) UpdateKind() string      { return OwnWords }
func (Notice) UpdateKind() string       { return OwnWords }
func (Message) UpdateKind() string      { return OwnWords }
func (Echo) UpdateKind() string         { return OwnWords }
func (Announcement) UpdateKind() string { return OwnWords }

// Saved says that a file's unsaved changes were saved before droid edits it.
func Saved(path string) Notice {
	return Notice("Your unsaved changes in " + markdown.Code(visible.Line(path)) + " were saved, since droid is to edit that file.")
}

// Unseen says that a file that droid reads or edits on the disk has unsaved changes.
func Unseen(path string) Notice {
	return Notice("Your unsaved changes in " + markdown.Code(visible.Line(path)) + " are in your editor alone: droid reads and edits the file on the disk. Save it if they are to count.")
}

// Notices are several of them.
func Notices(texts []string) (notices []Output) {
	for _, text := range texts {
		notices = append(notices, Notice(text))
	}
	return notices
}

// Late shows words from before the prompt that is the last, below it.
func (v *View) Late(t Text) []Output {
	t.Text = strings.TrimLeft(t.Text, "\n")
	t.Text = v.border.before(t.MessageID, t.Text, t.Thought) + t.Text
	v.out = append(v.out, t)
	return v.take()
}

// Tell shows words of this agent's own.
func (v *View) Tell(words Output) []Output {
	switch w := words.(type) {
	case Thought:
		v.text(v.newID(), visible.Text(string(w)), true)
	case Notice:
		if v.amid { // else it would stand within a sentence
			v.unseen = append(v.unseen, string(w))
			break
		}
		v.tell(string(w))
	case Message:
		v.own("", "", string(w), false)
	case Echo:
		v.send(userText(quirks.UserText{MessageID: v.newID(), Text: string(w)}, v.cwd))
	case Announcement:
		if v.client.Notices {
			v.send(protocol.NoticeUpdate{SessionUpdate: "notice", Severity: "warning", Title: protocol.Line(w.Title)})
		} else {
			v.text(v.newID(), w.Text, false)
		}
	}
	return v.take()
}

func userText(ev quirks.UserText, cwd string) protocol.UserMessageChunk {
	return protocol.UserMessageChunk{SessionUpdate: "user_message_chunk", MessageID: ev.MessageID, Content: protocol.Content{Type: "text", Text: new(UserWords(ev, cwd))}}
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
		f.Name = cmp.Or(f.Name, "a file")
		text += "[attached: " + visible.Line(f.Name) + "]"
	}
	return text
}
