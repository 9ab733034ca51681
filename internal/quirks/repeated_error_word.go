package quirks

// What droid does: it puts "Error: " before the message of a failed tool even if it already begins with that, as when spec mode refuses an
// edit.
// Seen on: 0.99, 0.225.
// Quirk: 39.
// Fixtures: none.

import (
	"bytes"
	"encoding/json"
)

// trimErrorPrefix removes repeated "Error: " prefixes from the message of a failed tool.
func trimErrorPrefix(end ToolEnded) ToolEnded {
	const word = "Error: "
	for end.IsError && bytes.HasPrefix(end.Content, []byte(`"`+word+word)) {
		end.Content = append(json.RawMessage(`"`), end.Content[len(`"`+word):]...)
	}
	return end
}
