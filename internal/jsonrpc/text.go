package jsonrpc

import (
	"unicode/utf8"

	"droid-acp/internal/text/rawjson"
)

// maxText bounds the part of a text in one line, in bytes before encoding.
const maxText = 64 << 10

// TextFrame is a notification around a text: the encoded line before and after the JSON string, without a newline. To the peer, adjacent
// texts of equal frames are one text.
type TextFrame struct{ Before, After string }

// Line is a queued line: encoded, or a text with its frame.
type Line struct {
	data   []byte // nil for a text
	frame  TextFrame
	text   string
	merged []byte // the whole text, once another was appended to it
}

// Text queues a text, or appends it to the last queued line. A text of more than 64 KiB becomes several lines, each encoded when it is
// written.
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

// size returns what the line counts against the limits, in bytes.
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
