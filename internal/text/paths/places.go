package paths

import (
	"bytes"
	"strings"

	"droid-acp/internal/text/rawjson"
)

// What stands at a place that names a file.
const (
	File    = ""        // a path
	URI     = "uri"     // a URI, which may be one of a file
	Program = "program" // a path, or a name that is looked for in the PATH
	Command = "command" // an object with a program and its arguments
)

// Places are the places in a message that name files.
type Places struct {
	root node
}

// node is where the way to a place goes on, and may be a place itself.
type node struct {
	place, kind string
	isPlace     bool
	fields      []field // of an object
	elements    *node   // of a list
}

type field struct {
	name string
	*node
}

// NewPlaces reads places, which are divided by spaces. Each is the names of fields, divided
// by points, and what stands there behind a colon: "mcpServers[].command:program". A "[]"
// behind a name means each element of a list.
func NewPlaces(places string) *Places {
	p := new(Places)
	for _, place := range strings.Fields(places) {
		where, kind, _ := strings.Cut(place, ":")
		n := &p.root
		for step := range strings.SplitSeq(strings.ReplaceAll(where, "[]", ".[]"), ".") {
			n = n.step(step)
		}
		n.place, n.kind, n.isPlace = where, kind, true
	}
	return p
}

func (n *node) step(step string) *node {
	if step == "[]" {
		if n.elements == nil {
			n.elements = new(node)
		}
		return n.elements
	}
	if to := n.field([]byte(step)); to != nil {
		return to
	}
	n.fields = append(n.fields, field{step, new(node)})
	return n.fields[len(n.fields)-1].node
}

// field is where the way goes on at a field, nil where it does not. Names are compared as
// encoding/json does, since a reader may take a field that is spelt so for the one it knows.
func (n *node) field(name []byte) *node {
	for _, f := range n.fields {
		if string(name) == f.name || bytes.EqualFold(name, []byte(f.name)) {
			return f.node
		}
	}
	return nil
}

// Rewrite calls f with the raw JSON value at each of the places in the message that begins
// at begin in line, a field that is there twice also twice, and returns line with what f
// returns in its place. Where f returns nil the value stays, and what is at no place stays
// byte for byte. line is valid JSON, and is not changed.
func (p *Places) Rewrite(line []byte, begin int, f func(place, kind string, value []byte) []byte) []byte {
	if p == nil {
		return line
	}
	r := rewriting{line: line, f: f}
	r.value(&p.root, begin)
	if len(r.edits) == 0 {
		return line
	}
	size := len(line) + len("\n") // for who adds the end of the line
	for _, e := range r.edits {
		size += len(e.text) - (e.end - e.begin)
	}
	to, done := make([]byte, 0, size), 0
	for _, e := range r.edits {
		to = append(append(to, line[done:e.begin]...), e.text...)
		done = e.end
	}
	return append(to, line[done:]...)
}

type rewriting struct {
	line  []byte
	f     func(place, kind string, value []byte) []byte
	edits []edit
}

// edit puts a text where that from begin to end stands.
type edit struct {
	begin, end int
	text       []byte
}

// value goes through the value at i and returns the index behind it.
func (r *rewriting) value(n *node, i int) int {
	if n.isPlace {
		end := rawjson.SkipValue(r.line, i)
		if to := r.f(n.place, n.kind, r.line[i:end]); to != nil {
			r.edits = append(r.edits, edit{i, end, to})
			return end
		}
	}
	switch {
	case r.line[i] == '{' && n.fields != nil:
		return r.object(n, i)
	case r.line[i] == '[' && n.elements != nil:
		return r.list(n, i)
	}
	return rawjson.SkipValue(r.line, i)
}

func (r *rewriting) object(n *node, i int) int {
	for i = r.behind(i); r.line[i] == '"'; {
		end := rawjson.SkipString(r.line, i)
		name := r.line[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(rawjson.Unquote(r.line[i:end]))
		}
		i = r.behind(rawjson.SkipSpace(r.line, end)) // the colon
		if to := n.field(name); to != nil {
			i = r.value(to, i)
		} else {
			i = rawjson.SkipValue(r.line, i)
		}
		i = r.comma(i)
	}
	return i + 1
}

func (r *rewriting) list(n *node, i int) int {
	for i = r.behind(i); r.line[i] != ']'; {
		i = r.comma(r.value(n.elements, i))
	}
	return i + 1
}

// behind is the index of what follows the sign at i.
func (r *rewriting) behind(i int) int { return rawjson.SkipSpace(r.line, i+1) }

// comma passes over the comma behind a value that ended at i.
func (r *rewriting) comma(i int) int {
	if i = rawjson.SkipSpace(r.line, i); r.line[i] == ',' {
		return r.behind(i)
	}
	return i
}
