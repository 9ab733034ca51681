package show

import (
	"strings"

	"droid-acp/internal/acp/protocol"
)

// border keeps the texts of two messages apart. Many clients ignore the ids of
// messages and show texts that follow each other as one ("Thanks.All done."), so a
// text begins with an empty line if that of another message stands before it. A tool call
// between the two does not keep them apart on any screen that was looked at.
// The line goes by the id of the message that it begins: to who knows ids it is
// white space before the text, which Markdown does not show.
//
// Messages and thoughts count apart, as clients may hide the thoughts, and so do the user's
// messages, which follow each other where a turn was cancelled before it said anything.
type border struct {
	message, thought, user lastText
	noUser                 bool // the client shows no message of the user's that it is told
	loaded                 bool // such a client was told of one since the last prompt
}

// lastText is the text that the user saw last.
type lastText struct {
	messageID string
	newlines  int  // at its end, 2 at most
	open      bool // no message of the other side came after it
}

// before is what must stand before a piece of text of the agent's.
func (b *border) before(messageID, text string, thought bool) string {
	b.user.open = false
	if thought {
		return b.thought.before(messageID, text)
	}
	b.thought.open = false
	return b.message.before(messageID, text)
}

func (last *lastText) before(messageID, text string) string {
	lines := ""
	if last.open && last.messageID != messageID {
		lines = strings.Repeat("\n", max(0, 2-last.newlines-newlines(text, strings.TrimLeft(text, "\n"))))
	}
	ends := newlines(text, strings.TrimRight(text, "\n"))
	if ends == len(text) && last.open {
		ends += last.newlines
	}
	last.messageID, last.newlines, last.open = messageID, min(ends, 2), true
	return lines
}

// newlines is how many were trimmed.
func newlines(text, trimmed string) int { return len(text) - len(trimmed) }

// called notes that a tool call is shown. What a message says behind it is apart from what it
// said before.
func (b *border) called() { b.message.messageID, b.thought.messageID = "", "" }

// said is a piece of a message of the user's, with what must stand before it.
func (b *border) said(chunk protocol.UserMessageChunk) protocol.UserMessageChunk {
	if text := chunk.Content.Text; text != nil {
		chunk.Content.Text = new(b.user.before(chunk.MessageID, *text) + *text)
	}
	b.loaded = b.noUser
	b.message.open, b.thought.open = b.noUser, b.noUser && b.thought.open // before the first stands the client's own record
	return chunk
}

// ended is what must stand behind the last message so that more of the client's own stands apart.
func (b *border) ended() string {
	if !b.message.open {
		return ""
	}
	lines := strings.Repeat("\n", 2-b.message.newlines)
	b.message.newlines = 2
	return lines
}

// prompted notes that the user sees a prompt of theirs, which the client shows. Who shows no message of the
// user's that is loaded puts the answer of the first prompt behind what was loaded (avante, seen).
func (b *border) prompted() {
	loaded := b.message
	if !b.loaded {
		loaded = lastText{}
	}
	*b = border{noUser: b.noUser, message: loaded}
}
