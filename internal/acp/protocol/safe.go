package protocol

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/text/visible"
)

// Line is what the editor shows as a title, a name, a label or a choice, and Text what it
// shows as a question or an error. They leave safe to show, whoever wrote them: the types
// see to that where they are encoded, so that no way out can forget it. Ids, paths, diffs
// and the model's text stay as they are, and so does what a form is filled with, which the
// user gives back.
type Line string

// Text may have several lines.
type Text string

// Lines are texts as Lines.
func Lines(texts []string) []Line {
	var lines []Line
	for _, text := range texts {
		lines = append(lines, Line(text))
	}
	return lines
}

// MarshalText implements encoding.TextMarshaler.
func (l Line) MarshalText() ([]byte, error) { return []byte(visible.Line(string(l))), nil }

// MarshalText implements encoding.TextMarshaler.
func (t Text) MarshalText() ([]byte, error) { return []byte(visible.Text(string(t))), nil }

// IsZero reports that nothing is left to show (for "omitzero").
func (l Line) IsZero() bool { return visible.Line(string(l)) == "" }

// IsZero reports that nothing is left to show (for "omitzero").
func (t Text) IsZero() bool { return visible.Text(string(t)) == "" }

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
