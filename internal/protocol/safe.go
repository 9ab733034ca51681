package protocol

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/visible"
)

// What the editor shows as a title, a name, a label or a question leaves safe to
// show, whoever wrote it: each type sees to that where it is encoded, so that no
// way out can forget it. Ids, paths, diffs and the model's text stay as they are.

// MarshalJSON puts title and name in one safe line each.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	type plain ToolCall
	c.Title, c.Name = visible.Line(c.Title), visible.Line(c.Name)
	return json.Marshal(plain(c))
}

// MarshalJSON makes the texts of a permission request safe: what is approved must
// be what is seen. A diff is what will be written.
func (p PermissionParams) MarshalJSON() ([]byte, error) {
	type plain PermissionParams
	p.ToolCall.Content = SafeContent(p.ToolCall.Content)
	return json.Marshal(plain(p))
}

// SafeContent is content for the eyes of who approves something, in the request and
// wherever else it is shown for that.
func SafeContent(content []ToolContent) []ToolContent {
	safe := slices.Clone(content)
	for i, c := range safe {
		if c.Content != nil && c.Content.Text != nil {
			safe[i] = TextContent(visible.Text(*c.Content.Text))
		}
	}
	return safe
}

// MarshalJSON puts the name in one safe line.
func (o PermissionOption) MarshalJSON() ([]byte, error) {
	type plain PermissionOption
	o.Name = visible.Line(o.Name)
	return json.Marshal(plain(o))
}

// MarshalJSON puts the title in one safe line.
func (u SessionInfoUpdate) MarshalJSON() ([]byte, error) {
	type plain SessionInfoUpdate
	u.Title = visible.Line(u.Title)
	return json.Marshal(plain(u))
}

// MarshalJSON puts the title in one safe line.
func (s ListedSession) MarshalJSON() ([]byte, error) {
	type plain ListedSession
	s.Title = visible.Line(s.Title)
	return json.Marshal(plain(s))
}

// MarshalJSON puts the title in one safe line.
func (r TitleResult) MarshalJSON() ([]byte, error) {
	type plain TitleResult
	r.Title = visible.Line(r.Title)
	return json.Marshal(plain(r))
}

// MarshalJSON puts name and description in one safe line each.
func (m SessionMode) MarshalJSON() ([]byte, error) {
	type plain SessionMode
	m.Name, m.Description = visible.Line(m.Name), visible.Line(m.Description)
	return json.Marshal(plain(m))
}

// MarshalJSON puts the entry in one safe line.
func (e PlanEntry) MarshalJSON() ([]byte, error) {
	type plain PlanEntry
	e.Content = visible.Line(e.Content)
	return json.Marshal(plain(e))
}

// MarshalJSON puts name and description in one safe line each.
func (c AvailableCommand) MarshalJSON() ([]byte, error) {
	type plain AvailableCommand
	c.Name, c.Description = visible.Line(c.Name), visible.Line(c.Description)
	return json.Marshal(plain(c))
}

// MarshalJSON puts the hint in one safe line.
func (i CommandInput) MarshalJSON() ([]byte, error) {
	type plain CommandInput
	i.Hint = visible.Line(i.Hint)
	return json.Marshal(plain(i))
}

// MarshalJSON puts name and description in one safe line each.
func (o ConfigOption) MarshalJSON() ([]byte, error) {
	o.Name, o.Description = visible.Line(o.Name), visible.Line(o.Description)
	return o.encode()
}

// MarshalJSON puts name and description in one safe line each.
func (m SessionModel) MarshalJSON() ([]byte, error) {
	type plain SessionModel
	m.Name, m.Description = visible.Line(m.Name), visible.Line(m.Description)
	return json.Marshal(plain(m))
}

// MarshalJSON puts name and description in one safe line each.
func (v OptionValue) MarshalJSON() ([]byte, error) {
	type plain OptionValue
	v.Name, v.Description = visible.Line(v.Name), visible.Line(v.Description)
	return json.Marshal(plain(v))
}

// MarshalJSON puts the title in one safe line and makes the description safe.
func (u NoticeUpdate) MarshalJSON() ([]byte, error) {
	type plain NoticeUpdate
	u.Title, u.Description = visible.Line(u.Title), visible.Text(u.Description)
	return json.Marshal(plain(u))
}

// MarshalJSON makes the error safe. The summary is the model's text.
func (u CompactionUpdate) MarshalJSON() ([]byte, error) {
	type plain CompactionUpdate
	u.Error = visible.Text(u.Error)
	return json.Marshal(plain(u))
}

// MarshalJSON makes the text safe. The address is checked before, see login.IsLink.
func (e LoginElicitation) MarshalJSON() ([]byte, error) {
	type plain LoginElicitation
	e.Message = visible.Text(e.Message)
	return json.Marshal(plain(e))
}

// MarshalJSON puts label and detail in one safe line each.
func (s AuthStatus) MarshalJSON() ([]byte, error) {
	type plain AuthStatus
	s.Label, s.Detail = visible.Line(s.Label), visible.Line(s.Detail)
	return json.Marshal(plain(s))
}

// MarshalJSON makes the question safe.
func (p ElicitationParams) MarshalJSON() ([]byte, error) {
	type plain ElicitationParams
	p.Message = visible.Text(p.Message)
	return json.Marshal(plain(p))
}

// MarshalJSON makes what a field is called, and its choices, safe; not what it is
// filled with, which the user gives back.
func (f FormField) MarshalJSON() ([]byte, error) {
	type plain FormField
	f.Title, f.Description, f.Enum = visible.Line(f.Title), visible.Text(f.Description), safeLines(f.Enum)
	return json.Marshal(plain(f))
}

// MarshalJSON puts each choice in one safe line.
func (i FormItems) MarshalJSON() ([]byte, error) {
	type plain FormItems
	i.Enum = safeLines(i.Enum)
	return json.Marshal(plain(i))
}

// MarshalJSON makes the text safe. The address is checked before, see
// isWebAddress.
func (e URLElicitation) MarshalJSON() ([]byte, error) {
	type plain URLElicitation
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
