package jsonrpc

import (
	"unicode/utf8"

	"droid-acp/internal/text/rawjson"
)

// maxText bounds what one line takes of a text that comes in pieces, in bytes
// before they are encoded.
const maxText = 64 << 10

// TextFrame is a notification around a text: the encoded line before and behind the
// JSON string, without a newline. Texts of equal frames that follow one another are
// one text to the peer.
type TextFrame struct{ Before, After string }

// Line is a line to be: encoded, or a text in a frame.
type Line struct {
	data   []byte // nil for a text
	frame  TextFrame
	text   string
	merged []byte // the whole text, once a piece was added to it
}

// Text queues a text, or lengthens the one that waits last. A text of more than 64 KiB
// becomes several, which are encoded one by one when they are written.
func (o *Outbox) Text(frame TextFrame, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.queue); n > 0 {
		last := o.queue[n-1]
		if last.data == nil && last.frame == frame && last.size()+len(text) <= maxText {
			last.add(text)
			o.bytes += len(text)
			return
		}
	}
	for len(text) > maxText {
		n := maxText
		for n > maxText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		_ = o.append(&Line{frame: frame, text: text[:n]})
		text = text[n:]
	}
	_ = o.append(&Line{frame: frame, text: text})
}

// size is what counts of a line against the limits, in bytes.
func (l *Line) size() int { return max(len(l.data), len(l.text), len(l.merged)) }

func (l *Line) add(text string) {
	if l.merged == nil {
		l.merged = append(make([]byte, 0, 2*(len(l.text)+len(text))), l.text...)
	}
	l.merged = append(l.merged, text...)
}

func (l *Line) appendTo(buf []byte) []byte {
	if l.data != nil {
		return append(buf, l.data...)
	}
	text := l.text
	if l.merged != nil {
		text = string(l.merged)
	}
	buf = append(buf, l.frame.Before...)
	buf = rawjson.AppendString(buf, text)
	buf = append(buf, l.frame.After...)
	return append(buf, '\n')
}
