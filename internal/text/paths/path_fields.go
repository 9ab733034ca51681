package paths

import (
	"bytes"
	"strings"

	"droid-acp/internal/text/rawjson"
)

// Kinds of values that name a file.
const (
	File    = ""        // a path
	URI     = "uri"     // a URI, possibly of a file
	Program = "program" // a path, or a name looked up in the PATH
	Command = "command" // an object with a program and its arguments
)

// PathFields is a set of JSON fields that name files.
type PathFields struct {
	root node
}

// node is a step on the path to a field, and may be such a field itself.
type node struct {
	path, kind string
	isField    bool
	fields     []field // of an object
	elements   *node   // of a list
}

type field struct {
	name string
	*node
}

// ParsePathFields parses a space-separated list of fields. Each consists of member names separated by dots, with "[]" after a name for all
// elements of an array, and an optional kind after a colon: "mcpServers[].command:program".
func ParsePathFields(places string) *PathFields {
	p := new(PathFields)
	for _, place := range strings.Fields(places) {
		where, kind, _ := strings.Cut(place, ":")
		n := &p.root
		for step := range strings.SplitSeq(strings.ReplaceAll(where, "[]", ".[]"), ".") {
			n = n.child(step)
		}
		n.path, n.kind, n.isField = where, kind, true
	}
	return p
}

func (n *node) child(child string) *node {
	if child == "[]" {
		if n.elements == nil {
			n.elements = new(node)
		}
		return n.elements
	}
	if to := n.field([]byte(child)); to != nil {
		return to
	}
	n.fields = append(n.fields, field{child, new(node)})
	return n.fields[len(n.fields)-1].node
}

// field returns the child of n for a member, or nil. Names are compared like in encoding/json, whose case-insensitive match a reader may
// use.
func (n *node) field(name []byte) *node {
	for _, f := range n.fields {
		if string(name) == f.name || bytes.EqualFold(name, []byte(f.name)) {
			return f.node
		}
	}
	return nil
}

// Rewrite calls f for the raw value of each field in the JSON message that starts at begin in line, and returns line with the values
// replaced by f's results; nil keeps a value. Duplicate members are all rewritten. Everything else is copied byte by byte. line must be
// valid JSON and is not changed.
func (p *PathFields) Rewrite(line []byte, begin int, f func(place, kind string, value []byte) []byte) []byte {
	if p == nil {
		return line
	}
	r := rewriter{line: line, f: f}
	r.value(&p.root, begin)
	if len(r.edits) == 0 {
		return line
	}
	size := len(line) + len("\n") // so that the caller can append it
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

type rewriter struct {
	line  []byte
	f     func(place, kind string, value []byte) []byte
	edits []edit
}

// edit replaces the bytes from begin to end.
type edit struct {
	begin, end int
	text       []byte
}

// value processes the value at i and returns the index after it.
func (r *rewriter) value(n *node, i int) int {
	if n.isField {
		end := rawjson.SkipValue(r.line, i)
		if to := r.f(n.path, n.kind, r.line[i:end]); to != nil {
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

func (r *rewriter) object(n *node, i int) int {
	for i = r.after(i); r.line[i] == '"'; {
		end := rawjson.SkipString(r.line, i)
		name := r.line[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(rawjson.Unquote(r.line[i:end]))
		}
		i = r.after(rawjson.SkipSpace(r.line, end)) // the colon
		if to := n.field(name); to != nil {
			i = r.value(to, i)
		} else {
			i = rawjson.SkipValue(r.line, i)
		}
		i = r.skipComma(i)
	}
	return i + 1
}

func (r *rewriter) list(n *node, i int) int {
	for i = r.after(i); r.line[i] != ']'; {
		i = r.skipComma(r.value(n.elements, i))
	}
	return i + 1
}

// after returns the index of the next token after the byte at i.
func (r *rewriter) after(i int) int { return rawjson.SkipSpace(r.line, i+1) }

// skipComma skips the comma after a value that ended at i.
func (r *rewriter) skipComma(i int) int {
	if i = rawjson.SkipSpace(r.line, i); r.line[i] == ',' {
		return r.after(i)
	}
	return i
}
