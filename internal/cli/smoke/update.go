package smoke

import (
	"cmp"
	"encoding/json"
	"slices"
)

// update is a session/update as far as it is shown or counted.
type update struct {
	SessionUpdate string `json:"sessionUpdate"`
	toolUpdate
	Meta struct {
		Own struct {
			Notice     bool
			Client     string // who has sent this prompt
			StopReason string // of the prompt of another client
		} `json:"droid-acp"`
	} `json:"_meta"`
	CurrentModeID string      `json:"currentModeId"`
	Entries       []planEntry `json:"entries"`
}

// toolUpdate is a tool call, an update of one, or the one of a permission request. Its
// Content is that of a chunk where the update is one.
type toolUpdate struct {
	ToolCallID string   `json:"toolCallId"`
	Title      string   `json:"title"`
	Kind       string   `json:"kind"`
	Status     string   `json:"status"`
	Content    contents `json:"content"`
}

type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// content is a text or a diff.
type content struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	Path    string  `json:"path"`
	OldText *string `json:"oldText"` // nil for a new file
	NewText *string `json:"newText"`
	Content *struct {
		Text string `json:"text"`
	} `json:"content"`
}

// contents are the items of a tool call's content, or the one block of a chunk.
type contents []content

// UnmarshalJSON reads a list, or an object as a list of one.
func (c *contents) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		*c = make(contents, 1)
		return json.Unmarshal(text, &(*c)[0])
	}
	return json.Unmarshal(text, (*[]content)(c))
}

// text is the text of an item, "" for a diff and what has none.
func (c content) text() string {
	if c.Content != nil {
		return c.Content.Text
	}
	return c.Text
}

func (c contents) text() (text string) {
	for _, item := range c {
		text += item.text()
	}
	return text
}

func readUpdate(params json.RawMessage) (update, error) {
	var p struct {
		Update update `json:"update"`
	}
	err := json.Unmarshal(params, &p)
	return p.Update, err
}

// addUpdate notes what an update tells of the turn; there may be none.
func (p *PromptResult) addUpdate(u update) {
	if p == nil {
		return
	}
	switch u.SessionUpdate {
	case "agent_message_chunk":
		if !u.Meta.Own.Notice { // what droid-acp adds is no answer, and meets no expectation
			p.Answer += u.Content.text()
		}
	case "tool_call", "tool_call_update":
		i := slices.IndexFunc(p.ToolCalls, func(c ToolCall) bool { return c.ID == u.ToolCallID })
		if i < 0 {
			i = len(p.ToolCalls)
			p.ToolCalls = append(p.ToolCalls, ToolCall{ID: u.ToolCallID})
		}
		c := &p.ToolCalls[i]
		c.Title, c.Kind, c.Status = cmp.Or(u.Title, c.Title), cmp.Or(u.Kind, c.Kind), cmp.Or(u.Status, c.Status)
	}
}

// addPermission notes a request for permission and its answer.
func (p *PromptResult) addPermission(call toolUpdate, answer option) {
	if p != nil {
		a := Permission{Title: call.Title, Answer: answer.Name, Kind: answer.Kind}
		if answer.OptionID == "" {
			a.Answer = ""
		}
		p.Permissions = append(p.Permissions, a)
	}
}

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
