package protocol

import (
	"encoding/json"
	"slices"

	"droid-acp/internal/text/visible"
)

// Line is a one-line text that the client displays: a title, name, label or choice. Its encoding is safe to display, whoever wrote it, so
// no caller can forget that. IDs, paths, diffs, the model's text and form defaults, which the user sends back, are ordinary strings.
type Line string

// Text is a displayed text that may have several lines, such as a question or an error.
type Text string

// Lines converts texts to Lines.
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

// IsZero reports whether the displayed text is empty (for "omitzero").
func (l Line) IsZero() bool { return visible.Line(string(l)) == "" }

// IsZero reports whether the displayed text is empty (for "omitzero").
func (t Text) IsZero() bool { return visible.Text(string(t)) == "" }

// MarshalJSON makes the texts of a permission request safe: the user must see what is approved. Diffs stay unchanged, since they show the
// exact text that will be written.
func (p PermissionParams) MarshalJSON() ([]byte, error) {
	type plain PermissionParams
	p.ToolCall.Content = SafeContent(p.ToolCall.Content)
	return json.Marshal(plain(p))
}

// SafeContent returns content made safe for approval, in a permission request and elsewhere.
func SafeContent(content []ToolContent) []ToolContent {
	safe := slices.Clone(content)
	for i, c := range safe {
		if c.Content != nil && c.Content.Text != nil {
			safe[i] = TextContent(visible.Text(*c.Content.Text))
		}
	}
	return safe
}
