package jsonrpc

import (
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/text/rawjson"
)

// Head is the part of a message that a relay needs: its ID, its method, and where its contents begin.
type Head struct {
	ID             json.RawMessage // a subslice of the line; nil if missing
	Method         string          // "" for a response
	Params, Result int             // indexes in the line, 0 if missing
}

// members are the relevant members of a message, each allowed once. Names are compared like in encoding/json, whose case-insensitive match
// a reader may use.
var members = []string{"id", "method", "params", "result"}

// ReadHead reads the head of a line of valid JSON. It returns false if the line is not a message or is ambiguous.
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

// IsRequest reports whether the message expects a response.
func (h Head) IsRequest() bool { return h.Method != "" && h.ID != nil }

// WithID returns line with its ID, which must be present, replaced by id.
func (h Head) WithID(line []byte, id string) []byte {
	begin := cap(line) - cap(h.ID)
	return slices.Concat(line[:begin], []byte(id), line[begin+len(h.ID):])
}
