package adapter

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/visible"
)

// What the editor shows as a title, a name, a label or a question leaves safe to
// show, whoever wrote it: each type sees to that where it is encoded, so that no
// way out can forget it. Ids, paths, diffs and the model's text stay as they are.

// MarshalJSON puts the title in one safe line.
func (c toolCall) MarshalJSON() ([]byte, error) {
	type plain toolCall
	c.Title = visible.Line(c.Title)
	return json.Marshal(plain(c))
}

// MarshalJSON makes the texts of a permission request safe: what is approved must
// be what is seen. A diff is what will be written.
func (p permissionParams) MarshalJSON() ([]byte, error) {
	type plain permissionParams
	p.ToolCall.Content = safeContent(p.ToolCall.Content)
	return json.Marshal(plain(p))
}

// safeContent is content for the eyes of who approves something, in the request and
// wherever else it is shown for that.
func safeContent(content []toolContent) []toolContent {
	safe := slices.Clone(content)
	for i, c := range safe {
		if c.Content != nil && c.Content.Text != nil {
			safe[i] = textContent(visible.Text(*c.Content.Text))
		}
	}
	return safe
}

// MarshalJSON puts the name in one safe line.
func (o permissionOption) MarshalJSON() ([]byte, error) {
	type plain permissionOption
	o.Name = visible.Line(o.Name)
	return json.Marshal(plain(o))
}

// MarshalJSON puts the title in one safe line.
func (u sessionInfoUpdate) MarshalJSON() ([]byte, error) {
	type plain sessionInfoUpdate
	u.Title = visible.Line(u.Title)
	return json.Marshal(plain(u))
}

// MarshalJSON puts the title in one safe line.
func (s listedSession) MarshalJSON() ([]byte, error) {
	type plain listedSession
	s.Title = visible.Line(s.Title)
	return json.Marshal(plain(s))
}

// MarshalJSON puts name and description in one safe line each.
func (m sessionMode) MarshalJSON() ([]byte, error) {
	type plain sessionMode
	m.Name, m.Description = visible.Line(m.Name), visible.Line(m.Description)
	return json.Marshal(plain(m))
}

// MarshalJSON puts the entry in one safe line.
func (e planEntry) MarshalJSON() ([]byte, error) {
	type plain planEntry
	e.Content = visible.Line(e.Content)
	return json.Marshal(plain(e))
}

// MarshalJSON puts name and description in one safe line each.
func (c availableCommand) MarshalJSON() ([]byte, error) {
	type plain availableCommand
	c.Name, c.Description = visible.Line(c.Name), visible.Line(c.Description)
	return json.Marshal(plain(c))
}

// MarshalJSON puts the hint in one safe line.
func (i commandInput) MarshalJSON() ([]byte, error) {
	type plain commandInput
	i.Hint = visible.Line(i.Hint)
	return json.Marshal(plain(i))
}

// MarshalJSON puts name and description in one safe line each.
func (o configOption) MarshalJSON() ([]byte, error) {
	type plain configOption
	o.Name, o.Description = visible.Line(o.Name), visible.Line(o.Description)
	return json.Marshal(plain(o))
}

// MarshalJSON puts name and description in one safe line each.
func (v optionValue) MarshalJSON() ([]byte, error) {
	type plain optionValue
	v.Name, v.Description = visible.Line(v.Name), visible.Line(v.Description)
	return json.Marshal(plain(v))
}

// MarshalJSON puts the title in one safe line.
func (u noticeUpdate) MarshalJSON() ([]byte, error) {
	type plain noticeUpdate
	u.Title = visible.Line(u.Title)
	return json.Marshal(plain(u))
}

// MarshalJSON makes the question safe.
func (p elicitationParams) MarshalJSON() ([]byte, error) {
	type plain elicitationParams
	p.Message = visible.Text(p.Message)
	return json.Marshal(plain(p))
}

// MarshalJSON makes what a field is called, and its choices, safe; not what it is
// filled with, which the user gives back.
func (f formField) MarshalJSON() ([]byte, error) {
	type plain formField
	f.Title, f.Description, f.Enum = visible.Line(f.Title), visible.Text(f.Description), safeLines(f.Enum)
	return json.Marshal(plain(f))
}

// MarshalJSON puts each choice in one safe line.
func (i formItems) MarshalJSON() ([]byte, error) {
	type plain formItems
	i.Enum = safeLines(i.Enum)
	return json.Marshal(plain(i))
}

// MarshalJSON makes the text safe. The address is checked before, see
// isWebAddress.
func (e urlElicitation) MarshalJSON() ([]byte, error) {
	type plain urlElicitation
	e.Message = visible.Text(e.Message)
	return json.Marshal(plain(e))
}

func safeLines(texts []string) []string {
	out := slices.Clone(texts)
	for i, text := range out {
		out[i] = visible.Line(text)
	}
	return out
}
