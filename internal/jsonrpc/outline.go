package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxDepth is how many levels of lists and objects encoding/json takes.
const maxDepth = 10_000

// maxMember bounds what the outline keeps of one name or id, in bytes.
const maxMember = 64 << 10

// outline finds out whose message a line is that is refused, so that the
// one who waits for an answer gets it. It reads the line piece by piece in
// bounded memory, whatever its length and depth. It looks at the names of the
// outermost object alone, and takes nothing that comes behind a mistake in the
// line: there it could not tell an id from a piece of the user's text.
type outline struct {
	ID       json.RawMessage // the last usable one, nil when there is none
	method   bool            // there is a "method", so it is a request
	outcome  bool            // there is a "result" or an "error"
	deepest  int
	some     bool // there is something but white space
	mistaken bool // nothing more is taken

	depth    int
	object   bool // the outermost value is an object
	complete bool // the outermost value has ended
	after    bool // a value or a name has just ended
	text     bool // within a string
	escaped  bool // behind a backslash
	word     bool // within a number, true, false or null
	name     bool // what is read is the name of an outermost member, or will be
	member   string
	kept     []byte // the string or word being read, at the outermost level
}

// Read takes the next piece of the line.
func (o *outline) Read(piece []byte) {
	for len(piece) > 0 && !o.mistaken {
		piece = o.skip(piece)
		if len(piece) == 0 {
			return
		}
		c := piece[0]
		piece = piece[1:]
		switch {
		case o.text:
			o.readText(c)
		case o.word && !strings.ContainsRune(" \t\r\n,:{}[]\"", rune(c)):
			o.keep(c)
		default:
			if o.word {
				o.word = false
				o.end()
			}
			o.readSign(c)
		}
	}
}

// skip passes over what is only text, and most of a long line is that.
func (o *outline) skip(piece []byte) []byte {
	if !o.text || o.escaped || (o.depth == 1 && len(o.kept) < maxMember) {
		return piece
	}
	if i := bytes.IndexAny(piece, `"\\`); i >= 0 {
		return piece[i:]
	}
	return nil
}

func (o *outline) readText(c byte) {
	o.keep(c)
	switch {
	case o.escaped:
		o.escaped = false
	case c == '\\':
		o.escaped = true
	case c == '"':
		o.text = false
		o.end()
	}
}

// readSign takes a byte between strings and words, or the first of one.
func (o *outline) readSign(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n':
		return
	case '{', '[':
		o.open(c)
	case '}', ']':
		o.close()
	case ',', ':':
		o.mistaken = !o.after || o.depth == 0
		o.after = false
		if o.depth == 1 {
			o.name = o.object && c == ','
		}
	case 0xEF, 0xBB, 0xBF: // a byte order mark before the message hides nothing
		o.mistaken = o.depth > 0 || o.complete
	default:
		o.mistaken = o.after
		o.text, o.word = c == '"', c != '"'
		o.kept = o.kept[:0]
		o.keep(c)
	}
	o.some = true
}

func (o *outline) open(c byte) {
	if o.complete { // a second message: which one is meant cannot be known
		o.ID = nil
	}
	o.mistaken = o.after
	if o.depth == 1 {
		o.take(nil)
	}
	o.depth++
	o.deepest = max(o.deepest, o.depth)
	if o.depth == 1 {
		o.object = c == '{'
		o.name = o.object
	}
}

func (o *outline) close() {
	o.depth--
	o.mistaken = o.depth < 0
	o.after = true
	o.complete = o.depth == 0
}

// end follows the last byte of a string or a word.
func (o *outline) end() {
	o.after = true
	switch {
	case o.depth != 1:
	case o.name:
		o.member = ""
		_ = json.Unmarshal(o.kept, &o.member) // what is no name, or too long, is none that is looked for
	default:
		o.take(o.kept)
	}
}

// take notes an outermost member. Names are compared as encoding/json does.
func (o *outline) take(value []byte) {
	switch {
	case o.name:
		o.mistaken = true // a name cannot be a list or an object
	case strings.EqualFold(o.member, "method"):
		o.method = true
	case strings.EqualFold(o.member, "result"), strings.EqualFold(o.member, "error"):
		o.outcome = true
	case strings.EqualFold(o.member, "id"):
		f := frame{ID: value}
		if len(value) < maxMember && f.answerID() != nil && json.Valid(value) {
			o.ID = append(json.RawMessage(nil), value...)
		}
	}
}

// keep keeps a byte of a name or a value of the outermost object.
func (o *outline) keep(c byte) {
	if o.depth == 1 && len(o.kept) < maxMember {
		o.kept = append(o.kept, c)
	}
}

// blank reports that there was nothing but white space.
func (o *outline) blank() bool { return !o.some }

// isResponse reports that the line answers a request of the agent's own.
func (o *outline) isResponse() bool { return o.outcome && !o.method && o.ID != nil }
