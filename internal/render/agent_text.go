package render

import (
	"cmp"
	"strings"

	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/quirks"
	"droid-acp/internal/text/markdown"
	"droid-acp/internal/text/paths"
	"droid-acp/internal/text/visible"
)

// Output is something to be sent to the client: a Text, an update of package protocol, or a text of this agent.
type Output = protocol.Update

// Text is a piece of a message or a thought. Pieces with the same ID belong together.
type Text struct {
	MessageID string
	Text      string
	Thought   bool
	Notice    bool // from this agent, not part of the model's answer
}

// UpdateKind implements protocol.Update.
func (t Text) UpdateKind() string {
	if t.Thought {
		return "agent_thought_chunk"
	}
	return "agent_message_chunk"
}

// Texts of this agent to the user. Each is an Output that View.ShowAgentText converts.
type (
	// Thought is optional information: many clients collapse thoughts.
	Thought string
	// Notice asks the user to do something, or qualifies what they have read. It is a message marked as not part of an answer. Content that
	// a client cannot show otherwise is also sent as a Notice. Outside a turn it waits for the next one.
	Notice string
	// Message answers a slash command of this agent.
	Message string
	// Echo is text of the user's from elsewhere than a prompt, shown as their message.
	Echo string
	// Announcement belongs to no session: Title is for clients that support notices, Text is a message for the others.
	Announcement struct{ Title, Text string }
)

// AgentText is the UpdateKind of all these.
const AgentText = "own words"

// Implementations of protocol.Update.

func (Thought) UpdateKind() string      { return AgentText }
func (Notice) UpdateKind() string       { return AgentText }
func (Message) UpdateKind() string      { return AgentText }
func (Echo) UpdateKind() string         { return AgentText }
func (Announcement) UpdateKind() string { return AgentText }

// SavedNotice announces that unsaved changes of a file were saved before droid edits it.
func SavedNotice(path string) Notice {
	return Notice("Your unsaved changes in " + markdown.Code(visible.Line(path)) + " were saved, since droid is to edit that file.")
}

// UnsavedNotice warns that a file that droid accesses on disk has unsaved changes.
func UnsavedNotice(path string) Notice {
	return Notice("Your unsaved changes in " + markdown.Code(visible.Line(path)) + " are in your editor alone: droid reads and edits the file on the disk. Save it if they are to count.")
}

// Notices converts texts to Notices.
func Notices(texts []string) (notices []Output) {
	for _, text := range texts {
		notices = append(notices, Notice(text))
	}
	return notices
}

// ShowLateText shows text from before the last prompt, below that prompt.
func (v *View) ShowLateText(t Text) []Output {
	t.Text = strings.TrimLeft(t.Text, "\n")
	t.Text = v.separator.prefix(t.MessageID, t.Text, t.Thought) + t.Text
	v.out = append(v.out, t)
	return v.take()
}

// ShowAgentText shows a text of this agent.
func (v *View) ShowAgentText(words Output) []Output {
	switch w := words.(type) {
	case Thought:
		v.text(v.newID(), visible.Text(string(w)), true)
	case Notice:
		if v.midMessage { // do not interrupt a sentence
			v.pendingNotices = append(v.pendingNotices, string(w))
			break
		}
		v.notice(string(w))
	case Message:
		v.agentMessage("", "", string(w), false)
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
	return protocol.UserMessageChunk{SessionUpdate: "user_message_chunk", MessageID: ev.MessageID, Content: protocol.Content{Type: "text", Text: new(UserPromptText(ev, cwd))}}
}

func userImage(ev quirks.UserImage) protocol.UserMessageChunk {
	return protocol.UserMessageChunk{SessionUpdate: "user_message_chunk", MessageID: ev.MessageID, Content: protocol.Content{Type: "image", Data: ev.Data, MimeType: ev.MediaType}}
}

// UserPromptText returns the user's text, with a note for each attached file that it does not mention. The contents of files are omitted: the
// user knows them, and they may be long.
func UserPromptText(ev quirks.UserText, cwd string) string {
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
