package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxDepth is the nesting depth that encoding/json accepts.
const maxDepth = 10_000

// maxMember bounds the bytes that rejectedScanner keeps of one name or ID.
const maxMember = 64 << 10

// rejectedScanner scans a rejected line for its ID and kind, so that the error reaches the right request. It reads the line piece by piece in
// bounded memory, whatever its length and depth. It considers only the members of the outermost object, and ignores everything after a
// syntax error, where an ID could be part of the user's text.
type rejectedScanner struct {
	id      json.RawMessage // the last usable one, or nil
	method  bool            // has a "method", so it is a request
	outcome bool            // has a "result" or an "error"
	deepest int
	some    bool // has anything but white space
	invalid bool // syntax error: the rest is ignored

	depth    int
	object   bool // the outermost value is an object
	complete bool // the outermost value has ended
	ended    bool // a value or a name has just ended
	text     bool // inside a string
	escaped  bool // after a backslash
	word     bool // inside a number, true, false or null
	name     bool // the next or current token is the name of an outermost member
	member   string
	kept     []byte // the current string or word at the outermost level
}

// scan scans the next piece of the line.
func (o *rejectedScanner) scan(piece []byte) {
	for len(piece) > 0 && !o.invalid {
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

// skip skips the inside of strings, most of a long line.
func (o *rejectedScanner) skip(piece []byte) []byte {
	if !o.text || o.escaped || (o.depth == 1 && len(o.kept) < maxMember) {
		return piece
	}
	if i := bytes.IndexAny(piece, `"\\`); i >= 0 {
		return piece[i:]
	}
	return nil
}

func (o *rejectedScanner) readText(c byte) {
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

// readSign scans a byte between strings and words, or the first byte of one.
func (o *rejectedScanner) readSign(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n':
		return
	case '{', '[':
		o.open(c)
	case '}', ']':
		o.close()
	case ',', ':':
		o.invalid = !o.ended || o.depth == 0
		o.ended = false
		if o.depth == 1 {
			o.name = o.object && c == ','
		}
	case 0xEF, 0xBB, 0xBF: // ignore a byte order mark before the message
		o.invalid = o.depth > 0 || o.complete
	default:
		o.invalid = o.ended
		o.text, o.word = c == '"', c != '"'
		o.kept = o.kept[:0]
		o.keep(c)
	}
	o.some = true
}

func (o *rejectedScanner) open(c byte) {
	if o.complete { // a second message: ambiguous
		o.id = nil
	}
	o.invalid = o.ended
	if o.depth == 1 {
		o.setMember(nil)
	}
	o.depth++
	o.deepest = max(o.deepest, o.depth)
	if o.depth == 1 {
		o.object = c == '{'
		o.name = o.object
	}
}

func (o *rejectedScanner) close() {
	o.depth--
	o.invalid = o.depth < 0
	o.ended = true
	o.complete = o.depth == 0
}

// end is called after the last byte of a string or a word.
func (o *rejectedScanner) end() {
	o.ended = true
	switch {
	case o.depth != 1:
	case o.name:
		o.member = ""
		_ = json.Unmarshal(o.kept, &o.member) // invalid or overlong names are irrelevant
	default:
		o.setMember(o.kept)
	}
}

// setMember records an outermost member. Names are compared like in encoding/json.
func (o *rejectedScanner) setMember(value []byte) {
	switch {
	case o.name:
		o.invalid = true // a name cannot be a list or an object
	case strings.EqualFold(o.member, "method"):
		o.method = true
	case strings.EqualFold(o.member, "result"), strings.EqualFold(o.member, "error"):
		o.outcome = true
	case strings.EqualFold(o.member, "id"):
		f := frame{ID: value}
		if len(value) < maxMember && f.answerID() != nil && json.Valid(value) {
			o.id = append(json.RawMessage(nil), value...)
		}
	}
}

// keep keeps a byte of a name or value of the outermost object.
func (o *rejectedScanner) keep(c byte) {
	if o.depth == 1 && len(o.kept) < maxMember {
		o.kept = append(o.kept, c)
	}
}

// blank reports whether the line has only white space.
func (o *rejectedScanner) blank() bool { return !o.some }

// isResponse reports whether the line responds to one of our requests.
func (o *rejectedScanner) isResponse() bool { return o.outcome && !o.method && o.id != nil }
