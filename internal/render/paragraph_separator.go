package render

import (
	"strings"

	"droid-acp/internal/acp/protocol"
)

// paragraphSeparator separates the texts of two messages. Many clients ignore message IDs and join adjacent texts ("Thanks.All done."), so
// a text is preceded by an empty line if it follows another message. A tool call in between separates them in no client that was tried. The
// line carries the ID of the new message: for clients that know IDs it is leading white space, which Markdown ignores.
//
// Messages and thoughts are separate sequences, as clients may hide thoughts. So are the user's messages, which are adjacent if a turn was
// cancelled before any output.
type paragraphSeparator struct {
	message, thought, user lastText
	noUser                 bool // the client shows no user messages from updates
	loaded                 bool // such a client was sent one since the last prompt
}

// lastText is the most recent text of a sequence.
type lastText struct {
	messageID string
	newlines  int  // at its end, at most 2
	open      bool // no message of the other side has followed
}

// prefix returns the separator to put before a piece of the agent's text.
func (b *paragraphSeparator) prefix(messageID, text string, thought bool) string {
	b.user.open = false
	if thought {
		return b.thought.prefix(messageID, text)
	}
	b.thought.open = false
	return b.message.prefix(messageID, text)
}

func (last *lastText) prefix(messageID, text string) string {
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

// newlines returns how many newlines were trimmed.
func newlines(text, trimmed string) int { return len(text) - len(trimmed) }

// toolCallShown records that a tool call is shown: the rest of a message after it is separated from what preceded it.
func (b *paragraphSeparator) toolCallShown() { b.message.messageID, b.thought.messageID = "", "" }

// userChunk returns a piece of a user message with its separator.
func (b *paragraphSeparator) userChunk(chunk protocol.UserMessageChunk) protocol.UserMessageChunk {
	if text := chunk.Content.Text; text != nil {
		chunk.Content.Text = new(b.user.prefix(chunk.MessageID, *text) + *text)
	}
	b.loaded = b.noUser
	b.message.open, b.thought.open = b.noUser, b.noUser && b.thought.open // the first follows the client's own record
	return chunk
}

// endMessage returns the newlines after the last message that separate it from the client's own text.
func (b *paragraphSeparator) endMessage() string {
	if !b.message.open {
		return ""
	}
	lines := strings.Repeat("\n", 2-b.message.newlines)
	b.message.newlines = 2
	return lines
}

// promptShown records that the client shows a new prompt. A client that shows no loaded user messages appends the answer to the first prompt
// to the loaded text (avante, seen).
func (b *paragraphSeparator) promptShown() {
	loaded := b.message
	if !b.loaded {
		loaded = lastText{}
	}
	*b = paragraphSeparator{noUser: b.noUser, message: loaded}
}
