package adapter

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// notServed are the methods of ACP that an agent may have and this one has not, each with the reason.
var notServed = map[string]string{
	"logout":            "droid has no way to log out but its own user interface",
	"auth/status":       "droid cannot be asked whether it is logged in; what is seen is told by _auth/status_update",
	"providers/list":    "droid reads its providers from its settings file, which droid-acp does not write",
	"providers/set":     "the same",
	"providers/disable": "the same",
	"session/status":    "the list says which sessions are stored, and the client knows which it has opened",
	"session/archive":   "droid's store knows no archive",
	"session/unarchive": "the same",
	"mcp/message":       "droid speaks to its MCP servers by itself and gives no other program a part in it",
}

// outside are methods that this agent has and the schema has not, besides those of extensions.
var outside = map[string]string{
	methodSetModel: "clients that know models and no config options call it",
	methodStopTask: "as claude-agent-acp and codex-acp have it",
	methodSteering: "as claude-agent-acp and codex-acp have it",
}

// TestMethodsOfACP: each method that ACP has for an agent, those that are unstable included, is served, or
// declined for a reason.
func TestMethodsOfACP(t *testing.T) {
	served, found := (&Agent{}).methods(), map[string]bool{}
	for _, file := range []string{"schema.json", "schema.unstable.json"} {
		text, err := os.ReadFile("../../testdata/acp-schema/" + file)
		require.NoError(t, err)
		var schema struct {
			Defs map[string]json.RawMessage `json:"$defs"`
		}
		require.NoError(t, json.Unmarshal(text, &schema))
		for _, raw := range schema.Defs {
			var def struct {
				Method string `json:"x-method"`
				Side   string `json:"x-side"`
			}
			if json.Unmarshal(raw, &def) == nil && def.Side == "agent" {
				found[def.Method] = true
				require.NotEqual(t, served[def.Method] != nil, notServed[def.Method] != "", "%s is served, or declined for a reason", def.Method)
			}
		}
	}
	require.Greater(t, len(found), 20)
	for method := range served {
		require.NotEqual(t, found[method], outside[method] != "", "%s is a method of ACP, or stands in outside", method)
	}
	for method := range notServed {
		require.True(t, found[method], "%s is no method of ACP", method)
	}
}
