package smoke

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Noncharacters of Unicode that replace, in the edited line, characters that term.Terminal would act on, and what is shown for them.
const (
	lineBreak = '\ufdd0'
	tab       = '\ufdd1'
)

var (
	shownFor = strings.NewReplacer(string(lineBreak), "⏎", string(tab), "⇥")
	textFor  = strings.NewReplacer(string(lineBreak), "\n", string(tab), "\t")
)

// Keys that term.Terminal handles.
const (
	ctrlC, ctrlU   = 3, 21
	enter, newline = '\r', '\n'
	escape         = 0x1b
	clearLine      = "\x05\x15" // to the end of the line, and delete everything before
	editingKeys    = "\x01\x02\x04\x05\x06\x08\x0b\x0c\x0e\x10\x14\x17\x7f"
	pasteBegin     = "\x1b[200~"
	pasteEnd       = "\x1b[201~"
)

// sequences maps what terminals send to the escape sequences that term.Terminal handles.
var sequences = map[string]string{
	"[A": "\x1b[A", "[B": "\x1b[B", "[C": "\x1b[C", "[D": "\x1b[D", "[H": "\x1b[H", "[F": "\x1b[F", "[3~": "\x1b[3~",
	"OA": "\x1b[A", "OB": "\x1b[B", "OC": "\x1b[C", "OD": "\x1b[D", "OH": "\x1b[H", "OF": "\x1b[F",
	"[1~": "\x1b[H", "[7~": "\x1b[H", "[4~": "\x1b[F", "[8~": "\x1b[F",
	"[1;3C": "\x1b[1;3C", "[1;3D": "\x1b[1;3D", "[1;5C": "\x1b[1;3C", "[1;5D": "\x1b[1;3D",
	"[200~": pasteBegin, "\r": string(lineBreak), "\n": string(lineBreak),
}

// lineOrigin says how a line was entered.
type lineOrigin struct {
	typed    bool             // each of its keys arrived separately; false for pasted text, whether or not the terminal marks it
	question *pendingQuestion // the current question before the first key
}

// keyReader reads a terminal in raw mode for a term.Terminal. It makes pasted text and Alt-Enter part of the line, and records for each
// line how it was entered. It drops keys that term.Terminal does not handle, which would treat the following keys as a part of them.
type keyReader struct {
	in        io.Reader
	current   func() *pendingQuestion // the question that is shown now
	interrupt func()                  // called for each Ctrl-C
	other     func()                  // called for each other key

	rest     []byte // an incomplete key or character
	out      []byte // not yet returned
	pasting  bool
	returned bool // the last pasted character was a carriage return
	begun    bool // a key of the line was read
	line     lineOrigin

	mu      sync.Mutex
	entries []lineOrigin // of the completed lines
}

// Read returns input for term.Terminal.
func (k *keyReader) Read(p []byte) (int, error) {
	buf := make([]byte, 4<<10)
	for len(k.out) == 0 {
		n, err := k.in.Read(buf)
		if n == 0 && err != nil {
			return 0, err
		}
		k.take(buf[:n])
	}
	n := copy(p, k.out)
	k.out = k.out[n:]
	return n, nil
}

// entered returns how the next completed line was entered.
func (k *keyReader) entered() (e lineOrigin) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.entries) > 0 {
		e, k.entries = k.entries[0], k.entries[1:]
	}
	return e
}

// take handles the result of one read of the terminal.
func (k *keyReader) take(read []byte) {
	text := append(k.rest, read...)
	if k.pasting && len(text) == 1 && text[0] == ctrlC { // a pressed key: the end of the paste is missing
		k.pasting = false
		k.out = append(k.out, pasteEnd...)
	}
	single := true // a person presses one key at a time
	for first := true; len(text) > 0; first = false {
		n := keyLength(text)
		if k.pasting {
			n = pastedLength(text)
		}
		if n == 0 {
			break
		}
		single = single && first && n == len(text)
		if !k.begun {
			k.begun, k.line = true, lineOrigin{typed: true, question: k.current()}
		}
		k.line.typed = k.line.typed && single && !k.pasting
		k.key(string(text[:n]))
		text = text[n:]
	}
	k.rest = bytes.Clone(text)
}

// keyLength returns the length of the first key in text, 0 if it may be incomplete.
func keyLength(text []byte) int {
	if text[0] != escape {
		if !utf8.FullRune(text) {
			return 0
		}
		_, n := utf8.DecodeRune(text)
		return n
	}
	switch {
	case len(text) == 1:
		return 0
	case text[1] == 'O', text[1] == '[':
		for i, b := range text[2:] {
			switch {
			case b < 0x20: // the sequence is broken off
				return i + 2
			case b > 0x3f || text[1] == 'O': // ECMA-48, control sequences
				return i + 3
			}
		}
		return 0
	case text[1] == enter, text[1] == newline:
		return 2
	}
	return 1
}

// pastedLength is keyLength for pasted text, in which only the mark of its end is a sequence.
func pastedLength(text []byte) int {
	switch {
	case text[0] != escape:
		return keyLength(text)
	case bytes.HasPrefix(text, []byte(pasteEnd)):
		return len(pasteEnd)
	case bytes.HasPrefix([]byte(pasteEnd), text):
		return 0
	}
	return 1
}

// key handles one key.
func (k *keyReader) key(key string) {
	r, _ := utf8.DecodeRuneInString(key)
	if k.pasting {
		k.pasted(key, r)
		return
	}
	if r == ctrlC {
		k.out = append(k.out, clearLine...)
		k.begun = false
		k.interrupt()
		return
	}
	k.other()
	switch {
	case r == ctrlU: // deletes the whole line
		k.out = append(k.out, clearLine...)
		k.begun = false
	case r == enter:
		k.mu.Lock()
		k.entries = append(k.entries, k.line)
		k.mu.Unlock()
		k.begun = false
		k.out = append(k.out, enter)
	case r == newline:
		k.put(lineBreak)
	case r == escape:
		known := sequences[key[1:]]
		if known == pasteBegin {
			k.pasting, k.line.typed = true, false
		}
		k.out = append(k.out, known...)
	case strings.ContainsRune(editingKeys, r):
		k.out = append(k.out, byte(r))
	default:
		k.put(r)
	}
}

// pasted handles a key of pasted text, in which control characters do nothing.
func (k *keyReader) pasted(key string, r rune) {
	switch {
	case key == pasteEnd:
		k.pasting = false
		k.out = append(k.out, pasteEnd...)
	case r == newline && k.returned: // the line has ended already
	case r == enter, r == newline:
		k.put(lineBreak)
	case r == '\t':
		k.put(tab)
	default:
		k.put(r)
	}
	k.returned = r == enter
}

// put adds a character to the line, unless it is a control character. term.Terminal does not accept U+FFFD.
func (k *keyReader) put(r rune) {
	if r == utf8.RuneError {
		r = '?'
	}
	if !unicode.IsControl(r) {
		k.out = utf8.AppendRune(k.out, r)
	}
}
