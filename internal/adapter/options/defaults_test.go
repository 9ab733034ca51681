package options

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"droid-acp/internal/droid/stream"
)

// A model that the project asks for is named once, with what to type where the session has another one.
func TestWanted(t *testing.T) {
	o := New("", false, false)
	o.Offered([]stream.Model{{ID: "mine"}, {ID: "theirs"}})
	o.Reported(stream.Settings{ModelID: of("mine"), SpecModeModelID: of("theirs"), Raw: json.RawMessage(`{}`)})
	for wants, said := range map[[2]string][]string{
		{}:                  nil,
		{"theirs", ""}:      {"This project asks for the model theirs; `/model theirs` uses it."},
		{"mine", "mine"}:    {"This project chose the model mine; `/model` lists others.", "This project asks for the spec mode model mine; `/spec-model mine` uses it."},
		{"a`\nb", "theirs"}: {"This project asks for the model \"a`\\nb\", which droid does not offer here.", "This project chose the spec mode model theirs; `/spec-model` lists others."},
	} {
		require.Equal(t, said, o.Wanted(map[string]string{"model": wants[0], "specModeModel": wants[1], "reasoningEffort": "high"}), wants)
	}
}
