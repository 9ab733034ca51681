package show

import (
	"strings"

	"droid-acp/internal/protocol"
)

// border keeps the texts of two messages apart. Many clients ignore the ids of
// messages and show texts that follow each other as one ("Thanks.All done."), so a
// text begins with an empty line if that of another message stands right before it.
// The line goes by the id of the message that it begins: to who knows ids it is
// white space before the text, which Markdown does not show.
//
// Messages and thoughts count apart, as clients may hide the thoughts.
type border struct {
	message, thought lastText
}

// lastText is the text that the user saw last.
type lastText struct {
	messageID string
	newlines  int  // at its end, 2 at most
	open      bool // nothing that every client shows came after it
}

// before is what must stand before a piece of text.
func (b *border) before(messageID, text string, thought bool) string {
	last := &b.message
	if thought {
		last = &b.thought
	} else {
		b.thought.open = false
	}
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

// shown notes an update. One that every client shows stands between the texts before and
// after it: a new tool call does, and a prompt.
func (b *border) shown(update Output) {
	switch update := update.(type) {
	case protocol.ToolCall:
		if update.SessionUpdate != "tool_call" {
			return
		}
	case protocol.UserMessageChunk:
	default:
		return
	}
	b.prompted()
}

// uncover treats the last message as if nothing stood below it: some clients hold back
// the call that came after it.
func (b *border) uncover() { b.message.open = b.message.messageID != "" }

// prompted notes that the user sees a prompt of theirs.
func (b *border) prompted() { b.message.open, b.thought.open = false, false }
