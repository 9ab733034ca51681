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
			Client     string // the sender of this prompt
			StopReason string // of another client's prompt
		} `json:"droid-acp"`
	} `json:"_meta"`
	CurrentModeID string      `json:"currentModeId"`
	Entries       []planEntry `json:"entries"`
}

// toolUpdate is a tool call, an update of one, or the one in a permission request. For a chunk, Content is the chunk's.
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

// contents are the items of a tool call's content, or the single block of a chunk.
type contents []content

// UnmarshalJSON decodes a list, or an object as a list of one.
func (c *contents) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		*c = make(contents, 1)
		return json.Unmarshal(text, &(*c)[0])
	}
	return json.Unmarshal(text, (*[]content)(c))
}

// text returns the text of an item, "" for a diff and other types.
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

// addUpdate records an update of the turn; p may be nil.
func (p *PromptResult) addUpdate(u update) {
	if p == nil {
		return
	}
	switch u.SessionUpdate {
	case "agent_message_chunk":
		if !u.Meta.Own.Notice { // text that droid-acp adds is not part of the answer
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

// addPermission records a permission request and its answer.
func (p *PromptResult) addPermission(call toolUpdate, answer option) {
	if p != nil {
		a := Permission{Title: call.Title, Answer: answer.Name, Kind: answer.Kind}
		if answer.OptionID == "" {
			a.Answer = ""
		}
		p.Permissions = append(p.Permissions, a)
	}
}

// permissionRequest is the params of session/request_permission as far as they are shown or decided on.
type permissionRequest struct {
	ToolCall json.RawMessage `json:"toolCall"`
	Options  []option        `json:"options"`
}

type option struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// call returns the tool call that is asked about. One that cannot be decoded is shown without details.
func (p permissionRequest) call() (t toolUpdate) {
	_ = json.Unmarshal(p.ToolCall, &t)
	return t
}

// Policy answers permission requests.
type Policy string

// Policies. A missing or unknown policy means Refuse.
const (
	Refuse Policy = "refuse" // selects the option that rejects
	Allow  Policy = "allow"  // selects the option that allows once
)

// Kinds of an answer: ACP's option kinds, and kindCancelled if no option fits.
const (
	kindAllowOnce    = "allow_once"
	kindRejectOnce   = "reject_once"
	kindRejectAlways = "reject_always"
	kindCancelled    = "cancelled"
)

// pick returns the option to answer with; one without an ID cancels the request.
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
