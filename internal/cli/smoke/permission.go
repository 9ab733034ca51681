package smoke

import "encoding/json"

// permissionRequest is the params of session/request_permission as far as they
// are shown or decided on.
type permissionRequest struct {
	ToolCall json.RawMessage `json:"toolCall"`
	Options  []option        `json:"options"`
}

type option struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// call is the tool call that is asked about. One that cannot be read is shown without
// details.
func (p permissionRequest) call() (t toolUpdate) {
	_ = json.Unmarshal(p.ToolCall, &t)
	return t
}

// Policy answers permission requests.
type Policy string

// Policies. Refuse is what a missing or unknown policy means.
const (
	Refuse Policy = "refuse" // picks the option that rejects
	Allow  Policy = "allow"  // picks the option that allows once
)

// Kinds of an answer: ACP's of options, and kindCancelled when no option fits.
const (
	kindAllowOnce    = "allow_once"
	kindRejectOnce   = "reject_once"
	kindRejectAlways = "reject_always"
	kindCancelled    = "cancelled"
)

// pick returns the option to answer with; one without an id cancels the request.
func (p Policy) pick(r permissionRequest) option {
	prefer := []string{kindRejectOnce, kindRejectAlways}
	if p == Allow {
		prefer = []string{kindAllowOnce}
	}
	for _, kind := range prefer {
		for _, o := range r.Options {
			if o.Kind == kind {
				return o
			}
		}
	}
	return option{Name: "(no fitting option: cancelled)", Kind: kindCancelled}
}
