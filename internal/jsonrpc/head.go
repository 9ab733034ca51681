package jsonrpc

import (
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/text/rawjson"
)

// Head is what one who passes a message on reads of its line: whose it is, and where its
// contents begin.
type Head struct {
	ID             json.RawMessage // a part of the line; nil where there is none
	Method         string          // "" for a response
	Params, Result int             // indexes in the line, 0 where there are none
}

// members are those of a message that count, each of them once. Names are compared as
// encoding/json does, since a reader may take a member that is spelt so for the one it knows.
var members = []string{"id", "method", "params", "result"}

// ReadHead reads a line that is valid JSON. It reports false for what is no message, or
// could be taken for more than one.
func ReadHead(line []byte) (h Head, ok bool) {
	var seen [4]bool
	for name, value := range rawjson.Fields(line) {
		i := member(name)
		if i < 0 {
			continue
		}
		if seen[i] {
			return h, false
		}
		seen[i] = true
		begin := cap(line) - cap(value)
		switch i {
		case 0:
			h.ID = value
		case 1:
			h.Method = rawjson.Unquote(value)
		case 2:
			h.Params = begin
		case 3:
			h.Result = begin
		}
	}
	return h, h.Method != "" || h.ID != nil
}

func member(name []byte) int {
	if i := slices.Index(members, string(name)); i >= 0 {
		return i
	}
	return slices.IndexFunc(members, func(m string) bool { return strings.EqualFold(m, string(name)) })
}

// IsRequest reports whether somebody waits for an answer.
func (h Head) IsRequest() bool { return h.Method != "" && h.ID != nil }

// WithID is the line with another id in the place of its own, which it must have.
func (h Head) WithID(line []byte, id string) []byte {
	begin := cap(line) - cap(h.ID)
	return slices.Concat(line[:begin], []byte(id), line[begin+len(h.ID):])
}
