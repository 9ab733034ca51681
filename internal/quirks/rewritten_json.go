package quirks

// What droid does: if a prompt requests an answer according to a JSON schema, the snapshot has the same value as the deltas, but
// reformatted: {"n": 4} becomes {"n":4}. What was sent remains valid.
// Seen on: 0.215, 0.225.
// Quirk: 41.
// Fixtures: structured_output_0.225.txtar.

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"droid-acp/internal/droid/stream"
)

// asSent returns content with its text as it was sent, if droid has reformatted the same JSON.
func (m *message) asSent(content []stream.ContentBlock) []stream.ContentBlock {
	i := slices.IndexFunc(content, func(b stream.ContentBlock) bool { return b.Type == "text" && b.Text != "" })
	text, _ := readable(content)
	sent := m.sent(false)
	if len(text) != 1 || len(sent) != 1 || m.sentText[kindOf(false)].dropped {
		return content
	}
	var said strings.Builder
	m.sentText[kindOf(false)].each(sent[0].start, sent[0].size, func(piece string) { said.WriteString(piece) })
	if !sameValue(said.String(), text[0]) {
		return content
	}
	content = slices.Clone(content)
	content[i].Text = said.String()
	return content
}

// sameValue reports whether two texts are the same JSON object or array, regardless of formatting.
func sameValue(a, b string) bool {
	if !strings.HasPrefix(b, "{") && !strings.HasPrefix(b, "[") {
		return false
	}
	var one, two any
	return json.Unmarshal([]byte(a), &one) == nil && json.Unmarshal([]byte(b), &two) == nil && reflect.DeepEqual(one, two)
}
