package via

import (
	"encoding/json"
	"slices"
	"strings"

	"droid-acp/internal/rawjson"
)

// message is what the relay reads of a line: whose it is, and where its contents begin.
type message struct {
	id             json.RawMessage // nil where there is none
	method         string          // "" for a response
	params, result int             // indexes in the line, 0 where there are none
}

// members are those of a message that count, each of them once. Names are compared as
// encoding/json does, since a reader may take a member that is spelt so for the one it knows.
var members = []string{"id", "method", "params", "result"}

// readMessage reads a line that is valid JSON. It reports false for what is no message, or
// could be taken for more than one.
func readMessage(line []byte) (m message, ok bool) {
	fields, ok := rawjson.Fields(line)
	if !ok {
		return m, false
	}
	var seen [4]bool
	for name, value, more := fields.Next(); more; name, value, more = fields.Next() {
		i := member(name)
		if i < 0 {
			continue
		}
		if seen[i] {
			return m, false
		}
		seen[i] = true
		begin := cap(line) - cap(value)
		switch i {
		case 0:
			m.id = value
		case 1:
			m.method = rawjson.Unquote(value)
		case 2:
			m.params = begin
		case 3:
			m.result = begin
		}
	}
	return m, m.method != "" || m.id != nil
}

func member(name []byte) int {
	if i := slices.Index(members, string(name)); i >= 0 {
		return i
	}
	return slices.IndexFunc(members, func(m string) bool { return strings.EqualFold(m, string(name)) })
}

// isRequest reports whether somebody waits for an answer.
func (m message) isRequest() bool { return m.method != "" && m.id != nil }
