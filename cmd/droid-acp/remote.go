package main

import (
	"droid-acp/internal/acp/protocol"
	"droid-acp/internal/remote/relay"
)

// servedAgent is what serve and via know of the agent that this program is.
func servedAgent() relay.Agent {
	return relay.Agent{
		Name: "droid-acp", Knows: "droid", Client: protocol.ReadCapabilities,
		Places: map[string]string{"_droid/state.result": "cwd", "_droid/export": "path", "_droid/export.result": "path"},
	}
}
