package wire

import (
	"encoding/json"
	"unicode/utf8"
)

// maxText bounds what one line takes of a text that comes in pieces, in bytes
// before they are encoded.
const maxText = 64 << 10

// TextFrame is a notification around a text: the encoded line before and behind the
// JSON string, without a newline. Texts of equal frames that follow one another are
// one text to the editor.
type TextFrame struct{ Before, After string }

// textLine is a line to be that has a text in a frame.
type textLine struct {
	frame  TextFrame
	text   string
	merged []byte // the whole text, once a piece was added to it
}

// sendText queues a text, or lengthens the one that waits last. A long text becomes
// several, which are encoded one by one when they are written.
func (o *outbox) sendText(frame TextFrame, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.queue); n > 0 {
		last := o.queue[n-1].text
		if last != nil && last.frame == frame && last.size()+len(text) <= maxText {
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
		_ = o.append(outgoing{text: &textLine{frame: frame, text: text[:n]}})
		text = text[n:]
	}
	_ = o.append(outgoing{text: &textLine{frame: frame, text: text}})
}

func (l *textLine) size() int { return max(len(l.text), len(l.merged)) }

func (l *textLine) add(text string) {
	if l.merged == nil {
		l.merged = append(make([]byte, 0, 2*(len(l.text)+len(text))), l.text...)
	}
	l.merged = append(l.merged, text...)
}

func (l *textLine) appendLine(buf []byte) []byte {
	text := l.text
	if l.merged != nil {
		text = string(l.merged)
	}
	quoted, _ := json.Marshal(text) // a string always encodes
	buf = append(buf, l.frame.Before...)
	buf = append(buf, quoted...)
	buf = append(buf, l.frame.After...)
	return append(buf, '\n')
}
