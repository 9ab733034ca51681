package hooks

import (
	"cmp"
	"encoding/json"
	"io"
)

// maxStdin is the most bytes that droid may tell a hook: what a Request holds, and tool_response,
// which may have a file, its lines and what differs. The program takes three times as much memory
// as it is told, for the quarter of a second that 16 MB take.
const maxStdin = 4 * maxMessage

// readStdin reads what droid tells a hook: one JSON object. Its fields have names in snake_case, and
// before 0.215 also in camelCase. It does not wait for the end of stdin, only for that of the object.
func readStdin(stdin io.Reader) (Request, error) {
	var told struct {
		Event        string          `json:"hook_event_name"`
		EventCamel   string          `json:"hookEventName"`
		Session      string          `json:"session_id"`
		SessionCamel string          `json:"sessionId"`
		Tool         string          `json:"tool_name"`
		ToolCamel    string          `json:"toolName"`
		Input        json.RawMessage `json:"tool_input"`
		InputCamel   json.RawMessage `json:"toolInput"`
	}
	if err := json.NewDecoder(io.LimitReader(stdin, maxStdin)).Decode(&told); err != nil {
		return Request{}, err
	}
	r := Request{cmp.Or(told.Event, told.EventCamel), cmp.Or(told.Session, told.SessionCamel), cmp.Or(told.Tool, told.ToolCamel), told.Input}
	if r.Input == nil {
		r.Input = told.InputCamel
	}
	return r, nil
}
