package hooks

import (
	"cmp"
	"encoding/json"
	"io"
)

// maxStdin is the maximum size of droid's input to a hook: the content of a Request, and tool_response, which may contain a file, its lines
// and a diff. The program uses three times as much memory, for the quarter of a second that 16 MB take.
const maxStdin = 4 * maxMessage

// readStdin reads droid's input to a hook: one JSON object. Its fields have names in snake_case, and before 0.215 also in camelCase. It
// waits for the end of the object, not of stdin.
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
